"""Whole images in which a detector has found nothing to cut out: empty ones are a class of their own."""

import hashlib
import io
import shutil
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from opengcd import Workspace
from opengcd.cli import app
from opengcd.service import create_app
from opengcd.workspace import MissingError
from opengcd.workspace.without_crop import ImageWithoutCrop
from tests.helpers.older_schemas import without_whole_images
from tests.helpers.scenes import PERSON, SIDE, detections, learn_crops, without_crops
from tests.helpers.serving import connect, get


def sha256(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def learnt(tmp_path_factory):
    """A workspace that has learnt four colours from crops, of an empty image too; tests copy it."""
    folder = tmp_path_factory.mktemp("learnt")
    learn_crops(folder).close()
    return folder


@pytest.fixture
def fit(learnt, tmp_path):
    with Workspace(shutil.copytree(learnt / "birds", tmp_path / "birds"), who="ann") as workspace:
        yield workspace


@pytest.fixture
def nothing(learnt):
    """The empty image among those that were learnt."""
    return learnt / "known" / "red" / "nothing.png"


def test_images_without_a_crop_are_counted_until_they_have_one(fit, nothing, tmp_path):
    """By hand: beside an empty image of `init` there is one with a crop, one that is unsure, and one with a person."""
    stream = tmp_path / "stream"
    boxes = without_crops(stream)
    assert fit.status().without_crop == {"empty": 1}
    before = fit.views.revision()
    told = {one.path: one.label for one in fit.recognize([stream], boxes=boxes) if one.item is None}
    assert told == {str(stream / "unsure.png"): "empty", str(stream / "person.png"): "person"}
    assert fit.status().without_crop == {"empty": 2, "person": 1}
    assert fit.views.revision() > before, "open pages are not told"
    empty = [ImageWithoutCrop(sha256(file), str(file), "empty") for file in (nothing, stream / "unsure.png")]
    person = ImageWithoutCrop(sha256(stream / "person.png"), str(stream / "person.png"), "person")
    assert fit.without_crop.images() == [*sorted(empty, key=lambda one: one.path), person]
    assert fit.without_crop.images("person") == [person]
    assert fit.without_crop.images(offset=2) == [person]
    assert [one.label for one in fit.without_crop.images(limit=1)] == ["empty"]
    # With a lower confidence, the unsure one has a crop; that crop stays when the confidence is raised again.
    for confidence in (0.05, 0.2):
        list(fit.recognize([stream], boxes=boxes, min_confidence=confidence))
        assert fit.status().without_crop == {"empty": 1, "person": 1}
    assert [one.path for one in fit.without_crop.images("empty")] == [str(nothing)]


def test_a_copy_is_the_same_image_and_the_last_place_counts(fit, tmp_path):
    stream, copies = tmp_path / "stream", tmp_path / "copies"
    list(fit.recognize([stream], boxes=without_crops(stream)))
    shutil.copytree(stream, copies)
    shutil.copy(copies / "person.png", copies / "both.png")  # two files of one image at once
    boxes = {"person.png": PERSON, "both.png": PERSON, "unsure.png": []}
    list(fit.recognize([copies], boxes=detections(copies / "boxes.json", boxes)))
    assert fit.status().without_crop == {"empty": 2, "person": 1}
    assert str(copies / "unsure.png") in [one.path for one in fit.without_crop.images("empty")]
    assert [Path(one.path).parent for one in fit.without_crop.images("person")] == [copies]


def test_many_images_are_noted_in_parts(fit, tmp_path, monkeypatch):
    monkeypatch.setattr("opengcd.workspace.database.AT_A_TIME", 2)
    boxes = without_crops(tmp_path / "stream")
    done = []
    results = fit.recognize(
        [tmp_path / "stream"], boxes=boxes, progress=lambda stage, n, of: done.append((stage, n, of))
    )
    assert len(list(results)) == 3
    assert [one[1:] for one in done if one[0] == "cutting out boxes"] == [(1, 3), (2, 3), (3, 3)]
    assert fit.status().without_crop == {"empty": 2, "person": 1}


def test_the_status_reads_no_records(fit, tmp_path):
    list(fit.recognize([tmp_path / "stream"], boxes=without_crops(tmp_path / "stream")))
    shutil.rmtree(fit.path / "crops")
    assert fit.status().without_crop == {"empty": 2, "person": 1}


def test_a_workspace_of_schema_9_is_filled_from_its_records(fit, tmp_path):
    list(fit.recognize([tmp_path / "stream"], boxes=without_crops(tmp_path / "stream")))
    expected = fit.without_crop.images()
    fit.close()
    without_whole_images(fit.path)
    (fit.path / "crops" / "00").mkdir(exist_ok=True)
    (fit.path / "crops" / "00" / "damaged.json").write_bytes(b"{")
    with Workspace(fit.path) as migrated:
        assert migrated.without_crop.images() == expected
        assert migrated.status().without_crop == {"empty": 2, "person": 1}


def test_the_command_says_how_many(fit, workspace, tmp_path):
    list(fit.recognize([tmp_path / "stream"], boxes=without_crops(tmp_path / "stream")))
    lines = CliRunner().invoke(app, ["status", str(fit.path)]).stdout.splitlines()
    assert "no crop   2 empty, 1 person" in lines
    assert "no crop" not in CliRunner().invoke(app, ["status", str(workspace.path)]).stdout


def test_the_service_lists_and_shows_them(fit, tmp_path):
    list(fit.recognize([tmp_path / "stream"], boxes=without_crops(tmp_path / "stream")))
    person = tmp_path / "stream" / "person.png"
    with connect(create_app(fit), fit.access.make("ann")) as client:
        assert get(client, "status")["without_crop"] == {"empty": 2, "person": 1}
        assert get(client, "images/without-crop", label="person") == [
            {"hash": sha256(person), "name": "person.png", "path": str(person), "label": "person"}
        ]
        assert [one["label"] for one in get(client, "images/without-crop", offset=1, limit=2)] == ["empty", "person"]
        get(client, "images/without-crop", 422, limit=0)
        address = f"/api/v1/images/without-crop/{sha256(person)}"
        small = client.get(f"{address}/thumbnail")
        assert (small.status_code, small.headers["content-type"]) == (200, "image/jpeg")
        whole = client.get(f"{address}/image")
        assert (whole.headers["content-type"], whole.content) == ("image/png", person.read_bytes())
        assert Image.open(io.BytesIO(small.content)).size == (SIDE, 2 * SIDE)
        person.write_bytes(b"another")
        get(client, f"images/without-crop/{sha256(tmp_path / 'stream' / 'both.png')}/image", 404)
        assert client.get(f"{address}/image").status_code == 404


def test_an_image_that_is_not_listed_has_no_picture(fit):
    with pytest.raises(MissingError, match=r"no image 0{12} without a crop"):
        fit.without_crop.picture("0" * 64)
