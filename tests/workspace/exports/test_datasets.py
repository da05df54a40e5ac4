"""Folders of images, read back by the tools that they are for, or by what their documentation says."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opengcd.workspace.exports.datasets import split
from opengcd.workspace.labels import Labelled
from tests.helpers.needed import foreign_module, needed_module
from tests.helpers.pictures import KNOWN, truth
from tests.helpers.reviewing import novel


@pytest.fixture
def named(workspace):
    """The workspace, after somebody named one of its two new groups; 16 images have no class or a provisional one."""
    workspace.name(novel(workspace)["blue"].id, "a/b: .", confirm=True)
    return workspace


def test_coco_is_read_by_pycocotools(named, tmp_path, capsys):
    named.export("coco", tmp_path / "coco.json")
    coco = needed_module("pycocotools.coco").COCO(str(tmp_path / "coco.json"))
    assert sorted(one["name"] for one in coco.loadCats(coco.getCatIds())) == sorted(
        [*KNOWN, "a/b: .", novel(named)["yellow"].label]
    )
    blue = coco.getImgIds(catIds=coco.getCatIds(catNms=["a/b: ."]))
    assert {truth(one["file_name"]) for one in coco.loadImgs(blue)} == {"blue"}
    assert len(blue) == 8
    assert "index created" in capsys.readouterr().out


@pytest.mark.parametrize("copy", [False, True])
def test_imagefolder_is_read_by_datasets(named, tmp_path, copy, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    datasets = needed_module("datasets")
    assert named.export("imagefolder", tmp_path / "out", copy=copy) == []
    found = datasets.load_dataset(str(tmp_path / "out"), split="train", cache_dir=str(tmp_path / "cache"))
    assert len(found) == 80
    assert set(found.column_names) == {"image", "label", "source", "probability", "sha256"}
    assert Counter(found["label"])["a/b: ."] == 8
    assert Counter(found["source"])["learnt"] == 32
    for row in found:
        r, g, b = row["image"].resize((1, 1)).getpixel((0, 0))
        assert (row["label"] == "a/b: .") == (b > 150 and max(r, g) < 100)
        assert (row["probability"] is not None) == (row["source"] == "recognized")


def test_unknown_images_have_no_label_in_an_imagefolder(workspace, tmp_path):
    workspace.undo()
    workspace.export("imagefolder", tmp_path / "out")
    rows = [json.loads(line) for line in (tmp_path / "out" / "train" / "metadata.jsonl").read_text().splitlines()]
    assert Counter(row["label"] for row in rows)[None] == 16
    assert all((tmp_path / "out" / "train" / row["file_name"]).is_file() for row in rows)


def test_yolo_has_the_same_classes_for_training_and_validation(named, tmp_path):
    """What ``check_cls_dataset`` of ultralytics 8.4 requires."""
    left_out = named.export("yolo", tmp_path / "out")
    assert len(left_out) == 8
    assert {(truth(path), reason) for path, reason in left_out} == {
        ("yellow", "it has no class, and this format has classes only")
    }
    classes = {
        side: {folder.name: len(list(folder.glob("*.png"))) for folder in (tmp_path / "out" / side).iterdir()}
        for side in ("train", "val")
    }
    assert classes["train"] == dict.fromkeys(KNOWN, 13) | {"a%2Fb%3A %2E": 6}
    assert classes["val"] == dict.fromkeys(KNOWN, 3) | {"a%2Fb%3A %2E": 2}
    assert not list((tmp_path / "out").rglob("*yellow*"))


def test_yolo_is_read_by_ultralytics(named, tmp_path, monkeypatch):
    monkeypatch.setenv("YOLO_OFFLINE", "1")
    monkeypatch.setenv("YOLO_CONFIG_DIR", str(tmp_path))
    data = foreign_module("ultralytics.data.utils", "it brings torchvision, OpenCV and polars")
    named.export("yolo", tmp_path / "out", copy=True)
    found = data.check_cls_dataset(str(tmp_path / "out"))
    assert sorted(found["names"].values()) == sorted([*KNOWN, "a%2Fb%3A %2E"])


def item(number, label, hash):
    return Labelled(number, hash, [], 1, 1, label, "learnt", None, [], None)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.integers(0, 3)), max_size=40),
    st.randoms(use_true_random=False),
)
def test_the_split_is_even_stable_and_keeps_near_copies_together(rows, random):
    found = [item(i, label, f"{i * 7919 % 1009:04d}") for i, (label, _) in enumerate(rows)]
    stacks = {i: stack for i, (_, stack) in enumerate(rows) if stack is not None}
    sides = split(found, stacks)
    assert sides.keys() == set(range(len(rows)))
    shuffled = found[:]
    random.shuffle(shuffled)
    assert split(shuffled, stacks) == sides
    piles = {(one.label, stacks.get(one.item, f"alone {one.item}")) for one in found}
    for label in "abc":
        of_class = [one for one in found if one.label == label]
        number = sum(name == label for name, _ in piles)
        on_side = {side: [one for one in of_class if sides[one.item] == side] for side in ("train", "val")}
        val = {stacks.get(one.item, f"alone {one.item}") for one in on_side["val"]}
        assert not val & {stacks.get(one.item, f"alone {one.item}") for one in on_side["train"]}
        assert len(val) == (0 if number < 2 else (number - 2) // 5 + 1)


def read_fiftyone(folder):
    """As ``FiftyOneImageClassificationDatasetImporter`` of fiftyone 1.22 reads it."""
    document = json.loads((folder / "labels.json").read_text())
    files = {str(file.relative_to(folder / "data").with_suffix("")): file for file in (folder / "data").rglob("*.*")}
    for uuid, target in document["labels"].items():
        label = None if target is None else document["classes"][target["label"]]
        yield files.pop(uuid), label, target
    assert files == {}


def test_fiftyone(named, tmp_path):
    assert named.export("fiftyone", tmp_path / "out") == []
    found = list(read_fiftyone(tmp_path / "out"))
    assert len(found) == 80
    for file, label, target in found:
        assert label == {"blue": "a/b: .", "yellow": novel(named)["yellow"].label}.get(truth(str(file)), label)
        if target["attributes"]["source"] == "recognized":
            assert 0 < target["confidence"] <= 1
        else:
            assert target["confidence"] is None


def test_fiftyone_is_read_by_fiftyone(named, tmp_path, monkeypatch):
    """By the importer that ``Dataset.from_dir`` uses; only the dataset itself needs a database."""
    monkeypatch.setenv("FIFTYONE_DISABLE_SERVICES", "1")
    monkeypatch.setenv("FIFTYONE_DO_NOT_TRACK", "1")
    importers = foreign_module("fiftyone.utils.data.importers", "it pins the libraries that the service needs")
    named.export("fiftyone", tmp_path / "out")
    with importers.FiftyOneImageClassificationDatasetImporter(str(tmp_path / "out")) as importer:
        found = [(Path(path).stem, label.label, label.confidence, label.source) for path, _, label in importer]
    expected = [(file.stem, label, target) for file, label, target in read_fiftyone(tmp_path / "out")]
    assert sorted(found) == sorted((n, c, t["confidence"], t["attributes"]["source"]) for n, c, t in expected)


def test_files_of_the_same_name_and_odd_names(workspace, tmp_path, world):
    source = Path(world[1])
    for folder, name in (("a", "x.png"), ("b", "X.PNG"), ("c", "x.jpg"), ("d", "no suffix"), ("e", b"\xff.png")):
        (tmp_path / folder).mkdir()
        number = ord(folder) - 97
        target = tmp_path / folder / (name if isinstance(name, str) else name.decode("utf-8", "surrogateescape"))
        target.write_bytes((source / f"red{100 + number}.png").read_bytes() + b"\0" * (1 + number))
    found = list(workspace.recognize([tmp_path / one for one in "abcde"]))
    assert [one.reason for one in found] == [""] * 5
    assert workspace.export("fiftyone", tmp_path / "out") == []
    assert len(list(read_fiftyone(tmp_path / "out"))) == 85
    names = {file.name for file in (tmp_path / "out" / "data").iterdir()}
    assert {"no suffix.png", "\ufffd.png"} <= names
    assert len({name.rpartition(".")[0].casefold() for name in names}) == len(names)
    assert len(b"".join(workspace.formats.export_zip("fiftyone"))) > 0
