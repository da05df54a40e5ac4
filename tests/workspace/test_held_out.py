"""Held-out accuracy, confused classes and suspected labels of a workspace."""

import shutil

import pytest
from sqlalchemy import select

from opengcd import Workspace
from opengcd.workspace.schema import held_out
from tests.helpers.older_schemas import WITHOUT_REVIEWERS
from tests.helpers.pictures import KNOWN, RECOGNIZER, paint
from tests.helpers.reviewing import novel

WRONG = {"red": "green", "white": "black"}
"""Classes of which one image is in the folder of another one."""


@pytest.fixture(scope="module")
def mislabelled(tmp_path_factory):
    """A workspace that was taught two wrong labels; tests copy it."""
    folder = tmp_path_factory.mktemp("mislabelled")
    for colour in KNOWN:
        paint(folder / "known" / colour, colour, range(8))
    for true, given in WRONG.items():
        paint(folder / "known" / given, true, [50])
    with Workspace.create(folder / "workspace", "pixels", recognizer=RECOGNIZER) as workspace:
        workspace.fit(folder / "known")
    return folder


@pytest.fixture
def doubtful(mislabelled, tmp_path):
    shutil.copytree(mislabelled / "workspace", tmp_path / "copy")
    with Workspace(tmp_path / "copy", who="ann") as workspace:
        workspace.wrong = {workspace.views.find(mislabelled / "known" / given / f"{true}50.png"): (given, true)
                           for true, given in WRONG.items()}  # fmt: skip
        yield workspace


def test_wrong_labels_are_suspected_with_the_right_suggestion(doubtful):
    found = doubtful.held_out.suspects()
    assert found.measured
    assert found.total == len(found.suspects)
    assert {one.item: (one.label, one.suggested) for one in found.suspects} == doubtful.wrong
    for one in found.suspects:
        assert one.rival > one.own
        assert {doubtful.views.item(item).labelled.label for item in one.like_label} == {one.label}
        assert {doubtful.views.item(item).labelled.label for item in one.like_suggested} == {one.suggested}
        assert one.item not in one.like_label
    assert [doubtful.held_out.suspects(1, offset).suspects for offset in (0, 1)] == [[one] for one in found.suspects]


def test_a_judged_image_is_never_asked_about_again_unless_that_is_undone(doubtful):
    first, second = doubtful.wrong
    doubtful.relabel([first], doubtful.wrong[first][1])
    doubtful.keep_label([second])
    assert doubtful.held_out.suspects().total == 0
    version = doubtful.learn()
    found = doubtful.held_out.suspects()
    assert (found.measured, found.total, version.id) == (True, 0, 2)
    doubtful.undo()
    doubtful.undo()
    assert [one.item for one in doubtful.held_out.suspects().suspects] == [second]


def test_the_report_counts_every_held_out_image_once(doubtful):
    report = doubtful.held_out.report()
    assert (report.version, report.previous, report.images, report.trained) == (1, None, 34, False)
    assert [(one.label, one.images, one.right) for one in report.classes] == [
        ("black", 9, 8), ("green", 9, 8), ("red", 8, 8), ("white", 8, 8),
    ]  # fmt: skip
    assert [pair[:3] for pair in report.pairs] == [("black", "white", 1), ("green", "red", 1)]
    assert report.accuracy == 32 / 34
    by_pair = {wanted: item for item, wanted in doubtful.wrong.items()}
    assert doubtful.held_out.cell("green", "red") == [by_pair["green", "red"]]
    assert len(doubtful.held_out.cell("red", "red")) == 8
    assert doubtful.held_out.cell("red", "white") == []


def test_a_version_is_compared_with_the_one_before(doubtful):
    for item, (_, true) in doubtful.wrong.items():
        doubtful.relabel([item], true)
    doubtful.rename_class("red", "scarlet")
    doubtful.learn()
    report = doubtful.held_out.report()
    assert (report.version, report.previous, report.accuracy, report.accuracy_before) == (2, 1, 1.0, 32 / 34)
    assert {one.label: (one.accuracy, one.before) for one in report.classes} == {
        "black": (1, 8 / 9), "green": (1, 8 / 9), "scarlet": (1, 1), "white": (1, 1),
    }  # fmt: skip
    assert report.pairs == []
    assert doubtful.held_out.report(1).pairs[1][:2] == ("green", "scarlet")
    assert doubtful.held_out.accuracies() == pytest.approx({1: 32 / 34, 2: 1.0})
    assert doubtful.held_out.cell("green", "scarlet") == []
    assert len(doubtful.held_out.cell("green", "scarlet", 1)) == 1


def test_near_copies_with_different_labels_are_suspects(workspace, tmp_path):
    blue = novel(workspace)["blue"].items
    (file,) = paint(tmp_path / "a", "blue", [700])
    # The same picture in another file format: the same pixels, but not the same content.
    from PIL import Image

    Image.open(file).save(tmp_path / "a" / "copy.bmp")
    workspace.teach_items(dict.fromkeys(blue, "blue"))
    (tmp_path / "more" / "blue").mkdir(parents=True)
    (tmp_path / "more" / "cyan").mkdir()
    file.rename(tmp_path / "more" / "blue" / file.name)
    (tmp_path / "a" / "copy.bmp").rename(tmp_path / "more" / "cyan" / "copy.bmp")
    paint(tmp_path / "more" / "cyan", "cyan", range(700, 706))
    workspace.teach(tmp_path / "more")
    workspace.learn()
    pair = [workspace.views.find(tmp_path / "more" / name) for name in ("blue/blue700.png", "cyan/copy.bmp")]
    found = {one.item: one for one in workspace.held_out.suspects().suspects}
    assert [found[item].copy for item in pair] == pair[::-1]
    assert (found[pair[1]].label, found[pair[1]].suggested) == ("cyan", "blue")


def test_a_version_that_was_not_measured_is_measured_when_asked(doubtful):
    before = doubtful.held_out.suspects()
    with doubtful.store.database.writing() as connection:
        rows = connection.execute(select(held_out)).all()
        connection.execute(held_out.delete())
    assert doubtful.held_out.suspects()[1:] == (False, 0, [])
    assert doubtful.held_out.report() is None
    stages = set()
    doubtful.held_out.measure(progress=lambda stage, *_: stages.add(stage))
    assert doubtful.held_out.suspects() == before
    with doubtful.store.database.reading() as connection:
        assert connection.execute(select(held_out)).all() == rows
    assert "judging held-out images" in stages


def test_a_workspace_of_the_schema_before_gets_the_new_tables(doubtful):
    before = doubtful.views.labels()
    with doubtful.store.database.writing() as connection:
        for statement in WITHOUT_REVIEWERS:
            connection.exec_driver_sql(statement)
        for table in ("held_out", "class_names", "corrections"):
            connection.exec_driver_sql(f"DROP TABLE {table}")
        connection.exec_driver_sql("UPDATE meta SET value = '7' WHERE key = 'schema'")
    with Workspace(doubtful.path) as migrated:
        assert migrated.views.labels() == before
        assert migrated.held_out.report() is None
        migrated.held_out.measure()
        assert migrated.held_out.suspects().total == 2
        migrated.rename_class("red", "scarlet")
        assert "scarlet" in migrated.status().version.classes
        assert migrated.check() == []
