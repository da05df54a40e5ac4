"""Teaching: labelled images join the workspace at any time; nothing that a person has said is overwritten unasked."""

import pytest

from opengcd import Workspace
from opengcd.workspace import LabelConflict, WorkspaceError
from tests.helpers.counting import check
from tests.helpers.pictures import RECOGNIZER, paint
from tests.helpers.reviewing import labels, novel


def reviewed(workspace):
    """How many images learn would take, by class."""
    return dict(workspace.views.learnable())


def test_images_of_known_and_new_classes_are_taught_in_one_edit_and_learnt(workspace, tmp_path):
    paint(tmp_path / "more" / "red", "red", range(500, 503))
    paint(tmp_path / "more" / "orange", "orange", range(500, 506))
    before, edits = labels(workspace), len(workspace.history())
    done = workspace.teach(tmp_path / "more")
    assert (done.images, done.classes, done.already, done.conflicts, done.bad) == (
        9, {"orange": 6, "red": 3}, 0, [], []
    )  # fmt: skip
    assert reviewed(workspace) == {"orange": 6, "red": 3}
    assert [entry.verb for entry in workspace.history()][: len(workspace.history()) - edits] == ["teach"]
    now = labels(workspace)
    assert {path: now[path] for path in before} == before
    assert {now[path] for path in now.keys() - before.keys()} == {("red", "reviewed"), ("orange", "reviewed")}
    assert workspace.undo().entry.verb == "teach"
    assert reviewed(workspace) == {}
    workspace.redo()
    version = workspace.learn()
    assert "orange" in version.classes
    assert workspace.status().counts["learnt"] == 32 + 9
    (result,) = workspace.recognize(paint(tmp_path / "new", "orange", [900]))
    assert result.label == "orange"
    check(workspace)


def test_teaching_again_changes_nothing(workspace, tmp_path):
    paint(tmp_path / "more" / "orange", "orange", range(500, 504))
    workspace.teach(tmp_path / "more")
    edits = workspace.history()
    again = workspace.teach(tmp_path / "more")
    assert (again.images, again.already, workspace.history()) == (0, 4, edits)
    workspace.learn()
    assert workspace.teach(tmp_path / "more").already == 4
    assert reviewed(workspace) == {}


def test_images_of_the_stream_get_the_label_by_their_content(workspace, world, tmp_path):
    blue = novel(workspace)["blue"]
    paint(tmp_path / "copies" / "sky", "blue", range(100, 103))  # other files with the content of the stream's
    items = len(workspace.views.labels())
    assert workspace.teach(tmp_path / "copies").images == 3
    assert len(workspace.views.labels()) == items
    assert reviewed(workspace) == {"sky": 3}
    rest = next(group for group in workspace.groups() if group.id == blue.id)
    assert len(rest) == len(blue) - 3
    assert not rest.named


def test_what_a_person_said_is_listed_and_kept_unless_it_is_to_be_replaced(workspace, world, tmp_path):
    blue, yellow = novel(workspace)["blue"], novel(workspace)["yellow"]
    workspace.name(blue.id, "sky", confirm=True)
    workspace.remove(yellow.items[:1])
    known = workspace.views.find(world[0] / "red" / "red0.png")
    wrong = {known: "green", blue.items[0]: "sea", yellow.items[0]: "sun", yellow.items[1]: "sun"}
    before = labels(workspace)
    done = workspace.teach_items(wrong)
    assert done.conflicts == [
        LabelConflict(known, "", "red", "green"),
        LabelConflict(blue.items[0], "", "sky", "sea"),
        LabelConflict(yellow.items[0], "", "", "sun"),
    ]
    assert (done.images, done.replaced) == (1, 0)
    changed = {path for path, label in labels(workspace).items() if label != before[path]}
    assert changed == set(workspace.views.paths(yellow.items[1]))
    replaced = workspace.teach_items(wrong, replace=True)
    assert (replaced.images, replaced.replaced, replaced.already, replaced.conflicts) == (3, 3, 1, [])
    assert [workspace.views.item(item).labelled.label for item in wrong] == ["green", "sea", "sun", "sun"]
    assert workspace.status().counts["reviewed"] == 4 + len(blue) - 1
    check(workspace)
    workspace.undo()
    workspace.undo()
    assert labels(workspace) == before


def test_images_that_nobody_confirmed_are_not_learnt_with_the_taught_ones(workspace, tmp_path):
    blue = novel(workspace)["blue"]
    workspace.name(blue.id, "sky")
    paint(tmp_path / "more" / "sky", "blue", [100, *range(500, 503)])  # the first is in the group
    assert workspace.teach(tmp_path / "more").images == 4
    assert reviewed(workspace) == {"sky": 4}
    left = next(group for group in workspace.groups() if group.id == blue.id)
    assert (left.label, left.named, len(left)) == ("more of sky", False, len(blue) - 1)
    workspace.undo()
    assert next(group for group in workspace.groups() if group.id == blue.id).label == "sky"


def test_a_table_of_labels(workspace, tmp_path):
    files = paint(tmp_path / "pictures", "orange", range(500, 504))
    table = tmp_path / "labels.csv"
    rows = [
        f"{file.name},{label},seen" for file, label in zip(files, ["orange", "orange", "pink", "pink"], strict=True)
    ]
    table.write_text("\n".join(["file,label,note", *rows, f"{files[0].name},red,", "gone.png,red,"]))
    done = workspace.teach(tmp_path / "pictures", table)
    assert done.classes == {"orange": 1, "pink": 2}
    assert [reason for _, reason in sorted(done.bad)] == [
        "it cannot be read: No such file or directory",
        "it is listed with the labels orange and red",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("title,label\n", "there is no 'file'"),
        ("file,label\na.png,a\x1bb\n", "row 2: .*without invisible characters"),
        ("file,label\na.png\n", "row 2: it has 1 cells, and the first line 2"),
        (None, "labels.csv cannot be read: No such file"),
    ],
)
def test_a_table_that_cannot_be_used(workspace, tmp_path, content, message):
    if content is not None:
        (tmp_path / "labels.csv").write_text(content)
    edits = workspace.history()
    with pytest.raises(WorkspaceError, match=message):
        workspace.teach(tmp_path, tmp_path / "labels.csv")
    assert workspace.history() == edits


def test_a_list_is_taught_as_it_is_learnt(workspace, tmp_path):
    """Also with semicolons; its paths are relative to itself; notes among the images are passed over."""
    files = paint(tmp_path / "pictures", "orange", range(500, 502))
    table = tmp_path / "labels.csv"
    table.write_text(f"Label;File\norange;pictures/{files[0].name}\n;pictures/{files[1].name}\n", "utf-8-sig")
    done = workspace.teach(table)
    assert (done.classes, done.bad) == ({"orange": 1}, [(str(files[1]), "the list gives it no label")])
    paint(tmp_path / "more" / "train" / "pink", "pink", [500])
    (tmp_path / "more" / "train" / "notes.txt").write_text("x")
    done = workspace.teach(tmp_path / "more")
    assert (done.classes, done.bad) == ({"pink": 1}, [])


def test_one_image_under_two_labels_is_taught_under_none(workspace, tmp_path):
    paint(tmp_path / "more" / "orange", "orange", [500, 501])
    paint(tmp_path / "more" / "pink", "orange", [500])
    done = workspace.teach(tmp_path / "more")
    assert done.classes == {"orange": 1}
    assert {reason for _, reason in done.bad} == {"the same image has the labels orange, pink"}
    assert len(done.bad) == 2


def test_it_is_all_or_nothing_and_goes_on_after_an_interruption(workspace, tmp_path, monkeypatch):
    paint(tmp_path / "more" / "orange", "orange", range(500, 504))
    paint(tmp_path / "more" / "red", "red", range(500, 502))
    groups, edits = workspace.groups(), workspace.history()

    def interrupt(stage, done, total):
        if stage == "storing the labels":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workspace.teach(tmp_path / "more", progress=interrupt)
    assert (workspace.groups(), workspace.history()) == (groups, edits)

    def fail(*_):
        raise RuntimeError

    orange = [workspace.views.find(file) for file in sorted((tmp_path / "more" / "orange").iterdir())]
    with pytest.raises(RuntimeError):
        workspace.teach_items(dict.fromkeys(orange, "orange"), record=fail)
    assert (workspace.groups(), workspace.history()) == (groups, edits)
    monkeypatch.setattr("opengcd.workspace.intake.embed_files", fail)  # all are embedded already
    assert workspace.teach(tmp_path / "more").images == 6


def test_nothing_to_teach_is_an_error_that_says_why(workspace, tmp_path):
    with pytest.raises(WorkspaceError, match="There is no folder"):
        workspace.teach(tmp_path / "gone")
    (tmp_path / "more" / "red").mkdir(parents=True)
    (tmp_path / "more" / "red" / "a.png").write_text("no picture")
    with pytest.raises(WorkspaceError, match=r"No image in .*a\.png"):
        workspace.teach(tmp_path / "more")
    with pytest.raises(WorkspaceError, match="There is no item 9999"):
        workspace.teach_items({9999: "red"})
    with pytest.raises(WorkspaceError, match="No image was chosen"):
        workspace.teach_items({})
    with (
        Workspace.create(tmp_path / "empty", "pixels", recognizer=RECOGNIZER) as empty,
        pytest.raises(WorkspaceError, match="has not learnt any class yet"),
    ):
        empty.teach(tmp_path / "more")
