"""Exports of crops: each is a box in its image, and an image in which nothing was found is empty."""

import csv
import io
import json
from collections import Counter

import pytest

from opengcd.workspace.boxes import read_boxes
from tests.helpers.camtrap import table_of, validate
from tests.helpers.needed import needed_module
from tests.helpers.scenes import SIDE, detections, learn_crops, scene

DEPLOYMENTS = """folder,deploymentID,latitude,longitude,deploymentStart,deploymentEnd
stream,cam1,49.5,8.5,2024-05-01T00:00:00+02:00,2024-06-01T00:00:00+02:00
"""
TIMES = """file,time
stream/both.png,2024-05-01T06:30:12
stream/nothing.png,2024-05-01T06:31:12
stream/person.png,2024-05-01T06:32:12
"""


@pytest.fixture(scope="module")
def trap(tmp_path_factory):
    """A workspace, and the folder with its images: two animals in one, nothing in one, a person in one."""
    folder = tmp_path_factory.mktemp("trap")
    stream = folder / "stream"
    found = {
        "both.png": scene(stream / "both.png", "red", "blue"),
        "nothing.png": [],
        "person.png": [box | {"category": "2"} for box in scene(stream / "person.png", "white")],
    }
    scene(stream / "nothing.png")
    (folder / "times.csv").write_text(TIMES)
    (folder / "deployments.csv").write_text(DEPLOYMENTS)
    with learn_crops(folder) as workspace:
        list(workspace.recognize([stream], boxes=detections(folder / "stream.json", found)))
        workspace.set_times(folder / "times.csv")
        yield workspace, folder


def by_name(rows, key):
    """Index the rows of the stream by the name of their file."""
    return {row[key].rpartition("/")[2]: row for row in rows if "/stream/" in row[key]}


def test_tables_say_which_image_a_crop_is_of_and_what_is_empty(trap):
    workspace, folder = trap
    rows = list(csv.DictReader(io.StringIO(workspace.formats.export_bytes("csv").decode())))
    crops = {row["box"]: row for row in rows if row["image"] == str(folder / "stream" / "both.png")}
    assert {box: row["label"] for box, row in crops.items()} == {
        f"0 {SIDE} {SIDE} {SIDE}": "red", f"{SIDE} {SIDE} {SIDE} {SIDE}": "unknown"
    }  # fmt: skip
    whole = by_name(rows, "path")
    assert {name: (row["label"], row["source"], row["image"]) for name, row in whole.items()} == {
        "nothing.png": ("empty", "detector", ""), "person.png": ("person", "detector", "")
    }  # fmt: skip
    document = json.loads(workspace.formats.export_bytes("json"))
    assert len({tuple(row) for row in document}) == 1  # all have the same fields in the same order
    assert len(document) == len(rows)
    assert [one["box"] for one in document if one["image"] == str(folder / "stream" / "both.png")] == [
        [0, SIDE, SIDE, SIDE], [SIDE, SIDE, SIDE, SIDE],
    ]  # fmt: skip
    (nothing,) = [one for one in document if one["paths"] == [str(folder / "stream" / "nothing.png")]]
    assert (nothing["item"], nothing["label"], nothing["width"]) == (None, "empty", SIDE)
    reviewed = workspace.formats.export_bytes("csv", images="reviewed").decode()
    assert "nothing.png" not in reviewed  # no person has said so


def test_coco_has_the_boxes_in_their_images(trap, tmp_path, capsys):
    workspace, folder = trap
    workspace.export("coco", tmp_path / "coco.json")
    coco = needed_module("pycocotools.coco").COCO(str(tmp_path / "coco.json"))
    images = by_name(coco.loadImgs(coco.getImgIds()), "file_name")
    assert images.keys() == {"both.png", "nothing.png", "person.png"}
    assert (images["both.png"]["width"], images["both.png"]["height"]) == (2 * SIDE, 2 * SIDE)
    (box,) = coco.loadAnns(coco.getAnnIds(imgIds=[images["both.png"]["id"]]))
    assert (coco.loadCats(box["category_id"])[0]["name"], box["bbox"]) == ("red", [0, SIDE, SIDE, SIDE])
    assert coco.getAnnIds(imgIds=[images["nothing.png"]["id"]]) == []
    assert len({one["id"] for one in coco.dataset["images"]}) == len(coco.dataset["images"])
    assert "index created" in capsys.readouterr().out
    again = read_boxes(tmp_path / "coco.json")
    assert [box.category for box in again.of(str(folder / "stream" / "both.png"), [])] == ["red"]
    assert again.of(str(folder / "stream" / "nothing.png"), []) == []


def test_crops_are_in_the_format_of_megadetector(trap, tmp_path):
    """What ``validate_batch_results`` of megadetector 10.0 requires, and what is read as boxes."""
    workspace, folder = trap
    workspace.export("crops", tmp_path / "crops.json")
    document = json.loads((tmp_path / "crops.json").read_text())
    assert document.keys() == {"info", "detection_categories", "classification_categories", "images"}
    assert float(document["info"]["format_version"]) >= 1.3
    for name in ("detection_categories", "classification_categories"):
        assert all(key == str(int(key)) and value.strip() for key, value in document[name].items())
    for box in (box for image in document["images"] for box in image["detections"]):
        assert isinstance(box["conf"], float)
        assert box["category"] in document["detection_categories"]
        assert all(number in document["classification_categories"] for number, _ in box.get("classifications", []))
    images = by_name(document["images"], "file")
    assert (images["nothing.png"]["label"], images["person.png"]["label"]) == ("empty", "person")
    red, unknown = images["both.png"]["detections"]
    assert (red["bbox"], red["label"], red["source"]) == ([0.0, 0.5, 0.5, 0.5], "red", "recognized")
    ((number, p),) = red["classifications"]
    assert (document["classification_categories"][number], 0 < p <= 1) == ("red", True)
    assert (unknown["label"], unknown["source"], "classifications" in unknown) == ("unknown", "rejected", False)
    again = read_boxes(tmp_path / "crops.json")
    before = read_boxes(folder / "stream.json")
    for name in ("both.png", "nothing.png"):
        boxes = before.of(str(folder / "stream" / name), [str(folder / "stream")])
        read = again.of(str(folder / "stream" / name), [])
        assert [box[:5] for box in read] == [pytest.approx(box[:5]) for box in boxes]
        assert [(box.category, box.label) for box in read] == [("animal", "red"), ("animal", None)][: len(boxes)]


def test_camtrap_dp_has_whole_images_with_boxes_and_blank_ones(trap, tmp_path):
    workspace, folder = trap
    left_out = workspace.export("camtrap-dp", tmp_path / "out", deployments=folder / "deployments.csv")
    assert {reason for _, reason in left_out} == {"no deployment of the table has its folder"}
    validate(tmp_path / "out")
    media = {row["fileName"]: row for row in table_of((tmp_path / "out" / "media.csv").read_text())}
    assert media.keys() == {"both.png", "nothing.png", "person.png"}
    assert media["nothing.png"]["timestamp"] == "2024-05-01T06:31:12+02:00"
    for name, row in media.items():
        assert (tmp_path / "out" / row["filePath"]).read_bytes() == (folder / "stream" / name).read_bytes()
    found = table_of((tmp_path / "out" / "observations.csv").read_text())
    name_of = {row["mediaID"]: name for name, row in media.items()}
    assert Counter((name_of[row["mediaID"]], row["observationType"], row["scientificName"]) for row in found) == {
        ("both.png", "animal", "red"): 1,
        ("both.png", "unknown", ""): 1,
        ("nothing.png", "blank", ""): 1,
        ("person.png", "human", ""): 1,
    }
    (red,) = [row for row in found if row["scientificName"]]
    assert [float(red[name]) for name in ("bboxX", "bboxY", "bboxWidth", "bboxHeight")] == [0, 0.5, 0.5, 0.5]


def test_records_of_species_have_the_place_and_name_of_the_whole_image(trap):
    workspace, folder = trap
    deployments = DEPLOYMENTS.replace("stream,", f"{folder.name}/stream,", 1)
    rows = list(
        csv.reader(workspace.formats.export_bytes("inaturalist", deployments=deployments).decode().splitlines())
    )
    (red,) = [row for row in rows if row[2].startswith("both.png (")]
    assert (red[0], red[1], red[4:6]) == ("red", "2024-05-01 06:30:12", ["49.5", "8.5"])


def test_a_class_that_is_no_species_is_no_record(trap, tmp_path):
    """A person may call crops in which nothing is to be seen empty."""
    workspace, folder = trap
    (item,) = [one.item for one in workspace.views.labels() if one.label == "unknown"]
    workspace.discover(k=5)
    (group,) = [one for one in workspace.groups() if item in one.items]
    workspace.name(group.id, "Empty", confirm=True)
    workspace.export("camtrap-dp", tmp_path / "out", deployments=folder / "deployments.csv")
    found = table_of((tmp_path / "out" / "observations.csv").read_text())
    assert Counter(row["observationType"] for row in found) == {"animal": 1, "blank": 2, "human": 1}
    left_out = workspace.export("inaturalist", tmp_path / "a.csv")
    assert [reason for _, reason in left_out] == ["it is labelled 'Empty', which is not the name of a species"]
