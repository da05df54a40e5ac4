"""Labelled images over HTTP: uploaded, taught by a job, and known classes renamed for everybody."""

import shutil
from pathlib import Path

import pytest

from opengcd import Workspace
from opengcd.service.client import ServiceError
from tests.helpers.homing import home_client
from tests.helpers.pictures import paint
from tests.helpers.reviewing import novel
from tests.helpers.serving import API, connect, edit, eventually, finish, get, png, send, upload


def store(client, *images, code=200):
    files = [("files", (f"{number}.png", image)) for number, image in enumerate(images)]
    return send(client, "POST", "taught-images", None, code, files=files)


def run(client, **job):
    return finish(client, send(client, "POST", "jobs", job, 202))


def test_images_are_uploaded_taught_and_learnt(client, workspace):
    before = workspace.status().counts
    stored = store(client, *(png("orange", seed) for seed in range(600, 605)), b"no image")
    assert [one["name"] for one in stored] == [f"{number}.png" for number in range(6)]
    assert stored[5]["id"] is None
    assert "not an image" in stored[5]["reason"] or stored[5]["reason"]
    ids = [one["id"] for one in stored[:5]]
    assert workspace.status().counts == before | {"waiting": before["waiting"] + 5}  # not recognised
    known = workspace.views.labels()[0].item
    job = run(client, verb="teach", classes=[{"label": "orange", "items": ids}, {"label": "green", "items": [known]}])
    assert job["state"] == "done"
    assert job["result"] == {
        "images": 5, "classes": {"orange": 5}, "already": 0, "replaced": 0, "conflicting": 1,
        "conflicts": [{"item": known, "present": "black", "given": "green"}], "bad": 0, "reasons": [],
    }  # fmt: skip
    assert get(client, "learnable") == {
        "new": [{"label": "orange", "count": 5}], "known": [], "total": 5, "corrected": 0, "forgotten": 0,
    }  # fmt: skip
    assert get(client, "history")[0]["details"] | {"replaced": 0, "bad": 0} == {
        "images": 5, "classes": ["orange"], "replaced": 0, "bad": 0,
    }  # fmt: skip
    job = run(client, verb="learn")
    assert "orange" in job["result"]["classes"]


def test_requests_that_cannot_be_fulfilled(client, workspace):
    for body in (
        [],
        [{"label": "a", "items": []}],
        [{"label": "unknown", "items": [1]}],
        [{"label": "a", "items": [0]}],
        {"a": [1]},
    ):
        send(client, "POST", "jobs", {"verb": "teach", "classes": body}, 422)
    job = run(client, verb="teach", classes=[{"label": "a", "items": [1, 9999]}])
    assert (job["state"], job["error"]) == ("failed", "There is no item 9999.")
    twice = [{"label": "a", "items": [1, 2, 2]}, {"label": "b", "items": [2]}]
    assert run(client, verb="teach", classes=twice)["error"] == "Image 2 is listed as 'a' and as 'b'."
    assert workspace.views.learnable() == {}
    send(client, "POST", "taught-images", {"files": []}, 422)
    reader = connect(client.app, workspace.access.make("eve", scope="read"))
    store(reader, png("red", 1), code=403)
    send(reader, "POST", "jobs", {"verb": "teach", "classes": [{"label": "a", "items": [1]}]}, 403)


def teach(client, **what):
    return finish(client, send(client, "POST", "taught-files", what, 202))


def test_an_upload_is_looked_at_and_taught_by_folders(client, workspace):
    """One class is enough; what is in the stream already gets the label, and a broken file is told."""
    old = workspace.views.item(novel(workspace)["blue"].items[0])
    known = Path(workspace.views.paths(old.labelled.item)[0]).read_bytes()
    one = upload(client, {"more/sky/1.png": png("blue", 901), "more/sky/2.png": known, "more/sky/3.png": b"x"})
    seen = send(client, "POST", "known", {"upload": one})
    assert (seen["classes"], seen["files"], seen["problem"]) == ([{"label": "sky", "files": 3}], 3, "")
    job = teach(client, upload=one)
    assert (job["state"], job["result"]["classes"], job["result"]["bad"]) == ("done", {"sky": 2}, 1)
    assert job["result"]["reasons"][0].startswith("3.png: ")
    assert workspace.views.learnable() == {"sky": 2}
    assert not list((workspace.path / ".incoming").iterdir())
    kept = workspace.path / "images" / "taught" / one / "more" / "sky" / "1.png"
    assert str(kept.resolve()) in {
        str(Path(path).resolve()) for label in workspace.views.labels() for path in workspace.views.paths(label.item)
    }


def test_an_upload_is_taught_again_with_labels_replaced(client, workspace):
    """By a list; the job finds the upload where the one before has put it, and strangers name no folder."""
    first = Path(workspace.views.paths(1)[0]).read_bytes()
    table = b"file,label\n1.png,grass\n"
    one = upload(client, {"all/1.png": first, "labels.csv": table})
    assert send(client, "POST", "known", {"upload": one})["tables"] == ["labels.csv"]
    assert teach(client, upload=one, table="labels.csv")["result"]["conflicting"] == 1
    job = teach(client, upload=one, table="labels.csv", replace=True)
    assert (job["result"]["images"], job["result"]["conflicting"]) == (1, 0)
    assert workspace.views.corrected() == {"grass": 1}
    send(client, "POST", "taught-files", {"upload": "0" * 16}, 404)
    send(client, "POST", "taught-files", {"upload": one, "folder": "/tmp"}, 409)
    answer = send(client, "POST", "taught-files", {"folder": str(workspace.path)}, 409)
    assert "cannot be chosen here" in answer["detail"]
    two = upload(client, {"red/1.png": png("red", 950)})
    assert "among the files" in send(client, "POST", "known", {"upload": two, "table": "/etc/passwd"})["problem"]


def test_a_folder_of_the_machine_is_taught_where_it_is(fitted, tmp_path):
    paint(tmp_path / "more" / "orange", "orange", range(500, 503))
    shutil.copytree(fitted, tmp_path / "projects" / "colours")
    inside = f"/projects/colours{API}"
    with home_client(tmp_path / "projects") as home:
        assert home.post(f"{inside}/known", json={"folder": str(tmp_path / "more")}).json()["files"] == 3
        job = home.post(f"{inside}/taught-files", json={"folder": str(tmp_path / "more")}).json()
        eventually(lambda: home.get(f"{inside}/jobs/{job['id']}").json()["state"] == "done")
    with Workspace(tmp_path / "projects" / "colours") as workspace:
        assert workspace.views.learnable() == {"orange": 3}
        assert workspace.views.paths(workspace.views.labels()[-1].item)[0].startswith(str(tmp_path / "more"))


def test_a_new_name_is_used_at_once_by_every_answer(client, workspace):
    vector = workspace.vectors.of_items([1]).tolist()
    (before,) = send(client, "POST", "recognize", {"vectors": vector})
    on = get(client, "status")["edit"]
    done = edit(client, on, "rename_class", known=before["label"], label="night")
    (after,) = send(client, "POST", "recognize", {"vectors": vector})
    assert after["label"] == after["top"][0][0] == "night"
    assert "night" in get(client, "status")["version"]["classes"]
    assert "night" in [one["label"] for one in get(client, "classes")]
    send(client, "POST", "undo", {"on": done["edit"]})
    assert send(client, "POST", "recognize", {"vectors": vector}) == [before]
    edit(client, on, "merge_classes", 409, known="night", into="red")
    edit(client, get(client, "status")["edit"], "merge_classes", 404, known="night", into="red")


def test_corrected_labels_count_as_ready_to_learn(client, workspace):
    on = get(client, "status")["edit"]
    on = edit(client, on, "relabel", items=[1], label="white")["edit"]
    on = edit(client, on, "discard", items=[2])["edit"]
    edit(client, on, "relabel", 409, items=[novel(workspace)["blue"].items[0]], label="white")
    assert get(client, "status")["to_learn"] == 2
    found = get(client, "learnable")
    assert (found["known"], found["total"], found["corrected"], found["forgotten"]) == ([], 2, 1, 1)
    assert get(client, "items/1")["source"] == "reviewed"
    assert run(client, verb="learn")["state"] == "done"
    assert get(client, "items/1")["label"] == "white"


def test_the_client_teaches(client, workspace, monkeypatch):
    from opengcd import Client
    from tests.helpers.serving import serving

    with serving(workspace) as address, Client(address, workspace.access.make("ann")) as remote:
        monkeypatch.setattr("opengcd.service.client.MOST_FILES", 2)
        done = remote.teach({"orange": [png("orange", 600 + n) for n in range(3)] + [b"x"], "red": [png("red", 600)]})
        assert (done["images"], done["classes"]) == (4, {"orange": 3, "red": 1})
        assert [one[:2] for one in done["bad"]] == [("orange", 3)]
        with pytest.raises(ServiceError):
            remote.teach({"orange": [b"x"]})
