"""The home page over HTTP: who may do what, and that one project does not hinder the others."""

import shutil
import threading

import pytest
from openapi_spec_validator import validate

from opengcd import Workspace
from opengcd.service.home import cards, projects
from tests.helpers.homing import home_app, home_client
from tests.helpers.serving import API, connect, edit, eventually, get, groups, send

PAGES = ("/", "/page/home/app.js", "/projects/birds/", "/projects/birds/page/app.js")


@pytest.fixture
def root(tmp_path, reviewable):
    shutil.copytree(reviewable, tmp_path / "projects" / "birds")
    return tmp_path / "projects"


@pytest.fixture
def home(root):
    with home_client(root) as client:
        yield client


def card(home, key):
    return next(one for one in get(home, "home")["projects"] if one["key"] == key)


def listing(home, path):
    return home.get(f"{API}/folders", params={"path": str(path)}).json()


def test_the_cards(home, root):
    found = get(home, "home")
    assert found["folder"] == str(root)
    (birds,) = found["projects"]
    with Workspace(root / "birds") as workspace:
        status = workspace.status()
    assert birds["images"] == sum(status.counts.values()) == 80
    assert (birds["classes"], birds["groups"], birds["next"], birds["problem"]) == (4, 2, "review", None)
    assert birds["to_review"] == sum(group.size for group in status.groups if group.kind == "novel")
    assert birds["changed_verb"] == "discover"


def test_a_broken_project_is_listed_with_the_reason(home, root):
    (root / "empty").mkdir()
    (root / "torn").mkdir()
    (root / "torn" / "workspace.json").write_text("{")
    shutil.copytree(root / "birds", root / "lost")
    (root / "lost" / "workspace.db").unlink()
    shutil.copytree(root / "birds", root / "damaged")
    raw = bytearray((root / "damaged" / "workspace.db").read_bytes())
    raw[4096:] = bytes(255 - byte for byte in raw[4096:])
    (root / "damaged" / "workspace.db").write_bytes(raw)
    problems = {one["key"]: one["problem"] for one in get(home, "home")["projects"]}
    assert list(problems) == ["birds", "damaged", "lost", "torn"]
    assert problems.pop("birds") is None
    assert "missing or empty" in problems["lost"]
    assert "cannot be read" in problems["torn"]
    assert problems["damaged"]
    assert home.get("/projects/torn/api/v1/status").status_code == 409
    assert home.get("/projects/torn/", follow_redirects=False).headers["location"] == "../../"


def test_a_project_that_does_not_answer_does_not_hold_up_the_others(home, root, monkeypatch):
    shutil.copytree(root / "birds", root / "slow")
    go_on = threading.Event()
    describe = cards.describe

    def hanging(plain, workspace):
        if plain.key == "slow":
            assert go_on.wait(30)
        return describe(plain, workspace)

    monkeypatch.setattr(cards, "describe", hanging)
    monkeypatch.setattr(cards, "PATIENCE", 1.0)
    eventually(lambda: card(home, "birds")["classes"] == 4)
    assert card(home, "slow")["problem"] == cards.BUSY
    go_on.set()
    eventually(lambda: card(home, "slow")["problem"] is None)


def test_a_card_follows_what_others_do(home, root):
    assert card(home, "birds")["groups"] == 2
    with Workspace(root / "birds", who="bob") as workspace:
        workspace.name(workspace.groups()[0].id, "heron", confirm=True)
    found = card(home, "birds")
    assert (found["groups"], found["changed_by"], found["to_learn"] > 0) == (1, "bob", True)


def test_projects_from_elsewhere(home, root, reviewable, tmp_path):
    shutil.copytree(reviewable, tmp_path / "other")
    key = send(home, "POST", "home", {"path": str(tmp_path / "other")}, 200)["key"]
    assert card(home, key)["elsewhere"]
    assert home.get(f"/projects/{key}/api/v1/status").json()["name"] == "other"
    assert send(home, "POST", "home", {"path": str(tmp_path)}, 409)["detail"].startswith(str(tmp_path))
    send(home, "DELETE", f"home/{key}", code=204)
    assert home.get(f"/projects/{key}/api/v1/status").status_code == 404
    assert (tmp_path / "other" / "workspace.db").exists()
    send(home, "DELETE", "home/birds", code=404)


def test_a_project_works_as_it_does_by_itself(home):
    inside = home.get("/projects/birds", follow_redirects=False)
    assert (inside.status_code, inside.headers["location"]) == (307, "/projects/birds/")
    assert "page/app.js" in home.get("/projects/birds/").text

    class Inside:
        """The project as a client of its own."""

        get = staticmethod(lambda path, **more: home.get(f"/projects/birds{path}", **more))
        request = staticmethod(lambda method, path, **more: home.request(method, f"/projects/birds{path}", **more))

    last, by_colour = groups(Inside)
    edit(Inside, last, "name", group=by_colour["blue"]["id"], label="sea")
    assert get(Inside, "history", limit=1)[0]["who"] == "ann"
    assert card(home, "birds")["changed_verb"] == "name"
    assert home.put("/projects/birds/api/v1/edits").headers["allow"] == "POST"
    assert Inside.get("/healthz").json() == {"status": "ok"}


def test_nothing_without_a_token(root):
    with home_app(root) as (app, access), connect(app) as stranger:
        for path in ("home", "folders", "backbones", "backbones/check", "creation", "uploads/" + "0" * 16):
            assert stranger.get(f"{API}/{path}").status_code == 401, path
        cancel = "creation/cancel", "backbones/check/cancel"
        for path in ("home", "known", "creation", "backbones/check", "uploads", *cancel):
            assert stranger.post(f"{API}/{path}", json={}).status_code == 401, path
        assert stranger.get("/").status_code == 200
        # Not even a project is opened for a stranger.
        assert stranger.get("/projects/birds/", follow_redirects=False).status_code == 307
        assert stranger.get("/projects/birds/api/v1/status").status_code == 401
        assert app.state.service.projects.workspace("birds") is None
        with connect(app, access.make("bob", "read")) as reader:
            assert reader.get(f"{API}/home").status_code == 200
            assert reader.get(f"{API}/folders").status_code == 403
            assert reader.post(f"{API}/uploads").status_code == 403
            assert reader.get("/projects/birds/api/v1/status").status_code == 200
            assert reader.post("/projects/birds/api/v1/undo", json={"on": 1}).status_code == 403
        # Now that it is open, it still answers nobody else.
        assert stranger.get("/projects/birds/api/v1/status").status_code == 401


def test_a_token_of_one_project_opens_nothing_else(root):
    with Workspace(root / "birds") as workspace:
        secret = workspace.access.make("eve")
    with home_app(root) as (app, _), connect(app, secret) as eve:
        assert eve.get(f"{API}/home").status_code == 401
        assert eve.get("/projects/birds/api/v1/status").status_code == 401


def test_one_sign_in_is_valid_for_all_and_needs_the_csrf_token(root):
    with home_app(root) as (app, access), connect(app) as browser:
        session = browser.post(f"{API}/session", json={"token": access.make("ann")}).json()
        told = browser.get("/projects/birds/api/v1/session").json()
        assert told == session
        for path in ("/api/v1/uploads", "/projects/birds/api/v1/undo"):
            assert browser.post(path, json={"on": 0}).status_code == 403
            assert "X-CSRF-Token" in browser.post(path, json={"on": 0}).json()["detail"]
        csrf = {"X-CSRF-Token": session["csrf"]}
        assert browser.post("/api/v1/uploads", headers=csrf).status_code == 201
        browser.delete("/projects/birds/api/v1/session", headers=csrf)
        assert browser.get("/api/v1/home").status_code == 401


def test_host_body_and_headers_are_checked_for_all(root):
    with home_app(root) as (app, access), connect(app, access.make("ann")) as home:
        for path in PAGES:
            assert home.get(path, headers={"Host": "evil.example"}).status_code == 400, path
            answer = home.get(path)
            assert answer.status_code == 200, path
            assert answer.headers["content-security-policy"].startswith("default-src 'self'")
            assert len(answer.headers.get_list("content-security-policy")) == 1
        for path in ("/api/v1/known", "/projects/birds/api/v1/undo"):
            assert home.post(path, content=b" " * 20_000).status_code == 413, path
        for path in ("/projects/birds/api/v1/edits", "/projects/birds/api/v1/recognize"):
            assert home.post(path, content=b" " * 20_000).status_code in (415, 422), path
        assert home.post("/projects/birds/api/v1/edits", content=b" " * (5 * 2**20)).status_code == 413
        for place in ("", "/projects/birds"):  # pieces of files may be larger
            one = home.post(f"{place}/api/v1/uploads").json()["id"]
            piece = f"{place}/api/v1/uploads/{one}/file?path=a&size=9000000"
            assert home.put(piece, content=bytes(8 * 2**20)).json() == {"received": 8 * 2**20}
            assert home.put(piece, content=bytes(8 * 2**20 + 1)).status_code == 413


def test_folders_are_for_a_person_at_the_machine(root, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.JPG").write_bytes(b"")
    (tmp_path / "a" / "labels.csv").write_text("")
    (tmp_path / ".hidden").mkdir()
    with home_client(root) as home:
        found = listing(home, tmp_path)
        assert (found["path"], found["parent"]) == (str(tmp_path), str(tmp_path.parent))
        assert set(found["folders"]) == {"a", "projects"}
        inner = listing(home, tmp_path / "a")
        assert (inner["images"], inner["files"]) == (1, ["labels.csv"])
        assert get(home, "folders")["places"][0]["name"] == "Home"
        for path in (str(tmp_path / "none"), str(tmp_path / "a" / "x.JPG"), "\0"):
            assert home.get(f"{API}/folders", params={"path": path}).status_code == 409
        # A proxy before the server means that the person may sit elsewhere.
        assert home.get(f"{API}/folders", headers={"X-Forwarded-For": "1.2.3.4"}).status_code == 403
    with home_client(root, local=False) as home:
        assert not get(home, "home")["local"]
        get(home, "folders", 403)
        send(home, "POST", "home", {"path": str(root / "birds")}, 403)
        known = {"folder": str(tmp_path)}
        send(home, "POST", "known", known, 409)
        send(home, "POST", "creation", {"name": "x", "known": known, "backbone": "pixels"}, 403)
        send(home, "POST", "backbones/check", {"name": str(tmp_path / "network.onnx")}, 403)


def test_idle_projects_are_closed_and_opened_again(root, monkeypatch):
    monkeypatch.setattr(projects, "IDLE", 0.0)
    monkeypatch.setattr(projects, "EVERY", 0.05)
    with home_app(root) as (app, access), connect(app, access.make("ann")) as home:
        running = app.state.service.projects
        for _ in range(2):
            assert home.get("/projects/birds/api/v1/status").status_code == 200
            eventually(lambda: running.workspace("birds") is None)
        assert not [one for one in threading.enumerate() if one.name == "jobs"]


def test_everything_is_closed_at_the_end(root):
    with home_client(root) as home:
        assert home.get("/projects/birds/api/v1/status").status_code == 200
        assert [one for one in threading.enumerate() if one.name == "jobs"]
    assert not [one for one in threading.enumerate() if one.name == "jobs"]
    assert (root / "birds" / "workspace.db.sha256").exists()


def test_the_document_is_valid_and_everything_in_it_is_described(tmp_path, root):
    with home_app(root) as (app, _):
        document = app.openapi()
    validate(document)
    for name, schema in document["components"]["schemas"].items():
        assert schema.get("description"), name
        for field, content in schema.get("properties", {}).items():
            assert content.get("description") or "$ref" in content, (name, field)
