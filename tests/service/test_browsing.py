"""Lists of all images over HTTP, and what is told of one image."""

from opengcd import Client, Workspace
from tests.helpers.pictures import paint, truth
from tests.helpers.serving import edit, get, send, serving


def listed(client, **query):
    """All images of a list, page by page."""
    found, after = [], {}
    while True:
        page = get(client, "images", limit=7, **query, **after)
        found += page["images"]
        if page["next"] is None:
            return found
        after = {"after": page["next"]}


def test_all_images_page_by_page(client):
    found = listed(client)
    assert [image["id"] for image in found] == list(range(1, 81))
    assert [image["id"] for image in listed(client, descending=True)] == list(range(80, 0, -1))
    starts = get(client, "images/starts", every=10)
    assert (starts["total"], len(starts["cursors"])) == (80, 7)
    assert [image["id"] for image in get(client, "images", after=starts["cursors"][-1])["images"]] == list(
        range(71, 81)
    )


def test_filters_are_parts_of_the_query(client):
    grouped = listed(client, source=["grouped", "rejected"])
    assert {truth(image["name"]) for image in grouped} == {"blue", "yellow"}
    assert [image["label"] for image in listed(client, label="red", source="recognized")] == ["red"] * 8
    assert len(listed(client, name="ED10", since="2001-02-31")) == 8
    assert listed(client, until="2001-02-28") == []
    assert listed(client, name="blue", sort="name", descending=True)[0]["name"] == "blue107.png"
    assert get(client, "images/choices")["labels"][0] == {"label": "black", "count": 16}
    for query in ({"sort": "beauty"}, {"since": "tomorrow"}, {"doubt_min": 2}, {"source": "guessed"}, {"limit": 0}):
        get(client, "images", 422, **query)
    get(client, "images", 404, after="nonsense")


def test_an_accepted_image_is_corrected_by_an_edit(client, workspace):
    seen = get(client, "images", source="recognized", label="green", limit=2)
    wrong = [image["id"] for image in seen["images"]]
    done = edit(client, seen["edit"], "move", items=wrong, label="red")
    assert done["images"] == 2
    assert {(i["label"], i["source"], i["who"]) for i in listed(client) if i["id"] in wrong} == {
        ("red", "reviewed", "ann")
    }
    assert get(client, "status")["to_learn"] == 2
    by_bob = {"on": done["edit"], "act": "remove", "items": wrong[:1]}
    workspace.by("bob").move(wrong[:1], "black")
    assert send(client, "POST", "edits", by_bob, 409)["conflict"]["who"] == "bob"
    learnt = edit(client, workspace.review.last_edit(), "move", items=[1, wrong[1]], label="green")
    assert learnt["images"] == 2
    assert {(i["label"], i["who"]) for i in listed(client) if i["id"] in (1, wrong[1])} == {("green", "ann")}


def test_what_is_told_of_an_image(client, workspace, world):
    blue = next(image for image in listed(client, name="blue100"))
    details = get(client, f"items/{blue['id']}")
    assert details["files"] == [{"path": str(world[1] / "blue100.png"), "state": "present"}]
    assert (details["doubt"], details["who"]) == (blue["doubt"], None)
    reasons = get(client, f"items/{blue['id']}/reasons", limit=3)
    assert reasons["rejected"] is True
    assert len(reasons["nearest"]) == 3
    assert [one["distance"] for one in reasons["nearest"]] == sorted(one["distance"] for one in reasons["nearest"])
    red = next(image for image in listed(client, name="red100"))
    reasons = get(client, f"items/{red['id']}/reasons")
    assert {one["label"] for one in reasons["nearest"]} == {"red"}
    assert set(get(client, f"items/{red['id']}/camera").values()) == {None}
    assert all(one["id"] != 1 for one in get(client, "items/1/reasons")["nearest"])
    for path in ("reasons", "camera", ""):
        get(client, f"items/4711/{path}".rstrip("/"), 404)


def test_a_missing_file_is_told(client, workspace, tmp_path):
    (file,) = paint(tmp_path / "gone", "red", [970])
    (result,) = workspace.recognize([file])
    file.unlink()
    assert get(client, f"items/{result.item}")["files"] == [{"path": str(file), "state": "missing"}]
    get(client, f"items/{result.item}/thumbnail", 404)
    get(client, f"items/{result.item}/camera", 404)


def test_what_waits_is_counted_once(client, workspace):
    """The status counts the images that the page asks for: in groups of new classes that nobody has confirmed."""
    first, second = workspace.groups()
    workspace.move(second.items[:3], "red")
    workspace.remove(second.items[3:4])
    assert get(client, "status")["to_review"] == 8 + 4
    workspace.name(first.id, "sky", confirm=True)
    assert get(client, "status")["to_review"] == 4


def test_a_client_lists_images(workspace):
    with serving(workspace) as address, Client(address, workspace.access.make("ann")) as client:
        found = list(client.images(sort="name", limit=30))
        assert [image["name"] for image in found] == sorted(image["name"] for image in found)
        assert len(found) == 80
        assert client.seen == workspace.review.last_edit()
        assert {image["label"] for image in client.images(source=["recognized"], label="red")} == {"red"}
        assert list(client.images(name="nothing")) == []


def test_images_of_another_process_are_reported(workspace, tmp_path):
    with serving(workspace) as address, Client(address, workspace.access.make("ann")) as client:
        heard = client.events()
        assert next(heard)[0] == "ping"
        with Workspace(workspace.path, who="bob") as other:
            list(other.recognize(paint(tmp_path / "more", "red", [980])))
            assert next(heard) == ("images", {})
            other.name(other.groups()[0].id, "sky")
            assert next(heard)[1]["who"] == "bob"
