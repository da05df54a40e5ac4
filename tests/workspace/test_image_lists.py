"""Lists of images with labels; each is read as a whole before any image is."""

import csv
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opengcd import Workspace
from opengcd.workspace import WorkspaceError
from opengcd.workspace.image_lists import find_images, read_known
from tests.helpers.pictures import KNOWN, RECOGNIZER, paint


@pytest.fixture
def images(tmp_path):
    """Two pictures of red and two of green, in one folder."""
    folder = tmp_path / "data" / "images"
    return {colour: paint(folder, colour, range(2)) for colour in ("red", "green")}


def as_csv(folder, rows, header="file,label"):
    file = folder / "list.csv"
    file.write_text("\n".join([header, *(f"images/{path.name},{label}" for path, label in rows)]) + "\n", "utf-8-sig")
    return file


def as_json_lines(folder, rows):
    file = folder / "list.jsonl"
    lines = [json.dumps({"label": label, "file_name": f"images/{path.name}"}) for path, label in rows]
    file.write_text("\n".join(lines))
    return file


def as_coco(folder, rows):
    names = sorted({label for _, label in rows})
    document = {
        "images": [{"id": i, "file_name": f"images/{path.name}"} for i, (path, _) in enumerate(rows)],
        "categories": [{"id": 7 + i, "name": name} for i, name in enumerate(names)],
        "annotations": [{"id": i, "image_id": i, "category_id": 7 + names.index(c)} for i, (_, c) in enumerate(rows)],
    }
    (folder / "coco.json").write_text(json.dumps(document))
    return folder / "coco.json"


def as_imagefolder(folder, rows):
    paths = as_json_lines(folder, rows)
    paths.rename(folder / "metadata.jsonl")
    return folder


def as_yolo(folder, rows):
    for side in ("train", "val"):
        for path, label in rows[side == "val" :: 2]:
            (folder / "yolo" / side / label).mkdir(parents=True, exist_ok=True)
            (folder / "yolo" / side / label / path.name).symlink_to(path)
    return folder / "yolo"


FORMS = [as_csv, as_json_lines, as_coco, as_imagefolder, as_yolo]


def found(known):
    classes, bad = read_known(known)
    assert bad == []
    return {label: sorted(file.path.rpartition("/")[2] for file in files) for label, files in classes.items()}


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_say_the_same(images, tmp_path, form):
    rows = [(path, colour) for colour, paths in images.items() for path in paths]
    known = form(tmp_path / "data", rows)
    assert found(known) == {"red": ["red0.png", "red1.png"], "green": ["green0.png", "green1.png"]}
    assert all(not file.reason for files in read_known(known).classes.values() for file in files)


@pytest.mark.parametrize("form", FORMS)
def test_a_workspace_learns_from_a_list(tmp_path, form):
    rows = [(path, colour) for colour in KNOWN for path in paint(tmp_path / "images", colour, range(6))]
    known = form(tmp_path, rows)
    with Workspace.create(tmp_path / "workspace", "pixels", recognizer=RECOGNIZER) as workspace:
        assert workspace.fit(known) == []
        assert workspace.status().version.classes == sorted(KNOWN)
        assert workspace.status().counts["learnt"] == 24


def test_what_is_exported_can_be_learnt_from(workspace, tmp_path):
    learnt = {one.hash: one.label for one in workspace.views.labels() if one.source == "learnt"}
    assert len(learnt) == 32
    for format in ("csv", "json", "coco", "imagefolder", "yolo", "folders", "fiftyone"):
        out = tmp_path / f"{format}{ {'csv': '.csv', 'json': '.json', 'coco': '.json'}.get(format, '') }"
        workspace.export(format, out, images="reviewed")
        assert {label: len(files) for label, files in read_known(out).classes.items()} == dict.fromkeys(KNOWN, 8)
        with Workspace.create(tmp_path / f"from {format}", "pixels", recognizer=RECOGNIZER) as again:
            assert again.fit(out) == []
            assert {one.hash: one.label for one in again.views.labels()} == learnt


def test_a_dataset_of_fiftyone_is_read(tmp_path):
    """Of which an image is in a folder, one has no label, and one is missing."""
    data = tmp_path / "set" / "data"
    paint(data, "red", range(2))
    paint(data / "more", "green", range(2))
    labels = {"red0": 0, "red1": {"label": 0, "confidence": 0.5}, "more/green0": 1, "more/green1": None, "gone": 1}
    (data.parent / "labels.json").write_text(json.dumps({"classes": ["red", "green"], "labels": labels}))
    for source in (data.parent, data.parent / "labels.json"):
        classes, bad = read_known(source)
        assert {label: [file.path for file in files] for label, files in classes.items()} == {
            "red": [str(data / "red0.png"), str(data / "red1.png")],
            "green": [str(data / "more" / "green0.png"), str(data / "gone")],
        }
        assert classes["green"][1].reason.startswith("it cannot be read")
        assert bad == [(str(data / "more" / "green1.png"), "the list gives it no label")]


def test_missing_files_and_files_without_a_label_are_listed(images, tmp_path):
    rows = [(path, colour) for colour, paths in images.items() for path in paths]
    gone = tmp_path / "data" / "images" / "gone.png"
    known = as_csv(tmp_path / "data", [*rows, (gone, "red"), (rows[0][0].with_name("red9.png"), "")])
    with Workspace.create(tmp_path / "workspace", "pixels", recognizer=RECOGNIZER) as workspace:
        assert workspace.fit(known) == [
            (str(gone.with_name("red9.png")), "the list gives it no label"),
            (str(gone), "it cannot be read: No such file or directory"),
        ]
        assert workspace.status().counts["learnt"] == 4


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.csv", "", "there is no 'file'"),
        ("a.csv", "file,label\n", "lists no images"),
        (
            "a.csv",
            "title,label\na.png,red\n",
            "row 2: there is no 'file'; a list of images has",
        ),
        ("a.csv", "file,colour\na.png,red\n", "there is no 'label'"),
        ("a.csv", "file,label\na.png\n", "row 2: it has 1 cells, and the first line 2"),
        ("a.csv", 'file,label\n"a.png,red\n', "is not CSV"),
        ("a.csv", "file,label\n,red\n", "file is not the path of a file"),
        ("a.csv", "file,label\na.png,red\n./a.png,green\n", "row 3: .*listed with the labels red and green; keep one"),
        ("a.csv", "file,label\na.png,red\nb.png,red\n", "at least two classes"),
        ("a.csv", "file,label\na.png,a\tb\nb.png,red\n", "row 2: .*without invisible characters"),
        ("a.jsonl", "[1]\n", "line 1: it is not a JSON object"),
        ("a.jsonl", "{\n", "line 1: it is not JSON"),
        ("a.jsonl", '{"file": 3, "label": "a"}', "not the path of a file"),
        ("a.jsonl", '{"file": "a", "label": [1]}', "neither text nor a number"),
        ("a.json", "[]", "is not a dataset in COCO's format"),
        ("a.json", '{"images": [], "categories": []}', "is not a dataset in COCO's format"),
        ("a.json", "[" * 100_000, "it is not JSON"),
        ("a.json", '[{"label": "red"}]', "image 1: it is not an export of OpenGCD"),
        ("a.json", '{"classes": ["red"], "labels": {"a": 7}}', "is not a dataset of FiftyOne"),
        ("a.json", '{"classes": ["red"], "labels": [0]}', "is not a dataset of FiftyOne"),
        ("a.json", '{"resources": [{"name": "media"}]}', "is not a package of Camtrap DP"),
        ("a.json", '{"resources": [{"name": "media", "path": "../b.csv"}]}', "which is not in its folder"),
        ("a.txt", "a.png red\n", "is neither a folder nor a list"),
        ("b.csv", None, "There is no folder"),
    ],
)
def test_lists_that_cannot_be_used_change_nothing(tmp_path, name, text, told):
    if text is not None:
        (tmp_path / name).write_text(text)
    paint(tmp_path, "red", [0])[0].rename(tmp_path / "a.png")
    with Workspace.create(tmp_path / "workspace", "pixels", recognizer=RECOGNIZER) as workspace:
        with pytest.raises(WorkspaceError, match=told):
            workspace.fit(tmp_path / name)
        assert workspace.status().version is None
        assert sum(workspace.status().counts.values()) == 0


def test_bytes_that_are_not_text(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"file,label\n\xff,red\n")
    with pytest.raises(WorkspaceError, match="not text in UTF-8"):
        read_known(tmp_path / "a.csv")


def test_an_image_with_boxes_of_several_classes_is_refused(images, tmp_path):
    rows = [(path, colour) for colour, paths in images.items() for path in paths]
    file = as_coco(tmp_path / "data", rows)
    document = json.loads(file.read_text())
    for category, told in ((8, r"red0.png has boxes of several classes \(green, red\)"), (7, "")):
        document["annotations"][4:] = [{"id": 9, "image_id": 0, "category_id": category}]
        document["annotations"][0]["category_id"] = 8 if told == "" else 7
        file.write_text(json.dumps(document))
        with pytest.raises(WorkspaceError, match="several classes"):
            read_known(file)
    document["annotations"][4:] = [{"id": 9, "image_id": 99, "category_id": 7}]
    file.write_text(json.dumps(document))
    with pytest.raises(WorkspaceError, match="annotations are about image 99, which is not in the list"):
        read_known(file)


def test_classes_may_be_called_like_splits(tmp_path):
    for folder in ("train", "test"):
        paint(tmp_path / "known" / folder, "red", [1])
    assert set(read_known(tmp_path / "known").classes) == {"train", "test"}
    for folder in ("train", "bus"):
        paint(tmp_path / "vehicles" / folder / "2024", "red", [1])
    assert set(read_known(tmp_path / "vehicles").classes) == {"train", "bus"}


def test_lists_are_recognised_without_labels(workspace, images, tmp_path):
    rows = [(path, "") for paths in images.values() for path in paths]
    known = as_csv(tmp_path / "data", rows)
    (tmp_path / "data" / "files.csv").write_text("file\nimages/red0.png\nimages/gone.png\n")
    found = list(workspace.recognize([known, tmp_path / "data" / "files.csv"]))
    assert sorted(one.label for one in found if not one.reason) == ["green", "green", "red", "red"]
    assert [one.path.rpartition("/")[2] for one in found if one.reason] == ["gone.png"]
    (tmp_path / "bad.csv").write_text("x\ny\n")
    with pytest.raises(WorkspaceError, match="no 'file'"):
        list(workspace.recognize([tmp_path / "bad.csv"]))


NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1)


@given(st.dictionaries(NAMES.map(lambda name: f"x{name}"), st.sampled_from(["red", "green"]), min_size=1))
def test_any_name_survives_a_csv_file(tmp_path_factory, labels):
    file = tmp_path_factory.mktemp("names") / "list.csv"
    with open(file, "w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerows([("file", "label"), *labels.items(), ("last", "red"), ("other", "green")])
    found = {f.path: label for label, files in read_known(file).classes.items() for f in files}
    expected = {str(file.parent / name): label for name, label in labels.items()}
    assert expected.items() <= found.items()
    assert {one.path for one in find_images([file])} == set(found)
