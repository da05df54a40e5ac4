"""Boxes of a detector as items of their own."""

import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from sqlalchemy import select
from typer.testing import CliRunner

from opengcd import Workspace
from opengcd.cli import app
from opengcd.service import create_app
from opengcd.workspace import WorkspaceError
from opengcd.workspace.boxes import Box, read_boxes
from opengcd.workspace.crops import Crops
from opengcd.workspace.schema import captures
from tests.helpers.pictures import COLOURS, RECOGNIZER
from tests.helpers.scenes import SIDE, detections, learn_crops, scene
from tests.helpers.serving import connect, get


@pytest.fixture
def fit(tmp_path):
    """A workspace that has learnt four colours from crops."""
    with learn_crops(tmp_path) as workspace:
        yield workspace


def test_pixels_of_a_box():
    assert Box(0.1, 0.25, 0.5, 0.5, 1, "a").pixels(100, 40) == (10, 10, 60, 30)
    assert Box(-0.1, 0.9, 2, 0.5, 1, "a").pixels(10, 10) == (0, 9, 10, 10)
    assert Box(1 / 3, 0, 1 / 3, 1, 1, "a").pixels(90, 10) == (30, 0, 60, 10)
    assert Box(0.29, 0.29, 0.57, 0.57, 1, "a").pixels(100, 100) == (29, 29, 86, 86)  # 0.29 * 100 is less than 29


@given(*[st.floats(-1, 2)] * 2, *[st.floats(0, 2)] * 2, *[st.integers(1, 5000)] * 2)
def test_a_box_is_within_its_image(x, y, w, h, width, height):
    left, top, right, bottom = Box(x, y, w, h, 1, "a").pixels(width, height)
    assert left >= 0 <= top
    assert right <= width
    assert bottom <= height


def test_both_formats_say_the_same(tmp_path):
    boxes = scene(tmp_path / "a.png", "red", "blue")
    first = read_boxes(detections(tmp_path / "md.json", {"a.png": boxes, "b.png": []}))
    coco = {
        "images": [
            {"id": 7, "file_name": "a.png", "width": 2 * SIDE, "height": 2 * SIDE},
            {"id": 8, "file_name": "b.png", "width": 4, "height": 4},
        ],
        "categories": [{"id": 3, "name": "animal"}],
        "annotations": [
            {"image_id": 7, "category_id": 3, "bbox": [place * SIDE, SIDE, SIDE, SIDE], "score": 0.9 - 0.01 * place}
            for place in range(2)
        ],
    }
    (tmp_path / "coco.json").write_text(json.dumps(coco))
    second = read_boxes(tmp_path / "coco.json")
    for name in ("a.png", "b.png"):
        both = [boxes.of(str(tmp_path / name), [str(tmp_path)]) for boxes in (first, second)]
        assert both[0] == [box._replace(label=None) for box in both[1]]
    assert {box.label for box in second.of(str(tmp_path / "a.png"), [str(tmp_path)])} == {"animal"}
    assert first.of(str(tmp_path / "c.png"), [str(tmp_path)]) is None
    assert (first.only, second.only) == ("animal", None)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "is not JSON"),
        ("[]", "is damaged"),
        ('{"images": []}', "has no boxes; give the output of MegaDetector"),
        ('{"images": [{"file": "a", "detections": [{"bbox": [0, 0, 1], "category": "1"}]}]}', "is damaged"),
        ('{"images": [{"file": "a", "detections": [{"bbox": [0, 0, -1, 1], "category": "1"}]}]}', "is damaged"),
        ('{"images": [{"file": "a", "detections": [{"bbox": [0, 0, 1, 1], "category": "9"}]}]}', "is damaged"),
        ('{"images": [], "annotations": [{"image_id": 1, "bbox": [0, 0, 1, 1]}]}', "is damaged"),
    ],
)
def test_files_of_boxes_that_cannot_be_used(tmp_path, text, told):
    (tmp_path / "boxes.json").write_text(text)
    with pytest.raises(WorkspaceError, match=told):
        read_boxes(tmp_path / "boxes.json")
    with pytest.raises(WorkspaceError, match="cannot be read: No such file"):
        read_boxes(tmp_path / "none.json")


def test_each_box_is_an_item(fit, tmp_path):
    assert fit.status().counts["learnt"] == 4 * 3 * (1 + 2)
    stream = tmp_path / "stream"
    found = {
        "both.png": scene(stream / "both.png", "red", "blue"),
        "unsure.png": [box | {"conf": 0.1} for box in scene(stream / "unsure.png", "green")],
        "person.png": [box | {"category": "2"} for box in scene(stream / "person.png", "white")],
    }
    scene(stream / "unknown.png", "black")
    found["broken.png"] = []
    (stream / "broken.png").write_bytes(b"nothing")
    boxes = detections(tmp_path / "stream.json", found)
    results = {}
    for one in fit.recognize([stream], boxes=boxes):
        results.setdefault(one.path.rpartition("/")[2], []).append(one)
    whole = {name: (one.label, one.reason) for name, (one, *_) in results.items() if one.item is None}
    assert whole.keys() == {"unsure.png", "person.png", "unknown.png", "broken.png"}
    assert whole["unsure.png"] == ("empty", "")
    assert whole["person.png"] == ("person", "")
    assert "does not name it" in whole["unknown.png"][1]
    assert "not a readable image" in whole["broken.png"][1]
    crops = [one for many in results.values() for one in many if one.item is not None]
    assert [one.label for one in crops] == ["red", "unknown"]
    # What is empty does not go to discovery.
    assert fit.status().counts["rejected"] == 1
    origin = fit.views.origin(crops[1].item)
    assert (origin.path, origin.size) == (str(stream / "both.png"), (2 * SIDE, 2 * SIDE))
    assert origin.box == (SIDE, SIDE, SIDE, SIDE)
    assert (origin.confidence, origin.category) == (pytest.approx(0.89), "animal")
    picture, kind = fit.views.origin_image(crops[1].item)
    assert (Image.open(io.BytesIO(picture)).size, kind) == ((2 * SIDE, 2 * SIDE), "image/png")
    assert fit.check() == []
    (plain,) = fit.recognize([stream / "both.png"])
    assert fit.views.origin(plain.item) is None
    with pytest.raises(WorkspaceError, match="not a crop"):
        fit.views.origin_image(plain.item)


def test_boxes_are_cut_once(fit, tmp_path, monkeypatch):
    stream = tmp_path / "stream"
    boxes = scene(stream / "a.png", "red", "blue")
    file = detections(tmp_path / "stream.json", {"a.png": [boxes[0] | {"conf": 0.3}, boxes[1]]})
    first = [one.path for one in fit.recognize([stream], boxes=file, min_confidence=0.5)]
    assert len(first) == 1
    both = [one.path for one in fit.recognize([stream], boxes=file)]
    assert len(both) == 2
    assert set(first) < set(both)
    (image,) = [one for one in Crops(fit.store).images() if one.path == str(stream / "a.png")]
    assert sorted(one.confidence for one in image.crops.values()) == [0.3, 0.89]
    monkeypatch.setattr("opengcd.workspace.crops.replace_file", lambda *_, **__: pytest.fail("it is cut again"))
    assert [one.path for one in fit.recognize([stream], boxes=file)] == both


def test_crops_know_when_the_image_was_taken_and_how_it_is_turned(fit, tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 3  # upside down
    exif.get_ifd(0x8769)[0x9003] = "2024:05:01 06:30:12"
    scene(tmp_path / "a.jpg", "red", "blue", exif=exif)
    upright = [{"category": "1", "conf": 0.9, "bbox": [0.5, 0, 0.5, 0.5]}]  # where red is when it is turned
    (one,) = fit.recognize([tmp_path / "a.jpg"], boxes=detections(tmp_path / "boxes.json", {"a.jpg": upright}))
    crop = Image.open(one.path)
    assert np.abs(np.asarray(crop).mean((0, 1)) - COLOURS["red"]).max() < 8
    assert crop.getexif().get_ifd(0x8769)[0x9003] == "2024:05:01 06:30:12"


def test_a_table_of_times_counts_for_the_crops_of_an_image(fit, tmp_path):
    """Also for images without a crop, which exports list, and when they are looked at again."""
    found = {"a.png": scene(tmp_path / "a.png", "red", "blue"), "IMG_20240131_235959.png": []}
    scene(tmp_path / "IMG_20240131_235959.png")
    boxes = detections(tmp_path / "boxes.json", found)
    files = [tmp_path / name for name in found]
    (tmp_path / "times.csv").write_text("file,time\na.png,2024-05-01T06:30:12\n")
    moments = {"a.png": datetime(2024, 5, 1, 6, 30, 12), "IMG_20240131_235959.png": datetime(2024, 1, 31, 23, 59, 59)}
    for _ in range(2):
        items = [one.item for one in fit.recognize(files, boxes=boxes) if one.item]
        assert fit.set_times(tmp_path / "times.csv") == 2
        seconds = {Path(one.path).name: one.taken for one in Crops(fit.store).images()}
        assert {name: seconds[name] for name in found} == {
            name: moment.replace(tzinfo=UTC).timestamp() for name, moment in moments.items()
        }
        with fit.store.database.reading() as connection:
            taken = connection.scalars(select(captures.c.taken).where(captures.c.item_id.in_(items))).all()
        assert taken == [seconds["a.png"]] * 2


def test_the_service_shows_a_crop_in_its_image(fit, tmp_path):
    found = {"a.png": scene(tmp_path / "a.png", "red", "blue")}
    one, _ = fit.recognize([tmp_path / "a.png"], boxes=detections(tmp_path / "boxes.json", found))
    token = fit.access.make("ann")
    with connect(create_app(fit), token) as client:
        item = get(client, f"items/{one.item}")
        assert item["origin"] == {
            "name": "a.png", "size": [2 * SIDE, 2 * SIDE], "box": [0, SIDE, SIDE, SIDE], "confidence": 0.9,
            "category": "animal",
        }  # fmt: skip
        answer = client.get(f"/api/v1/items/{one.item}/origin")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
        (tmp_path / "a.png").write_bytes(b"")
        get(client, f"items/{one.item}/origin", 404)


@pytest.fixture
def shelves(tmp_path):
    """Images with several things in each, and boxes with classes in COCO's format, in another folder."""
    names, images, annotations = ["red", "green", "black"], [], []
    for number in range(6):
        scene(tmp_path / "images" / f"{number}.png", *names)
        images.append({"id": number, "file_name": f"{number}.png", "width": 3 * SIDE, "height": 2 * SIDE})
        for place in range(3):
            box = {"image_id": number, "category_id": 1 + place, "bbox": [place * SIDE, SIDE, SIDE, SIDE]}
            annotations.append({"id": 3 * number + place} | box)
    (tmp_path / "annotations").mkdir()
    categories = [{"id": place, "name": name} for place, name in enumerate(names, 1)]
    document = {"images": images, "annotations": annotations, "categories": categories}
    (tmp_path / "annotations" / "instances.json").write_text(json.dumps(document))
    return tmp_path / "images", tmp_path / "annotations" / "instances.json"


def test_boxes_may_have_the_labels(shelves, tmp_path):
    """In COCO's format, and as exports have them: COCO, and MegaDetector with a classifier."""
    images, boxes = shelves
    with Workspace.create(tmp_path / "w", "pixels", recognizer=RECOGNIZER) as workspace:
        assert workspace.fit(images, boxes=boxes, box_labels=True) == []
        places = {(one.label, workspace.views.origin(one.item).box[0] // SIDE) for one in workspace.views.labels()}
        assert places == {("red", 0), ("green", 1), ("black", 2)}
        assert workspace.status().counts["learnt"] == 18
        learnt = sorted((one.hash, one.label) for one in workspace.views.labels())
        for format in ("coco", "crops"):
            workspace.export(format, tmp_path / f"{format}.json")
            with Workspace.create(tmp_path / format, "pixels", recognizer=RECOGNIZER) as again:
                assert again.fit(images, boxes=tmp_path / f"{format}.json", box_labels=True) == []
                assert sorted((one.hash, one.label) for one in again.views.labels()) == learnt, format


def test_boxes_without_a_label_are_listed(shelves, tmp_path):
    images, boxes = shelves
    document = json.loads(boxes.read_text())
    document["annotations"][0]["category_id"] = 99
    boxes.write_text(json.dumps(document))
    with Workspace.create(tmp_path / "w", "pixels", recognizer=RECOGNIZER) as workspace:
        assert workspace.fit(images, boxes=boxes, box_labels=True) == [
            (str(images / "0.png"), "the file of boxes gives this box no class")
        ]
        assert workspace.status().counts["learnt"] == 17
    with Workspace.create(tmp_path / "v", "pixels", recognizer=RECOGNIZER) as workspace:
        with pytest.raises(WorkspaceError, match="Labels of boxes need a file of boxes"):
            workspace.fit(images, box_labels=True)
        found = {f"{n}.png": scene(images / f"{n}.png", "red") for n in range(2)}
        with pytest.raises(WorkspaceError, match="gives this box no class"):
            workspace.fit(images, boxes=detections(tmp_path / "md.json", found), box_labels=True)
        document["categories"] = document["categories"][:1]
        boxes.write_text(json.dumps(document))
        with pytest.raises(WorkspaceError, match="have only the class 'red'; at least two are needed"):
            workspace.fit(images, boxes=boxes, box_labels=True)


def test_boxes_with_labels_by_command(shelves, tmp_path):
    images, boxes = shelves
    (images / "instances.json").write_text(boxes.read_text())
    run = CliRunner().invoke
    command = ["init", str(tmp_path / "w"), "--embedder", "pixels", "--known"]
    refused = run(app, [*command, str(images / "instances.json")])
    assert (refused.exit_code, "--box-labels" in refused.stderr) == (1, True)
    done = run(app, [*command, str(images), "--boxes", str(boxes), "--box-labels"])
    assert (done.exit_code, "18 images of 3 classes" in done.stdout) == (0, True), done.output


def test_the_commands(tmp_path):
    found = {
        f"{colour}/{number}.png": scene(tmp_path / "known" / colour / f"{number}.png", colour, other)
        for colour, other in (("red", "black"), ("green", "white"))
        for number in range(3)
    }
    for boxes in found.values():
        boxes[1]["conf"] = 0.4
    boxes = str(detections(tmp_path / "boxes.json", found))
    birds, known = str(tmp_path / "birds"), str(tmp_path / "known")
    options = ["--embedder", "pixels", "--boxes", boxes, "--min-confidence"]
    result = CliRunner().invoke(app, ["init", birds, "--known", known, *options, "0.99"])
    assert (result.exit_code, "no box has the confidence" in result.stderr) == (1, True)
    result = CliRunner().invoke(app, ["init", birds, "--known", known, *options, "0.5"])
    assert (result.exit_code, "6 images of 2 classes" in result.stdout) == (0, True)
    lines = (
        CliRunner().invoke(app, ["recognize", birds, known, "--boxes", boxes, "--format", "csv"]).stdout.splitlines()
    )
    assert len(lines) == 1 + 12
    rows = list(csv.DictReader(lines))
    assert {(row["image"], row["box"]) for row in rows} == {
        (str(tmp_path / "known" / name), f"{place * SIDE} {SIDE} {SIDE} {SIDE}") for name in found for place in (0, 1)
    }
    table = CliRunner().invoke(app, ["recognize", birds, known, "--boxes", boxes]).stdout
    assert f"{tmp_path / 'known' / 'red' / '0.png'} ({SIDE} x {SIDE} at {SIDE}, {SIDE})" in table
    assert CliRunner().invoke(app, ["recognize", birds, known, "--boxes", boxes, "--watch"]).exit_code == 2
    out = tmp_path / "crops.json"
    assert CliRunner().invoke(app, ["export", birds, "--format", "crops", "--out", str(out)]).exit_code == 0
    assert len(json.loads(out.read_bytes())["images"]) == 6
