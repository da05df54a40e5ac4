"""Known classes are renamed and merged, and labels of learnt images corrected: everywhere, and with a way back."""

import pytest

from opengcd.workspace import ConflictError, WorkspaceError
from tests.helpers.counting import check
from tests.helpers.pictures import paint
from tests.helpers.reviewing import labels, novel

OLD, NEW = "red", "scarlet"


@pytest.fixture
def learnt(workspace):
    """A second version, which has learnt a new class."""
    workspace.name(novel(workspace)["blue"].id, "sky", confirm=True)
    workspace.learn()
    return workspace


def of(workspace, label):
    """The images that have been learnt under a label."""
    return [one.item for one in workspace.views.labels() if (one.label, one.source) == (label, "learnt")]


def everything(workspace):
    """All that shows the names of classes."""
    found = workspace.views.labels()
    return {
        "versions": [version.classes for version in workspace.models.versions()],
        "labels": [(one.label, one.source) for one in found],
        "top": [name for one in found for name, _ in one.top],
        "exemplars": sorted(workspace.exemplars.by_class()),
        "learnt": sorted(workspace.views.learnt()),
        "export": [workspace.formats.export_bytes(format) for format in ("csv", "json", "coco")],
        "groups": [group.label for group in workspace.groups()],
        "neighbours": [one.label for one in workspace.similarity.neighbours(1)],
    }


def test_a_new_name_holds_everywhere_and_in_every_version(learnt, tmp_path):
    workspace = learnt
    item = next(one.item for one in workspace.views.labels() if one.label == "green" and one.source == "recognized")
    workspace.teach_items({item: OLD})  # a group of the known class
    before = everything(workspace)
    workspace.rename_class(OLD, NEW)
    after = everything(workspace)
    assert OLD in str(before)
    text = str(after["export"]).replace("/red", "").replace("red0", "")  # paths of files stay
    assert str(after | {"export": ""}).count(f"'{OLD}'") == 0
    assert f'"label": "{OLD}"' not in text
    swapped = {key: [NEW if one == OLD else one for one in before[key]] for key in ("top", "groups", "neighbours")}
    assert {key: after[key] for key in swapped} == swapped
    assert after["versions"] == [[NEW if one == OLD else one for one in classes] for classes in before["versions"]]
    (result,) = workspace.recognize(paint(tmp_path / "new", "red", [900]))
    assert (result.label, result.top[0][0]) == (NEW, NEW)
    workspace.rollback(1)
    assert NEW in workspace.status().version.classes
    assert len(of(workspace, NEW)) == 8
    workspace.undo()
    workspace.undo()
    assert everything(workspace) | {"labels": 0, "top": 0, "export": 0} == before | {"labels": 0, "top": 0, "export": 0}
    workspace.redo()
    check(workspace)


def test_later_versions_learn_under_the_new_name(workspace):
    workspace.rename_class(OLD, NEW)
    blue, yellow = novel(workspace)["blue"], novel(workspace)["yellow"]
    workspace.name(blue.id, NEW)  # joins the known class
    assert next(group for group in workspace.groups() if group.label == NEW).kind == "known"
    workspace.undo()
    workspace.name(blue.id, OLD, confirm=True)  # the old name is free for a new class
    workspace.name(yellow.id, "sun", confirm=True)
    assert sorted(workspace.learn().classes) == sorted(["green", "black", "white", NEW, OLD, "sun"])
    assert len(of(workspace, NEW)) == 8
    assert set(of(workspace, OLD)) == set(blue.items)
    workspace.rename_class(OLD, "blue")
    workspace.rename_class(NEW, OLD)  # names can be exchanged
    assert len(of(workspace, OLD)) == 8
    assert set(of(workspace, "blue")) == set(blue.items)
    # Each version keeps its own classes apart, whatever is undone.
    for _ in range(3):
        workspace.undo()
    assert len(of(workspace, NEW)) == 8
    workspace.rollback(2)
    assert len(set(workspace.status().version.classes)) == 6
    assert workspace.check() == []


def test_a_confirmed_class_with_the_old_name_of_another_one_is_an_example(workspace):
    workspace.rename_class(OLD, NEW)
    blue = novel(workspace)["blue"]
    workspace.name(blue.id, OLD, confirm=True)
    workspace.discover(k=6)
    kept = next(group for group in workspace.groups() if group.id == blue.id)
    assert (kept.label, kept.items) == (OLD, blue.items)
    assert labels(workspace)[workspace.views.paths(1)[0]][0] in {NEW, "green", "black", "white"}


def test_names_that_are_taken_are_refused(learnt):
    workspace = learnt
    workspace.name(novel(workspace)["yellow"].id, "sun")
    edits = workspace.history()
    for new, message in (
        ("green", "merge_classes"), ("sun", "is named 'sun'"), ("unknown", "cannot be named"), ("", "cannot be named"),
    ):  # fmt: skip
        with pytest.raises(WorkspaceError, match=message):
            workspace.rename_class(OLD, new)
    with pytest.raises(WorkspaceError, match="no known class named 'rde'"):
        workspace.rename_class("rde", "x")
    workspace.rollback(1)
    with pytest.raises(WorkspaceError, match="or in another one"):  # version 2 knows it
        workspace.rename_class(OLD, "sky")
    assert workspace.history()[1:] == edits
    assert workspace.rename_class(OLD, OLD).groups == []


def test_someone_was_faster(learnt):
    workspace, seen = learnt, learnt.review.last_edit()
    item = of(workspace, OLD)[0]
    workspace.by("bob").rename_class("green", "lime")
    with pytest.raises(ConflictError, match="bob"):
        workspace.rename_class(OLD, NEW, on=seen)
    with pytest.raises(ConflictError, match="bob"):
        workspace.merge_classes(OLD, "white", on=seen)
    workspace.relabel([item], "white", on=seen)  # that is about other things
    workspace.by("bob").keep_label([item])
    with pytest.raises(ConflictError, match="bob"):
        workspace.discard([item], on=workspace.review.last_edit() - 1)


def test_a_merge_of_classes_shows_at_once_and_is_learnt_next(learnt, tmp_path):
    workspace = learnt
    red, green = of(workspace, OLD), of(workspace, "green")
    before = labels(workspace)
    workspace.merge_classes(OLD, "green")
    assert {workspace.views.item(item).labelled[5:7] for item in red} == {("green", "reviewed")}
    assert workspace.views.corrected() == {"green": len(red)}
    assert OLD in workspace.status().version.classes  # until it is learnt
    workspace.undo()
    assert labels(workspace) == before
    workspace.redo()
    version = workspace.learn()
    assert sorted(version.classes) == ["black", "green", "sky", "white"]
    assert set(of(workspace, "green")) == {*red, *green}
    assert workspace.views.corrected() == {}
    results = list(workspace.recognize(paint(tmp_path / "new", "red", [900]) + paint(tmp_path / "new", "green", [900])))
    assert [result.label for result in results] == ["green", "green"]
    check(workspace)
    workspace.rollback(2)  # the person's word stands; the older version has yet to learn it
    assert workspace.views.corrected() == {"green": len(red)}
    workspace.undo()
    workspace.undo()
    workspace.undo()
    assert labels(workspace)[workspace.views.paths(red[0])[0]] == (OLD, "learnt")


def test_a_merge_moves_what_was_put_into_the_class_and_confirms_nothing(workspace):
    blue = novel(workspace)["blue"].items
    workspace.move(blue[:3], OLD)
    workspace.move(blue[3:5], "green")
    red = next(group.id for group in workspace.groups() if group.label == OLD)
    workspace.keep(red)
    workspace.confirm(red)
    taken = workspace.views.learnable().total()
    workspace.merge_classes(OLD, "green")
    assert workspace.views.learnable() == {"green": taken}
    with pytest.raises(WorkspaceError, match="into itself"):
        workspace.merge_classes("green", "green")


def test_corrected_labels_are_learnt_and_stay_after_a_rollback(learnt):
    workspace = learnt
    first, second, third = of(workspace, OLD)[:3]
    workspace.relabel([first], "green")
    workspace.discard([second])
    workspace.keep_label([third])
    sources = [workspace.views.item(item).labelled[5:7] for item in (first, second, third)]
    assert sources == [("green", "reviewed"), ("unknown", "removed"), (OLD, "learnt")]
    assert workspace.views.corrected() == {"green": 1, None: 1}
    check(workspace)
    details = workspace.learn() and workspace.history()[0].details
    assert (details["images"], details["corrected"]) == (1, 2)
    assert first in workspace.exemplars.by_class()["green"]
    assert not {first, second} & set(workspace.exemplars.by_class()[OLD])
    assert workspace.views.corrected() == {}
    sources = [workspace.views.item(item).labelled[5:7] for item in (first, second)]
    assert sources == [("green", "learnt"), ("unknown", "removed")]
    check(workspace)
    workspace.discover(k=6)  # a discarded image is not discovered
    assert workspace.views.item(second).group is None
    workspace.relabel([second], OLD)  # and can be learnt again
    workspace.learn()
    assert second in workspace.exemplars.by_class()[OLD]
    workspace.rollback(1)
    assert workspace.views.corrected() == {"green": 1}
    check(workspace)


def test_only_learnt_images_are_corrected_here(workspace):
    item = workspace.groups()[0].items[0]
    for act in (lambda: workspace.relabel([1, item], OLD), lambda: workspace.discard([item])):
        with pytest.raises(WorkspaceError, match=f"Image {item} is not one that the recogniser has learnt"):
            act()
    assert workspace.views.corrected() == {}


def test_all_but_one_class_cannot_be_forgotten(workspace):
    every = {label: of(workspace, label) for label in (OLD, "green", "black", "white")}
    workspace.discard([item for label in (OLD, "green", "black") for item in every[label]])
    with pytest.raises(ValueError, match="Only 1 class would be left"):
        workspace.learn()
    assert len(workspace.models.versions()) == 1
