"""Images that are added in the page: from uploads and folders, each once, and from a folder that is watched."""

import io
import json
import os
import shutil
import signal

import numpy as np
import pytest
from sqlalchemy import select

from opengcd import Workspace
from opengcd.service import adding
from opengcd.workspace import find_files
from opengcd.workspace.schema import captures
from tests.helpers.homing import home_app, home_client, home_process, signed_in
from tests.helpers.pictures import RECOGNIZER, paint, picture
from tests.helpers.serving import API, Pause, connect, eventually, png, upload
from tests.helpers.videos import film

INSIDE = f"/projects/birds{API}"


@pytest.fixture
def root(tmp_path, fitted):
    shutil.copytree(fitted, tmp_path / "projects" / "birds")
    return tmp_path / "projects"


@pytest.fixture
def home(root):
    with home_client(root) as client:
        yield client


def ask(home, method, path, content=None, code=200, **more):
    answer = home.request(method, f"{INSIDE}/{path}", json=content, **more)
    assert answer.status_code == code, answer.text
    return answer.json() if answer.content else None


def finished(home, job):
    eventually(lambda: ask(home, "GET", f"jobs/{job['id']}")["state"] not in ("waiting", "running"))
    return ask(home, "GET", f"jobs/{job['id']}")


def add(home, **what):
    return finished(home, ask(home, "POST", "images", what, 202))


def test_an_upload_is_recognised_and_each_image_is_added_once(home, root, world):
    files = {
        "blue/1.png": png("blue", 1),
        "blue/copy.png": png("blue", 1),
        "red.png": png("red", 902),
        "bad.png": b"no",
    }
    known = next(world[0].rglob("*.png"))
    job = add(home, upload=upload(home, files | {"known.png": known.read_bytes()}, INSIDE))
    assert (job["state"], job["error"]) == ("done", None)
    reasons = job["result"].pop("reasons")
    assert job["result"] == {"images": 2, "rejected": 1, "duplicates": 2, "bad": 1, "empty": 0}
    assert [reason.partition(";")[0] for reason in reasons] == ["bad.png: not a readable image"]
    again = add(home, upload=upload(home, files, INSIDE))
    assert (again["result"]["images"], again["result"]["duplicates"], again["result"]["bad"]) == (0, 3, 1)
    kept = [found.path for found in find_files([root / "birds" / "images"])]
    assert sorted(os.path.basename(path) for path in kept) == ["1.png", "bad.png", "bad.png", "red.png"]
    assert list((root / "birds" / adding.INCOMING).iterdir()) == []
    with Workspace(root / "birds") as workspace:
        assert workspace.check() == []


def detected(**boxes):
    """A file of MegaDetector: for each file the confidences of boxes on its left half."""
    found = [
        {"file": name, "detections": [{"category": "1", "conf": conf, "bbox": [0, 0, 0.5, 1]} for conf in confidences]}
        for name, confidences in boxes.items()
    ]
    return json.dumps({"images": found}).encode()


def test_boxes_of_an_upload_or_a_folder_are_cut_out(home, root, tmp_path):
    """One image has a box, one none, one is not named; the detector saw the folder inside of what was uploaded."""
    images = {f"night/{n}.png": png("blue", n) for n in range(3)}
    boxes = detected(**{"0.png": [0.9], "1.png": [0.1]})
    one = upload(home, images | {"md.json": boxes}, INSIDE)
    job = add(home, upload=one, boxes="md.json")
    assert (job["result"]["images"], job["result"]["empty"], job["result"]["bad"]) == (1, 1, 1)
    for name, content in ({"md.json": boxes} | images).items():
        file = tmp_path / "camera" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    job = add(home, folder=str(tmp_path / "camera"), boxes="md.json", min_confidence=0.05)
    assert (job["result"]["images"], job["result"]["duplicates"]) == (1, 1)
    for wrong in ("none.json", "night/0.png", "../secret.json", "/etc/passwd"):
        ask(home, "POST", "images", {"folder": str(tmp_path / "camera"), "boxes": wrong}, 409)
    with Workspace(root / "birds") as workspace:
        assert workspace.check() == []


def test_times_and_frames_of_an_upload(home, root, tmp_path):
    """A table says when the image was taken and the video begins; two frames per second are taken of one second."""
    video = film(tmp_path / "clip.mp4", [picture("blue", n, 32) for n in range(10)]).read_bytes()
    table = b"file;time\n1.png;2024-05-01T06:30:00\nclip.mp4;2024-05-01T06:31:00\n"
    files = {"night/1.png": png("red", 901), "night/clip.mp4": video, "night/times.csv": table}
    job = add(home, upload=upload(home, files, INSIDE), times="night/times.csv", fps=2)
    assert job["result"]["images"] == 3
    with Workspace(root / "birds") as workspace, workspace.store.database.reading() as connection:
        taken = connection.scalars(select(captures.c.taken).order_by(captures.c.item_id.desc()).limit(3)).all()
    assert sorted(taken) == [1714545000, 1714545060, 1714545060.5]
    one = upload(home, {"1.png": png("red", 902), "times.csv": b"file,time\n1.png,noon\n"}, INSIDE)
    for wrong, told in (
        ("times.csv", "times.csv, row 2: 'noon' is not a time"),
        ("../times.csv", "must be among the images"),
    ):
        detail = ask(home, "POST", "images", {"upload": one, "times": wrong}, 409)["detail"]
        assert told in detail
        assert str(root) not in detail


def test_vectors_are_uploaded_and_watched(home, root, tmp_path):
    """What fits in a project of vectors: rows, each once; pictures of the server's machine are refused."""

    def file(numbers, shift=0.1, **more):
        raw = io.BytesIO()
        np.savez(raw, X=np.eye(4, 8)[numbers] + shift + 0.01 * np.arange(len(numbers))[:, None], **more)
        return raw.getvalue()

    labels = np.repeat(["owl", "wren"], 3)
    (tmp_path / "known.npz").write_bytes(file([0, 0, 0, 1, 1, 1], 0.0, labels=labels))
    shutil.rmtree(root / "birds")
    with Workspace.create(root / "birds", "vectors", recognizer=RECOGNIZER) as workspace:
        workspace.fit(tmp_path / "known.npz")
    new = {"new.npz": file([0, 1, 2])}
    assert add(home, upload=upload(home, new, INSIDE))["result"]["images"] == 3
    assert add(home, upload=upload(home, new, INSIDE))["result"]["duplicates"] == 3
    refused = add(home, upload=upload(home, {"spy.npz": file([3], thumbnails=np.array(["/etc/logo.png"]))}, INSIDE))
    assert (refused["state"], "were not uploaded" in refused["error"]) == ("failed", True)
    (tmp_path / "inbox").mkdir()
    ask(home, "PUT", "watch", {"folder": str(tmp_path / "inbox")})
    (tmp_path / "inbox" / "later.npz").write_bytes(file([2, 3, 3, 3]))
    eventually(lambda: ask(home, "GET", "watch")["images"] == 4)


def test_a_folder_of_the_machine_is_added_where_it_is(home, root, world):
    job = add(home, folder=str(world[1]))
    assert (job["result"]["images"], job["result"]["rejected"], job["result"]["duplicates"]) == (48, 16, 0)
    assert add(home, folder=str(world[1]))["result"]["duplicates"] == 48
    assert not (root / "birds" / "images").exists()


def test_what_cannot_be_added_is_refused(home, root, tmp_path):
    for content, code in (
        ({}, 409),
        ({"upload": "0" * 16, "folder": "/"}, 409),
        ({"upload": "0" * 16}, 404),
        ({"upload": "../../../etc"}, 422),
        ({"folder": str(tmp_path / "none")}, 409),
    ):
        ask(home, "POST", "images", content, code)
    for folder in (tmp_path / "none", root / "birds", root / "birds" / "models"):
        ask(home, "PUT", "watch", {"folder": str(folder)}, 409)
    with Workspace.create(root / "empty", "pixels"):
        pass
    answer = home.put(f"/projects/empty{API}/watch", json={"folder": str(tmp_path)})
    assert (answer.status_code, "No class" in answer.text) == (409, True)


def test_the_images_of_a_list_on_the_machine_are_added(home, tmp_path):
    """As `opengcd recognize` takes lists; the watch takes folders only."""
    paint(tmp_path / "all", "blue", range(700, 703))
    table = tmp_path / "some.csv"
    table.write_text("file\nall/blue700.png\nall/blue702.png\n")
    assert add(home, folder=str(table))["result"]["images"] == 2
    assert "no folder" in ask(home, "PUT", "watch", {"folder": str(table)}, 409)["detail"]
    assert "no folder" in ask(home, "POST", "images", {"folder": str(tmp_path / "all" / "blue700.png")}, 409)["detail"]


def test_folders_are_for_a_person_at_the_machine(root, tmp_path):
    with home_client(root, local=False) as home:
        nothing = {"local": False, "folder": None, "fps": None, "images": 0, "problem": "", "home": True}
        assert ask(home, "GET", "watch") == nothing
        ask(home, "POST", "images", {"folder": str(tmp_path)}, 403)
        ask(home, "PUT", "watch", {"folder": str(tmp_path)}, 403)
        ask(home, "GET", "folders", code=403)
    with home_app(root) as (app, access), connect(app, access.make("bob", "read")) as reader:
        assert reader.get(f"{INSIDE}/watch").status_code == 200
        for method, path in (("PUT", "watch"), ("DELETE", "watch"), ("POST", "images"), ("GET", "folders")):
            assert reader.request(method, f"{INSIDE}/{path}").status_code == 403, path


def test_a_workspace_that_is_served_by_itself_takes_uploads_but_no_folders(client, tmp_path):
    assert client.get(f"{API}/watch").json()["local"] is False
    assert client.post(f"{API}/images", json={"folder": str(tmp_path)}).status_code == 403
    assert client.put(f"{API}/watch", json={"folder": str(tmp_path)}).status_code == 403
    one = client.post(f"{API}/uploads").json()["id"]
    raw = png("blue", 900)
    client.put(f"{API}/uploads/{one}/file", params={"path": "a.png", "size": len(raw)}, content=raw)
    client.post(f"{API}/uploads/{one}/finish")
    job = client.post(f"{API}/images", json={"upload": one}).json()
    eventually(lambda: client.get(f"{API}/jobs/{job['id']}").json()["result"])
    assert client.get(f"{API}/jobs/{job['id']}").json()["result"]["images"] == 1


def test_cancelled_what_was_recognised_stays(home, root, world, monkeypatch):
    pause = Pause(monkeypatch, "reading images")
    job = ask(home, "POST", "images", {"folder": str(world[1])}, 202)
    assert pause.reached.wait(30)
    ask(home, "POST", f"jobs/{job['id']}/cancel")
    pause.go_on.set()
    ended = finished(home, job)
    assert (ended["state"], ended["error"]) == (
        "cancelled",
        "The job was cancelled. The images that were recognised before stay.",
    )
    assert add(home, folder=str(world[1]))["state"] == "done"


def test_a_watched_folder(root, tmp_path, monkeypatch):
    monkeypatch.setattr(adding, "EVERY", 0.05)
    folder = tmp_path / "camera"
    folder.mkdir()
    with home_client(root) as home:
        watched = ask(home, "PUT", "watch", {"folder": str(folder), "fps": 2})
        assert (watched["folder"], watched["fps"]) == (str(folder), 2)
        paint(folder, "blue", range(3))
        eventually(lambda: ask(home, "GET", "watch")["images"] == 3)
        folder.rename(tmp_path / "away")
        eventually(lambda: "not there" in ask(home, "GET", "watch")["problem"])
        (tmp_path / "away").rename(folder)
        paint(folder, "red", range(50, 52))
        eventually(lambda: ask(home, "GET", "watch")["images"] == 5)
        assert ask(home, "GET", "watch")["problem"] == ""
    # After a restart it goes on, without being asked, with what is new.
    with home_client(root) as home:
        paint(folder, "white", range(60, 61))
        eventually(lambda: ask(home, "GET", "watch")["images"] == 1)

        def told():
            entries = ask(home, "GET", "history")
            return sum(entry["details"]["images"] for entry in entries if entry["verb"] == "recognize")

        eventually(lambda: told() == 6)
        # Two frames per second of a video, as was asked before the restart.
        film(folder / "walk.mp4", [picture("red", n, 32) for n in range(10)])
        eventually(lambda: ask(home, "GET", "watch")["images"] == 3)
        assert ask(home, "DELETE", "watch")["folder"] is None
        paint(folder, "blue", range(70, 71))
    with home_client(root) as home:
        assert ask(home, "GET", "watch")["folder"] is None
        assert ask(home, "GET", "status")["counts"].get("rejected", 0) == 3


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="servers are killed as on POSIX systems")
def test_killed_while_images_are_added_the_next_server_goes_on(root):
    side = 400  # large enough to be under way when the server is killed
    files = {}
    for number in range(60):
        file = root.parent / "one.png"
        picture("blue", 1000 + number, side).save(file)
        files[f"{number}.png"] = file.read_bytes()
    with home_process(root) as (process, link), signed_in(link) as home:
        one = upload(home, files, INSIDE)
        job = ask(home, "POST", "images", {"upload": one}, 202)
        eventually(lambda: ask(home, "GET", f"jobs/{job['id']}")["stage"] != "")
        os.kill(process.pid, signal.SIGKILL)
    with home_process(root) as (_, link), signed_in(link) as home:
        job = finished(home, job)
        assert (job["state"], job["error"]) == ("done", None)
        assert ask(home, "GET", "status")["counts"]["rejected"] == 60
        assert job["result"]["images"] + job["result"]["duplicates"] == 60
    with Workspace(root / "birds") as workspace:
        assert workspace.check() == []
