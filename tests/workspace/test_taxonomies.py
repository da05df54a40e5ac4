"""The deepest sure rank of each image of a workspace."""

import csv
import json
import shutil
from collections import Counter
from unittest.mock import Mock

import pytest
from typer.testing import CliRunner

from opengcd import Workspace
from opengcd.cli import app
from opengcd.taxonomy import NO_TAXONOMY, Taxonomy
from opengcd.workspace import ConflictError, WorkspaceError, taxonomies
from opengcd.workspace.taxonomies import path_of
from tests.helpers.pictures import RECOGNIZER, paint, paint_world, truth

TABLE = "hue,colour\ncoloured,red\ncoloured,green\ngrey,black\ngrey,white\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    known, stream = paint_world(folder)
    with Workspace.create(folder / "w", "pixels", recognizer=RECOGNIZER) as workspace:
        workspace.fit(known)
        list(workspace.recognize([stream]))
        yield workspace


@pytest.fixture
def workspace(made):
    """The same world without a taxonomy."""
    yield made
    made.taxonomies.set(NO_TAXONOMY)


def taxa(workspace):
    """Count the taxa of the images of each colour in the stream."""
    answers = workspace.taxonomies.answers()
    found = Counter()
    for item in range(1, 4 * 8 + 6 * 8 + 1):
        for path in workspace.views.paths(item):
            answer = answers.get(item)
            found[truth(path), answer and answer.taxon.name] += "stream" in path
    return {key: number for key, number in found.items() if number}


def test_known_images_get_their_class_and_new_ones_no_class(workspace):
    workspace.taxonomies.set(Taxonomy.read(TABLE), 0.1)
    found = taxa(workspace)
    for colour in ("red", "green", "black", "white"):
        assert found[colour, colour] == 8
    assert {name for colour, name in found if colour in ("blue", "yellow")} <= {"coloured", "grey", None}


def test_learnt_images_have_their_label_for_sure(workspace):
    workspace.taxonomies.set(Taxonomy.read(TABLE))
    answer = workspace.taxonomies.answers([1])[1]
    assert answer.taxon.path == ("grey", "black") or answer.taxon.path[0] == "coloured"
    assert (answer.probability, answer.taxon.is_class, answer.taxon.rank) == (1.0, True, "colour")


def test_some_items_are_named_as_among_all(workspace, monkeypatch):
    """And no vector of another item is read, however many there are."""
    workspace.taxonomies.set(Taxonomy.read(TABLE), 0.1)
    among_all = workspace.taxonomies.answers()
    read = []
    of_items = workspace.vectors.of_items
    monkeypatch.setattr(workspace.vectors, "of_items", lambda ids, version: read.extend(ids) or of_items(ids, version))
    some = [1, 40, 41, 70, 80]
    assert workspace.taxonomies.answers(some).items() <= among_all.items()
    assert workspace.taxonomies.answers(some).keys() == among_all.keys() & set(some)
    assert read
    assert set(read) <= set(some)


def test_thresholds_that_nobody_waits_for(workspace):
    workspace.taxonomies.set(Taxonomy.read(TABLE), 0.11)
    assert workspace.taxonomies.answers([1, 80], wait=False).keys() == {1}
    workspace.taxonomies.thresholds()
    assert workspace.taxonomies.answers([1, 80], wait=False) == workspace.taxonomies.answers([1, 80])


def test_a_group_that_was_returned_to_a_class_counts_what_is_sure_of_its_images(workspace, monkeypatch):
    """Each image counts by its own name; of new classes nobody knows the ranks."""
    workspace.taxonomies.set(Taxonomy.read(TABLE), 0.1)
    workspace.taxonomies.thresholds()
    before = workspace.review.last_edit()
    workspace.discover(k=4)  # no room for a new class
    found = max(workspace.groups(), key=len)
    assert found.kind == "known"
    kind, own = workspace.taxonomies.of_group(found.id)
    line = ("coloured" if found.label in ("red", "green") else "grey", found.label)
    assert ((kind.name, kind.rank), (own.name, own.rank)) == ((line[0], "hue"), (line[1], "colour"))
    paths = [answer.taxon.path for answer in workspace.taxonomies.answers(found.items).values()]
    assert kind.items == sum(path[0] == line[0] for path in paths)
    assert own.items == paths.count(line)
    monkeypatch.setattr(taxonomies, "MOST_OF_GROUP", len(found) - 1)
    assert workspace.taxonomies.of_group(found.id) is None
    monkeypatch.undo()
    new = workspace.separate(found.items[:2]).group
    assert workspace.taxonomies.of_group(new) is None
    with pytest.raises(WorkspaceError, match="no group 9999"):
        workspace.taxonomies.of_group(9999)
    while workspace.review.last_edit() > before and workspace.review.undo_state().undo.id > before:
        workspace.undo()


def test_without_a_taxonomy_there_are_no_answers(workspace):
    assert workspace.taxonomies.answers() == {}
    assert workspace.taxonomies.missing() == ["black", "green", "red", "white"]
    workspace.taxonomies.set(Taxonomy.read(TABLE))
    assert workspace.taxonomies.missing() == []
    assert workspace.taxonomies.answers() != {}
    workspace.undo()
    assert workspace.taxonomies.answers() == {}
    workspace.redo()
    assert workspace.taxonomies.setting().taxonomy.ranks == ("hue",)


def test_thresholds_are_computed_once(workspace, monkeypatch):
    workspace.taxonomies.set(Taxonomy.read(TABLE))
    first = workspace.taxonomies.thresholds()
    monkeypatch.setattr(taxonomies, "calibrate", Mock(side_effect=AssertionError("computed again")))
    assert workspace.taxonomies.thresholds() == first
    workspace.taxonomies.set(Taxonomy.read(TABLE), 0.2)
    with pytest.raises(AssertionError, match="computed again"):
        workspace.taxonomies.thresholds()


def test_a_share_that_makes_no_sense(workspace):
    for error in (0, 1, -0.1, float("nan")):
        with pytest.raises(WorkspaceError, match="between 0 and 1"):
            workspace.taxonomies.set(Taxonomy.read(TABLE), error)
    assert workspace.taxonomies.setting().taxonomy.lineages == {}


def test_two_people_do_not_overwrite_each_other(workspace):
    seen = workspace.history()[0].id
    workspace.taxonomies.set(Taxonomy.read(TABLE), on=seen)
    with pytest.raises(ConflictError):
        workspace.taxonomies.set(NO_TAXONOMY, on=seen)


def test_the_command(workspace, tmp_path):
    table = tmp_path / "colours.csv"
    table.write_text("\ufeff" + TABLE.replace("grey,white\n", ""), encoding="utf-8")
    run = CliRunner().invoke
    done = run(app, ["taxonomy", str(workspace.path), str(table), "--error", "0.1"])
    assert done.exit_code == 0, done.output
    assert "at most 10.0% wrong names" in done.output
    assert "accepted images: " in done.output
    assert "Without a rank above them: white." in done.output
    assert run(app, ["taxonomy", str(workspace.path), "--remove"]).exit_code == 0
    assert workspace.taxonomies.setting().taxonomy.lineages == {}
    table.write_text("colour\nred\n")
    done = run(app, ["taxonomy", str(workspace.path), str(table)])
    assert done.exit_code == 1
    assert "first line" in done.output


@pytest.mark.parametrize("style", ["table", "csv", "jsonl"])
def test_recognize_prints_the_deepest_sure_rank(made, tmp_path, style):
    """Of images of known and of new classes, recognised for the first time or again."""
    shutil.copytree(made.path, tmp_path / "copy")
    workspace = Workspace(tmp_path / "copy")
    files = [*paint(tmp_path, "red", [300]), *paint(tmp_path, "blue", [300, 301])]
    command = ["recognize", str(workspace.path), *map(str, files), "--format", style]
    bare = CliRunner().invoke(app, command).stdout
    assert "coloured" not in bare
    assert "taxon" not in bare
    workspace.taxonomies.set(Taxonomy.read(TABLE), 0.2)
    new = paint(tmp_path, "green", [300])
    results = {one.path: one for one in workspace.recognize([*files, *new])}
    expected = workspace.taxonomies.answers([one.item for one in results.values()])
    assert {path: one.taxon for path, one in results.items()} == {
        path: expected.get(one.item) for path, one in results.items()
    }
    assert results[str(new[0])].taxon.taxon.path == ("coloured", "green")
    done = CliRunner().invoke(app, [*command, str(new[0])])
    assert done.exit_code == 0, done.output
    if style == "table":
        header, *lines = done.stdout.splitlines()
        assert header.index("deepest sure rank") == lines[0].index("coloured/red (colour, ")
    else:
        read = csv.DictReader if style == "csv" else lambda lines: map(json.loads, lines)
        found = {row["path"]: row["taxon"] or None for row in read(done.stdout.splitlines())}
        assert found == {path: one.taxon and path_of(one.taxon) for path, one in results.items()}


def test_exports_have_the_taxon_of_each_image(workspace):
    bare = workspace.formats.export_bytes("csv").splitlines()[0]
    workspace.taxonomies.set(Taxonomy.read(TABLE), 0.1)
    header, *lines = csv.reader(workspace.formats.export_bytes("csv").decode().splitlines())
    assert header == [*bare.decode().split(","), "taxon", "rank", "taxon_probability"]
    answers = workspace.taxonomies.answers()
    for one, line in zip(json.loads(workspace.formats.export_bytes("json")), lines, strict=True):
        answer = answers.get(one["item"])
        assert (one["taxon"], one["rank"]) == ((path_of(answer), answer.taxon.rank) if answer else (None, None))
        assert line[-3:-1] == [one["taxon"] or "", one["rank"] or ""]
    assert ["coloured/red", "colour"] in [line[-3:-1] for line in lines]


def test_a_renamed_class_keeps_its_place_if_the_table_knows_the_new_name(workspace):
    workspace.taxonomies.set(Taxonomy.read(TABLE + "coloured,scarlet\n"))
    workspace.rename_class("red", "scarlet")
    assert workspace.taxonomies.missing() == []
    assert "scarlet" in {answer.taxon.name for answer in workspace.taxonomies.answers().values()}
    workspace.undo()
    assert "red" in {answer.taxon.name for answer in workspace.taxonomies.answers().values()}
