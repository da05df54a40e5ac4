"""Which labelled images are of which class, by folders or by a table."""

import json
import re

import pytest

from opengcd.service.known import find_others, known_from_folders, known_from_table, tables_among
from opengcd.service.sources import read_labelled_files
from opengcd.workspace import WorkspaceError


def write(root, *names):
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x")
    return root


def shown(known, root):
    return {
        label: sorted(file.relative_to(root).as_posix() for file in files) for label, files in known.classes.items()
    }


def test_folders_are_classes(tmp_path):
    root = write(tmp_path, "red/1.png", "red/more/2.png", "blue/1.png", "list.txt", ".hidden/x.png")
    (root / "empty").mkdir()
    known = known_from_folders(root)
    assert shown(known, root) == {"red": ["red/1.png", "red/more/2.png"], "blue": ["blue/1.png"]}
    assert known.notes == ["1 file outside of the folders of the classes: left out.", "Empty: empty; left out."]


def test_a_folder_around_the_folders_is_passed_over(tmp_path):
    root = write(tmp_path, "birds/known/red/1.png", "birds/known/blue/1.png")
    assert set(known_from_folders(root).classes) == {"red", "blue"}


def test_splits_of_a_dataset_are_taken_together(tmp_path):
    """As YOLO and others store classes; the splits are no classes."""
    root = write(tmp_path, "train/red/1.png", "train/blue/1.png", "val/red/2.png", "val/blue/2.png")
    known = known_from_folders(root)
    assert shown(known, root) == {
        "red": ["train/red/1.png", "val/red/2.png"],
        "blue": ["train/blue/1.png", "val/blue/2.png"],
    }


def test_an_image_folder_has_its_own_labels(tmp_path):
    """As Hugging Face stores it, in one folder or in splits."""
    root = write(tmp_path, "train/1.png", "train/2.png", "test/3.png")
    (root / "train" / "metadata.csv").write_text("file_name,label\n1.png,red\n2.png,blue\n")
    (root / "test" / "metadata.jsonl").write_text(json.dumps({"file_name": "3.png", "label": "red"}))
    known = known_from_folders(root)
    assert shown(known, root) == {"red": ["test/3.png", "train/1.png"], "blue": ["train/2.png"]}


@pytest.mark.parametrize("above", ["", "zip/"])
def test_datasets_of_other_tools_have_their_own_labels(tmp_path, above):
    """FiftyOne and Camtrap DP, also in a folder around them."""
    fiftyone = write(tmp_path / "fiftyone", f"{above}data/1.png", f"{above}data/2.png")
    labels = {"classes": ["red", "blue"], "labels": {"1": 0, "2": {"label": 1}}}
    (fiftyone / above / "labels.json").write_text(json.dumps(labels))
    camtrap = write(tmp_path / "camtrap", f"{above}data/1.png", f"{above}data/2.png")
    resources = [{"name": name, "path": f"{name}.csv"} for name in ("media", "observations")]
    (camtrap / above / "datapackage.json").write_text(json.dumps({"resources": resources}))
    (camtrap / above / "media.csv").write_text("mediaID,filePath\na,data/1.png\nb,data/2.png\n")
    (camtrap / above / "observations.csv").write_text(
        "mediaID,observationType,scientificName\na,animal,red\nb,animal,blue\n"
    )
    for root in (fiftyone, camtrap):
        assert shown(known_from_folders(root), root) == {"red": [f"{above}data/1.png"], "blue": [f"{above}data/2.png"]}


COCO = {
    "images": [{"id": n, "file_name": f"{n}.png"} for n in (1, 2, 3)],
    "categories": [{"id": 7, "name": "red"}, {"id": 8, "name": "blue"}],
    "annotations": [{"image_id": 1, "category_id": 7}, {"image_id": 2, "category_id": 8}],
}
LINES = [
    {"file": "images/1.png", "label": "red"},
    {"file": "images/2.png", "label": "blue"},
    {"file": "images/3.png", "label": ""},
]


@pytest.mark.parametrize(
    ("name", "text"),
    [("coco.json", json.dumps(COCO)), ("list.jsonl", "\n".join(map(json.dumps, LINES)))],
    ids=["COCO", "JSON lines"],
)
def test_lists_give_labels(tmp_path, name, text):
    """Files may lie beside the list or in a folder of their own; one without a label is left out."""
    root = write(tmp_path / "root", "images/1.png", "images/2.png", "images/3.png")
    (root / name).write_text(text)
    known = known_from_table(root, root / name)
    assert shown(known, root) == {"red": ["images/1.png"], "blue": ["images/2.png"]}
    assert known.notes == ["1 file without a label: left out."]
    assert tables_among(find_others(root)) == [root / name]
    with pytest.raises(WorkspaceError, match="None of the files"):
        known_from_table(write(tmp_path / "other", "x.png"), root / name)


@pytest.mark.parametrize(
    ("names", "told"),
    [([], "no folders"), (["1.png"], "no folders"), (["red/1.png", "x.csv"], "only the class .red.")],
)
def test_folders_that_are_no_classes(tmp_path, names, told):
    with pytest.raises(WorkspaceError, match=told):
        read_labelled_files(write(tmp_path, *names), None, inside=True, fewest=2)


def test_one_class_is_enough_where_that_is_asked_for(tmp_path):
    found = read_labelled_files(write(tmp_path, "red/1.png"), None, inside=True, fewest=1)
    assert shown(found, tmp_path) == {"red": ["red/1.png"]}
    (tmp_path / "red" / "1.png").unlink()
    with pytest.raises(WorkspaceError, match="no class with files in it; at least one class is needed"):
        read_labelled_files(tmp_path, None, inside=True, fewest=1)


@pytest.mark.parametrize(
    "table",
    [
        "file,label\na/1.png,red\na/2.png,blue\n",
        "﻿Label;Image\r\nred;a/1.png\r\n\r\nblue;2.png\r\n",
        "path\tclass\n1.png\tred\na\\2.png\tblue",
    ],
    ids=["comma", "semicolon", "tab"],
)
def test_a_table_gives_labels(tmp_path, table):
    root = write(tmp_path, "a/1.png", "a/2.png", "a/3.png")
    (root / "labels.csv").write_text(table, encoding="utf-8")
    known = known_from_table(root, root / "labels.csv")
    assert shown(known, root) == {"red": ["a/1.png"], "blue": ["a/2.png"]}
    assert known.notes == ["1 file without a label: left out."]
    assert tables_among(find_others(root)) == [root / "labels.csv"]


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("", "no 'file'"),
        ("file,label\n", "lists no images"),
        ("file,other\n1.png,red\n", "no 'label'"),
        ("file,label\n1.png,red\n1.png,blue\n", "row 3: '1.png' has the label 'blue', and in a row before it 'red'"),
        ("file,label\n1.png\n", "row 2: it has 1 cells"),
        ("file,label\n1.png,red\n", "labels.csv” has only the class 'red'; at least two"),
        ("file,label\nnone.png,red\n", "for example 'none.png'"),
        ("file,label\n../secret.png,red\n/etc/passwd,blue\n", "None of the files"),
        ("file,label\n1.png,r\x1bed\n", "row 2"),
    ],
)
def test_tables_that_cannot_be_used(tmp_path, table, told):
    root = write(tmp_path / "root", "1.png", "2.png")
    write(tmp_path, "secret.png")
    (root / "labels.csv").write_text(table, encoding="utf-8")
    with pytest.raises(WorkspaceError, match=told):
        read_labelled_files(root, "labels.csv", inside=True, fewest=2)


def test_errors_name_a_file_as_it_was_uploaded(tmp_path):
    write(tmp_path, "lists/labels.csv", "red/1.png")
    (tmp_path / "lists" / "labels.csv").write_text("file,label\n1.png\n", encoding="utf-8")
    with pytest.raises(WorkspaceError, match=r"^lists/labels\.csv, row 2: ") as told:
        read_labelled_files(tmp_path, "lists/labels.csv", inside=True, fewest=1)
    assert str(tmp_path) not in str(told.value)
    with pytest.raises(WorkspaceError, match=re.escape(str(tmp_path))):
        read_labelled_files(tmp_path, "lists/labels.csv", inside=False, fewest=1)


def test_a_table_that_is_no_text(tmp_path):
    (tmp_path / "labels.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(WorkspaceError, match="UTF-8"):
        known_from_table(tmp_path, tmp_path / "labels.csv")
