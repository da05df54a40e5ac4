"""Creating a project: all of it or nothing, from folders, uploads, zips and tables."""

import io
import json
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import httpx
import numpy as np
import pytest

from opengcd import Workspace
from opengcd.service.home import creation
from opengcd.service.home.creation import STOPPED
from tests.embed.test_onnx_file import mean_colour
from tests.helpers.homing import home_client, home_process, signed_in
from tests.helpers.networks import save_vit
from tests.helpers.pictures import KNOWN, paint, picture
from tests.helpers.serving import API, eventually, get, send
from tests.helpers.videos import film


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Pictures of two classes, one folder each."""
    root = tmp_path_factory.mktemp("images")
    for colour in KNOWN[:2]:
        paint(root / colour, colour, range(6))
    return root


@pytest.fixture
def root(tmp_path):
    return tmp_path / "projects"


@pytest.fixture
def home(root):
    with home_client(root) as client:
        yield client


def upload(home, files, piece=2**20):
    """Send files in pieces; return the upload."""
    one = send(home, "POST", "uploads", code=201)["id"]
    for path, content in files.items():
        offset = 0
        while True:
            asked = {"path": path, "size": len(content), "offset": offset}
            sent = home.put(f"{API}/uploads/{one}/file", params=asked, content=content[offset : offset + piece])
            assert sent.status_code == 200, sent.text
            offset = sent.json()["received"]
            if offset == len(content):
                break
    send(home, "POST", f"uploads/{one}/finish")
    return one


def contents(folder):
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in sorted(folder.rglob("*.*"))}


def create(home, known, name="birds", backbone="pixels", code=202, **settings):
    asked = {"name": name, "known": known, "backbone": backbone, "settings": settings}
    return send(home, "POST", "creation", asked, code)


def ended(home):
    eventually(lambda: get(home, "creation")["creation"]["state"] != "running")
    return get(home, "creation")["creation"]


def checked(home, name, **more):
    send(home, "POST", "backbones/check", {"name": str(name), **more}, 202)
    eventually(lambda: get(home, "backbones/check")["checking"]["state"] != "running")
    return get(home, "backbones/check")["checking"]["result"]


def left(root):
    """What is in the folder of projects, but for the state of the page."""
    return sorted(entry.name for entry in root.iterdir() if entry.name != ".opengcd")


def test_from_a_folder(home, root, images):
    assert send(home, "POST", "known", {"folder": str(images)}) == {
        "classes": [{"label": "green", "files": 6}, {"label": "red", "files": 6}],
        "files": 12,
        "videos": 0,
        "notes": [],
        "tables": [],
        "vectors": [],
        "boxes": [],
        "problem": "",
    }
    create(home, {"folder": str(images)}, "My birds")
    done = ended(home)
    assert (done["state"], done["key"], done["images"], done["unusable"]) == ("done", "My birds", 12, 0)
    (card,) = get(home, "home")["projects"]
    assert (card["name"], card["images"], card["classes"], card["next"]) == ("My birds", 12, 2, "recognize")
    assert home.get("/projects/My%20birds/api/v1/classes").json()[0]["label"] == "green"
    send(home, "DELETE", "creation", code=204)
    assert get(home, "creation") == {"creation": None}
    assert create(home, {"folder": str(images)}, "my Birds", code=409)["detail"].startswith("There is already")


@pytest.mark.parametrize("packed", [False, True], ids=["files", "zip"])
def test_from_an_upload(home, root, images, packed):
    files = contents(images) | {"red/bad.png": b"no image"}
    if packed:
        raw = io.BytesIO()
        with zipfile.ZipFile(raw, "w") as archive:
            for path, content in files.items():
                archive.writestr(f"birds/{path}", content)
        files = {"birds.zip": raw.getvalue()}
    one = upload(home, files, piece=500)
    create(home, {"upload": one})
    done = ended(home)
    assert (done["state"], done["images"], done["unusable"]) == ("done", 12, 1)
    assert done["reasons"][0].startswith("bad.png: not a readable image")
    assert home.get(f"{API}/uploads/{one}").status_code == 404  # nothing is stored twice
    with Workspace(root / "birds") as workspace:
        assert workspace.check() == []
        paths = [Path(result.path) for result in workspace.recognize([root / "birds" / "images" / "known"])]
    assert {path.name for path in paths} >= {"red0.png", "green5.png"}
    assert all(path.is_relative_to(root / "birds") for path in paths)


def test_from_a_table(home, images):
    files = {f"all/{path.replace('/', '-')}": content for path, content in contents(images).items()}
    rows = [f"{path},{path.partition('-')[0].partition('/')[2]}" for path in files]
    one = upload(home, files | {"labels.csv": "\n".join(["file,label", *rows]).encode()})
    seen = send(home, "POST", "known", {"upload": one})
    assert seen["problem"]
    assert seen["tables"] == ["labels.csv"]
    known = {"upload": one, "table": "labels.csv"}
    assert send(home, "POST", "known", known)["files"] == 12
    create(home, known)
    assert ended(home)["images"] == 12
    for table in ("../../access.db", "/etc/passwd"):
        assert send(home, "POST", "known", known | {"table": table}, code=404)


def test_frames_of_videos_are_taken_at_the_rate_that_was_chosen(home, root, images, tmp_path):
    clip = film(tmp_path / "clip.mp4", [picture("red", n, 32) for n in range(10)]).read_bytes()
    one = upload(home, contents(images) | {"red/clip.mp4": clip})
    assert send(home, "POST", "known", {"upload": one})["videos"] == 1
    create(home, {"upload": one, "fps": 5})
    assert ended(home)["images"] == 12 + 5  # one second of ten frames


def test_crops_of_a_detector_from_an_upload(home, root, images):
    """Each box becomes an image of its own; names in MegaDetector's file may be relative to any folder above them."""
    detections = [
        {"category": "1", "conf": conf, "bbox": [0, 0, width, 1]} for width, conf in ((0.5, 0.9), (0.25, 0.1))
    ]
    names = [f"{colour}/{colour}{n}.png" for colour in KNOWN[:2] for n in range(6)]
    found = [{"file": name, "detections": detections} for name in names]
    boxes = json.dumps({"images": found, "detection_categories": {"1": "animal"}}).encode()
    one = upload(home, {f"birds/{path}": content for path, content in contents(images).items()} | {"md.json": boxes})
    known = {"upload": one, "boxes": "md.json"}
    seen = send(home, "POST", "known", known)
    assert (seen["problem"], seen["boxes"], seen["files"]) == ("", ["md.json"], 12)
    assert send(home, "POST", "known", known | {"boxes": "none.json"})["problem"]
    assert send(home, "POST", "known", known | {"boxes": "../../access.db"})["problem"].startswith(
        "The file of boxes must"
    )
    create(home, known)
    assert ended(home)["images"] == 12
    with Workspace(root / "birds") as workspace:
        assert workspace.check() == []
        assert all("crops" in path for item in range(1, 13) for path in workspace.views.paths(item))
    create(home, known | {"upload": upload(home, contents(images) | {"md.json": boxes}), "min_confidence": 0.05}, "all")
    assert ended(home)["images"] == 24


def test_boxes_with_classes_from_an_upload(home, root, images):
    """Images without folders of classes, each with boxes of two."""
    files = {file.name: file.read_bytes() for file in sorted(images.rglob("*.png"))}
    document = {
        "images": [{"id": n, "file_name": name, "width": 12, "height": 12} for n, name in enumerate(files)],
        "categories": [{"id": 1, "name": "left"}, {"id": 2, "name": "right"}],
        "annotations": [
            {"id": 2 * n + side, "image_id": n, "category_id": 1 + side, "bbox": [6 * side, 0, 6, 12]}
            for n in range(len(files))
            for side in (0, 1)
        ]
        + [{"id": 99, "image_id": 0, "category_id": 7, "bbox": [0, 0, 12, 12]}],
    }
    one = upload(home, files | {"coco.json": json.dumps(document).encode()})
    known = {"upload": one, "boxes": "coco.json"}
    assert "no folders" in send(home, "POST", "known", known)["problem"]
    seen = send(home, "POST", "known", known | {"box_labels": True})
    assert seen["classes"] == [{"label": "left", "files": 12}, {"label": "right", "files": 12}]
    assert (seen["problem"], seen["notes"]) == ("", ["1 box has no class: left out."])
    create(home, known | {"box_labels": True})
    assert ended(home)["images"] == 24
    with Workspace(root / "birds") as workspace:
        assert {(one.label, workspace.views.origin(one.item).box[0]) for one in workspace.views.labels()} == {
            ("left", 0), ("right", 6)
        }  # fmt: skip


def vector_file(**more):
    rng = np.random.default_rng(0)
    raw = io.BytesIO()
    labels = np.repeat(["owl", "wren", ""], 10)
    X = rng.normal(size=(30, 8)) + 9 * np.repeat(np.eye(3, 8), 10, axis=0)
    np.savez(raw, X=X, labels=labels, **more)
    return raw.getvalue()


def test_labelled_vectors_are_known_without_a_network(home, root, tmp_path):
    """Neither is a network needed, nor can a file that was uploaded show pictures of the server's machine."""
    one = upload(home, {"sounds.npz": vector_file()})
    seen = send(home, "POST", "known", {"upload": one})
    assert seen["vectors"] == ["sounds.npz"]
    known = {"upload": one, "table": "sounds.npz"}
    seen = send(home, "POST", "known", known)
    assert [(each["label"], each["files"]) for each in seen["classes"]] == [("owl", 10), ("wren", 10)]
    assert seen["notes"] == ["10 vectors without a label: left out."]
    create(home, known, backbone="vectors")
    assert ended(home)["images"] == 20
    with Workspace(root / "birds") as workspace:
        assert workspace.settings.takes_vectors
        assert workspace.check() == []
    paint(tmp_path / "private", "red", range(1))
    spying = vector_file(thumbnails=np.array([str(tmp_path / "private" / "red0.png")] * 30))
    known["upload"] = upload(home, {"sounds.npz": spying})
    assert "were not uploaded" in send(home, "POST", "known", known)["problem"]
    create(home, known, "spy", backbone="vectors")
    assert ended(home)["state"] == "failed"
    assert left(root) == ["birds"]


def test_settings_reach_the_project(home, root, images):
    create(home, {"folder": str(images)}, classifier="svm", memory=7, max_known_rejected=0.1, precision="full", seed=3)
    assert ended(home)["state"] == "done"
    with Workspace(root / "birds") as workspace:
        assert workspace.settings.precision == "full"
        chosen = {"random_state": 3, "preset": "best", "classifier": "svm", "memory_size": 7, "max_known_rejected": 0.1}
        assert workspace.settings.recognizer == chosen
    create(home, {"folder": str(images)}, "other", code=422, memory=0)
    refused = create(home, {"folder": str(images)}, "other", code=409, preset="robust", max_known_rejected=0.1)
    assert refused["detail"].startswith("The settings cannot be used. ")


@pytest.mark.parametrize("step", ["loading the backbone", "reading images", "storing"])
def test_a_failure_leaves_nothing_behind(home, root, images, monkeypatch, step):
    """Wherever it fails, the upload stays, and the same request works afterwards."""
    one = upload(home, contents(images))
    taken = Workspace.fit

    def failing(workspace, known, *, progress, **options):
        def stumbling(stage, done, total):
            if stage == step:
                raise OSError(28, "No space left on device")
            progress(stage, done, total)

        if step == "storing":
            taken(workspace, known, progress=progress, **options)
            raise OSError(28, "No space left on device")
        return taken(workspace, known, progress=stumbling, **options)

    def unusable(name):
        raise ValueError("The backbone cannot be used.")

    if step == "loading the backbone":
        monkeypatch.setattr(creation, "usable_backbone", unusable)
    else:
        monkeypatch.setattr(Workspace, "fit", failing)
    create(home, {"upload": one})
    failed = ended(home)
    assert failed["state"] == "failed"
    assert failed["error"]
    assert failed["request"]["known"]["upload"] == one
    assert left(root) == []
    monkeypatch.undo()
    create(home, {"upload": one})
    assert ended(home)["state"] == "done"
    assert left(root) == ["birds"]


def test_cancelled_it_leaves_nothing_behind(home, root, images, monkeypatch):
    fit = Workspace.fit

    def cancelling(workspace, known, *, progress, **options):
        def step(stage, done, total):
            send(home, "POST", "creation/cancel")
            progress(stage, done, total)

        return fit(workspace, known, progress=step, **options)

    monkeypatch.setattr(Workspace, "fit", cancelling)
    create(home, {"folder": str(images)})
    assert ended(home)["state"] == "cancelled"
    assert left(root) == []


def test_what_can_be_seen_beforehand_is_refused_at_once(home, root, images, tmp_path):
    known = {"folder": str(images)}
    for name in ("", "a/b", ".x"):
        assert create(home, known, name, code=409)["detail"]
    create(home, {"folder": str(tmp_path / "none")}, code=409)
    create(home, {"upload": "0" * 16}, code=404)
    create(home, {}, code=409)
    create(home, known | {"upload": "0" * 16}, code=409)
    create(home, known, backbone=str(tmp_path / "none.onnx"))
    failed = ended(home)
    assert failed["state"] == "failed"
    assert failed["error"].startswith("The backbone cannot be used.")
    assert left(root) == []


def test_backbones(home, root, tmp_path, monkeypatch, images):
    places = tmp_path / "places"
    monkeypatch.setenv("OPENGCD_BACKBONES", str(places))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    first = get(home, "backbones")["backbones"]
    offered = ["facebook/dinov2-small", "facebook/dinov2-base", "facebook/dino-vitb16"]
    assert [(one["name"], one["toy"]) for one in first] == [*((name, False) for name in offered), ("pixels", True)]
    assert "DINOv2" in first[0]["about"]
    assert "downloads about 90 MB" in first[0]["about"]
    assert "toy" in first[3]["about"]
    _, local = save_vit(places / "nets" / "tiny")
    save_vit(tmp_path / "hub" / "models--ann--dinov2-tiny" / "snapshots" / "abc")
    (places / "cut").mkdir()
    (places / "cut" / "config.json").write_text("{}")
    mean_colour(places / "mean.onnx")
    listed = get(home, "backbones")["backbones"]
    found = {one["title"]: one for one in listed}
    assert [one["title"] for one in listed[3:]] == [*offered, "pixels (no network)"]  # what is here comes first
    assert set(found) == {"ann/dinov2-tiny", "tiny", "mean.onnx", "pixels (no network)", *offered}
    assert "DINOv2" in found["ann/dinov2-tiny"]["about"]
    right = checked(home, local)
    assert (right["usable"], right["width"], right["pooling"]) == (True, 16, "cls")
    mean = checked(home, local, pooling="mean")
    assert (mean["usable"], mean["pooling"]) == (True, "mean")
    assert checked(home, places / "mean.onnx")["usable"]
    wrong = checked(home, places / "cut")
    assert not wrong["usable"]
    assert "does not contain a usable network" in wrong["problem"]
    create(home, {"folder": str(images)}, backbone=local, pooling="mean")
    assert ended(home)["state"] == "done"
    with Workspace(root / "birds") as workspace:
        assert workspace.settings.pooling == "mean"


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="servers are killed as on POSIX systems")
def test_killed_during_upload_and_creation_one_can_go_on(root, images, tmp_path):
    """Three servers: one is killed during the upload, one during the creation, and the last one finishes."""
    for colour in KNOWN[:2]:
        paint(tmp_path / "many" / colour, colour, range(80))
    files = contents(tmp_path / "many")
    some = dict(list(files.items())[:60])

    with home_process(root) as (process, link), signed_in(link) as home:
        one = send(home, "POST", "uploads", code=201)["id"]
        for path, content in some.items():
            home.put(f"{API}/uploads/{one}/file", params={"path": path, "size": len(content)}, content=content)
        path, content = list(files.items())[60]
        half = {"path": path, "size": len(content), "offset": 0}
        home.put(f"{API}/uploads/{one}/file", params=half, content=content[:100])
        os.kill(process.pid, signal.SIGKILL)
    with home_process(root) as (process, link), signed_in(link) as home:
        there = {found["path"]: found["received"] for found in home.get(f"{API}/uploads/{one}").json()}
        assert there == {name: len(content) for name, content in some.items()} | {path: 100}
        for name, content in files.items():
            begin = there.get(name, 0)
            if begin < len(content):
                asked = {"path": name, "size": len(content), "offset": begin}
                home.put(f"{API}/uploads/{one}/file", params=asked, content=content[begin:])
        assert send(home, "POST", f"uploads/{one}/finish") == {"files": 160}
        create(home, {"upload": one})
        eventually(lambda: (root / "birds" / "workspace.json").exists() and get(home, "creation")["creation"]["done"])
        assert get(home, "home")["projects"] == []  # not before it is complete
        os.kill(process.pid, signal.SIGKILL)
    assert left(root) == ["birds"]
    with home_process(root) as (_, link), signed_in(link) as home:
        stopped = get(home, "creation")["creation"]
        assert (stopped["state"], stopped["error"]) == ("failed", STOPPED)
        assert left(root) == []
        create(home, stopped["request"]["known"], stopped["request"]["name"])
        done = ended(home)
        assert (done["state"], done["images"]) == ("done", 160)
        assert left(root) == ["birds"]


def test_a_second_start_leads_to_the_first(root):
    with home_process(root) as (_, link):
        command = [sys.executable, "-m", "opengcd", "app", root, "--no-open"]
        again = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert again.returncode == 0, again.stderr
        assert f"OpenGCD is already running for {root}." in again.stdout
        (other,) = [line for line in again.stdout.splitlines() if line.startswith("http")]
        assert other.partition("#")[0] == link.partition("#")[0]
        address, _, secret = other.partition("#token=")
        for code in (200, 401):  # the link is good for one sign-in
            assert httpx.post(f"{address}api/v1/session", json={"token": secret}).status_code == code
