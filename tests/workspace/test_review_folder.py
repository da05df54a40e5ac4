"""Review in a file manager: what a person does to folders comes back as edits."""

import json
import os
import re
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from opengcd import Workspace
from opengcd.workspace import Changes, WorkspaceError, review_folder
from opengcd.workspace.files import content_hash
from opengcd.workspace.outgoing import class_name, distinct, folder_name
from tests.helpers.pictures import paint, picture, truth


@pytest.fixture
def exported(workspace, tmp_path):
    out = tmp_path / "review"
    assert workspace.formats.export_groups(out) == []
    return out


def folder_of(out, colour):
    return next(file.parent for file in sorted(out.rglob("*.png")) if truth(file) == colour)


def sizes(workspace):
    return {group.label: len(group) for group in workspace.groups()}


def test_the_export_shows_the_most_typical_first(workspace, exported):
    assert sorted(folder.name for folder in exported.iterdir() if folder.is_dir()) == ["group 1", "group 2"]
    for group in workspace.groups():
        files = sorted((exported / group.label).glob("*.png"))
        assert [file.name[:5] for file in files] == [f"{i:05d}" for i in range(1, 9)]
        assert [workspace.views.find(file) for file in files] == group.items
        assert all(file.is_symlink() for file in files)


def test_a_round_trip_changes_nothing(workspace, exported):
    before, history = workspace.groups(), workspace.history()
    assert workspace.formats.import_groups(exported) == Changes(0, 0, 0, [])
    assert workspace.groups() == before
    assert workspace.history() == history


def test_rename_move_delete(workspace, exported):
    blue, yellow = folder_of(exported, "blue"), folder_of(exported, "yellow")
    files = sorted(blue.glob("*.png"))
    files[0].rename(yellow / files[0].name)
    files[1].unlink()
    (exported / "odd").mkdir()
    files[2].rename(exported / "odd" / "I gave it a name.png")
    (exported / "_known_red").mkdir()
    files[3].rename(exported / "_known_red" / files[3].name)
    (exported / "empty").mkdir()
    blue.rename(exported / "sky")
    before = workspace.groups()
    assert workspace.formats.import_groups(exported) == Changes(3, 3, 1, [])
    assert sizes(workspace) == {"sky": 4, yellow.name: 9, "odd": 1, "red": 1, "removed": 1}
    confirmed = {group.label for group in workspace.groups() if group.confirmed}
    assert confirmed == {"sky", "odd"}
    history = workspace.history()
    assert (history[0].verb, history[0].details) == ("review", {"named": 3, "moved": 3, "removed": 1})
    assert workspace.formats.import_groups(exported) == Changes(0, 0, 0, [])
    assert workspace.history() == history
    # A person goes on in the same folders, also back to where something was.
    (yellow / files[0].name).rename(exported / "sky" / files[0].name)
    assert workspace.formats.import_groups(exported).moved == 1
    assert sizes(workspace)["sky"] == 5
    assert workspace.learn().classes == ["black", "green", "red", "white", "odd", "sky"]
    workspace.undo()
    workspace.undo()
    workspace.undo()
    assert workspace.groups() == before


def test_the_same_import_again_after_a_crash_is_no_news(workspace, exported, monkeypatch):
    folder_of(exported, "blue").rename(exported / "red")
    folder_of(exported, "yellow").rename(exported / "sun")
    with monkeypatch.context() as crash:
        crash.setattr(review_folder, "write_note", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            workspace.formats.import_groups(exported)
    done, history = workspace.groups(), workspace.history()
    assert sizes(workspace) == {"red": 8, "sun": 8}
    workspace.formats.import_groups(exported)
    assert (workspace.groups(), workspace.history()) == (done, history)


def test_items_put_back_have_folders_too(workspace, tmp_path):
    workspace.discover(k=4)
    out = tmp_path / "review"
    workspace.formats.export_groups(out, copy=True)
    folders = sorted(folder for folder in out.iterdir() if folder.is_dir())
    assert all(folder.name.startswith("_known_") for folder in folders)
    assert not any(file.is_symlink() for file in out.rglob("*.png"))
    before = workspace.groups()
    assert workspace.formats.import_groups(out) == Changes(0, 0, 0, [])
    assert workspace.groups() == before
    folders[0].rename(out / "new class")
    changes = workspace.formats.import_groups(out)
    assert (changes.named, changes.removed) == (1, 0)
    assert changes.moved == next(len(group) for group in before if group.label == folders[0].name[7:])
    assert sizes(workspace)["new class"] == changes.moved
    (out / "new class").rename(folders[0])
    workspace.formats.import_groups(out)
    assert "new class" not in sizes(workspace)
    workspace.learn()


def test_others_may_edit_meanwhile(workspace, exported):
    blue = folder_of(exported, "blue")
    by_label = {group.label: group for group in workspace.groups()}
    other = next(group for label, group in by_label.items() if label != blue.name)
    workspace.move(other.items[:2], by_label[blue.name].id)
    blue.rename(exported / "sky")
    assert workspace.formats.import_groups(exported) == Changes(1, 0, 0, [])
    assert sizes(workspace) == {"sky": 10, other.label: 6}


def test_copies_that_were_edited_keep_their_place(workspace, tmp_path):
    out = tmp_path / "review"
    workspace.formats.export_groups(out, copy=True)
    file = next(out.rglob("*.png"))
    Image.new("RGB", (5, 5)).save(file)
    assert workspace.formats.import_groups(out) == Changes(0, 0, 0, [])


def test_hidden_marks_may_get_lost(workspace, exported):
    for mark in exported.rglob(".opengcd-group"):
        mark.unlink()
    assert workspace.formats.import_groups(exported) == Changes(0, 0, 0, [])


def test_foreign_files_are_passed_over(workspace, exported, tmp_path):
    (stranger,) = paint(folder_of(exported, "blue"), "red", [7])
    changes = workspace.formats.import_groups(exported)
    assert changes[:3] == (0, 0, 0)
    assert changes.ignored == [(str(stranger), "not part of the export; run opengcd recognize on it first")]


def test_an_image_in_two_folders(workspace, exported):
    blue, yellow = folder_of(exported, "blue"), folder_of(exported, "yellow")
    file = min(blue.glob("*.png"))
    shutil.copy(file, yellow / file.name)  # copied, but meant to be moved
    assert workspace.formats.import_groups(exported) == Changes(0, 1, 0, [])
    (exported / "third").mkdir()
    (exported / "fourth").mkdir()
    file = max(blue.glob("*.png"))
    for name in ("third", "fourth"):
        shutil.copy(file, exported / name / file.name)
    file.unlink()
    with pytest.raises(WorkspaceError, match="delete one of the two"):
        workspace.formats.import_groups(exported)


def test_imports_that_cannot_be(workspace, exported, tmp_path, world):
    with pytest.raises(WorkspaceError, match="not a finished export"):
        workspace.formats.import_groups(tmp_path)
    with pytest.raises(WorkspaceError, match="not empty"):
        workspace.formats.export_groups(exported)
    with (
        Workspace.create(tmp_path / "other", "pixels") as other,
        pytest.raises(WorkspaceError, match="another workspace"),
    ):
        other.formats.import_groups(exported)
    file = next(exported.rglob("*.png"))
    file.rename(exported / file.name)
    with pytest.raises(WorkspaceError, match="move it into one"):
        workspace.formats.import_groups(exported)
    (exported / file.name).rename(file)
    (exported / "_known_heron").mkdir()
    file.rename(exported / "_known_heron" / file.name)
    with pytest.raises(WorkspaceError, match="names the known class 'heron', but there is no such class"):
        workspace.formats.import_groups(exported)
    workspace.discover(k=6)
    with pytest.raises(WorkspaceError, match="Export the groups again"):
        workspace.formats.import_groups(exported)


def test_images_that_are_gone_are_listed_and_stay_in_their_groups(workspace, tmp_path):
    (file,) = paint(tmp_path / "new", "blue", [900])
    list(workspace.recognize([file]))
    workspace.discover(k=6)
    file.unlink()
    before = workspace.groups()
    assert workspace.formats.export_groups(tmp_path / "review") == [(str(file), "the file is missing")]
    workspace.formats.import_groups(tmp_path / "review")
    assert workspace.groups() == before


@pytest.mark.parametrize("copy", [False, True], ids=["links", "copies"])
def test_an_image_that_was_replaced_is_not_exported_as_the_old_one(workspace, tmp_path, copy):
    """Also where it is one file of several: the item then is exported from another one that still holds it."""
    one, two = paint(tmp_path / "new", "blue", [900, 901])
    shutil.copy(two, tmp_path / "new" / "z.png")
    assert not any(result.reason for result in workspace.recognize([tmp_path / "new"]))
    workspace.discover(k=6)
    for file in (one, two):
        picture("red", 900).save(file)
    missing = [(str(one), "the file contains another image now")]
    before = workspace.groups()
    assert workspace.formats.export_groups(tmp_path / "review", copy=copy) == missing
    assert workspace.export("folders", tmp_path / "labels", copy=copy) == missing
    labels = {label.hash: label.label for label in workspace.views.labels()}
    for out in ("review", "labels"):
        found = {content_hash(file): file for file in (tmp_path / out).rglob("*.png")}
        assert any(file.name.endswith("z.png") for file in found.values())
        for content, file in found.items():
            assert labels[content] == file.parent.name
            assert out == "labels" or content[:12] in file.name
    assert workspace.formats.import_groups(tmp_path / "review") == Changes(0, 0, 0, [])
    assert workspace.groups() == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in folders here")
def test_what_cannot_be_read_is_not_exported(workspace, tmp_path):
    """A pipe in the place of an image would keep the export waiting for ever."""
    (file,) = paint(tmp_path / "new", "blue", [900])
    list(workspace.recognize([file]))
    file.unlink()
    os.mkfifo(file)
    assert workspace.export("folders", tmp_path / "labels") == [(str(file), "not a regular file")]


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=50))
@settings(deadline=None)
def test_every_class_has_a_name_that_a_file_system_bears(label):
    name = folder_name(label)
    assert class_name(name) == label
    assert name not in (".", "..")
    assert not set(name) & set('/\\:*?"<>|\0')
    assert not name.startswith((".", "_", " "))
    assert not name.endswith((".", " "))
    assert len(os.fsencode(name)) <= 200


def test_names_that_are_too_long_or_taken():
    assert len(os.fsencode(folder_name("é" * 300))) <= 200
    taken = set()
    assert [distinct(name, taken) for name in ("a", "A", "a", "b")] == ["a", "A (2)", "a (3)", "b"]


# Folders that somebody else has had a hand in.


def outside(tmp_path):
    """A file and a folder that no import may touch, and what they hold."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "precious.txt").write_text("precious")
    return tmp_path / "outside"


def test_nothing_is_written_through_links(workspace, exported, tmp_path):
    precious = outside(tmp_path) / "precious.txt"
    blue = folder_of(exported, "blue")
    for link in (blue / review_folder.MARK, blue / f"{review_folder.MARK}.old"):
        link.unlink(missing_ok=True)
        link.symlink_to(precious)
    blue.rename(exported / "sky")
    assert workspace.formats.import_groups(exported).named == 1
    assert precious.read_text() == "precious"
    assert not (exported / "sky" / review_folder.MARK).is_symlink()
    assert int((exported / "sky" / review_folder.MARK).read_text())
    note = exported / review_folder.NOTE
    note.rename(tmp_path / "note.json")
    note.symlink_to(tmp_path / "note.json")
    before = (tmp_path / "note.json").read_bytes()
    with pytest.raises(WorkspaceError, match="not a regular file"):
        workspace.formats.import_groups(exported)
    assert (tmp_path / "note.json").read_bytes() == before


@pytest.mark.parametrize("place", ["", "group 1"])
def test_linked_folders_are_refused_and_nothing_is_written_there(workspace, exported, tmp_path, place):
    folder = outside(tmp_path)
    (exported / place / "linked").symlink_to(folder)
    before = workspace.history()
    with pytest.raises(WorkspaceError, match="is a link to a folder"):
        workspace.formats.import_groups(exported)
    assert sorted(file.name for file in folder.iterdir()) == ["precious.txt"]
    assert workspace.history() == before


def test_links_are_followed_to_images_of_the_workspace_only(workspace, exported, tmp_path, monkeypatch):
    blue, yellow = folder_of(exported, "blue"), folder_of(exported, "yellow")
    file = min(blue.glob("*.png"))
    copied = tmp_path / "copied.png"
    shutil.copy(file, copied)  # the same content, but the workspace has never seen it there
    monkeypatch.setattr(review_folder, "content_hash", lambda path: pytest.fail(f"{path} was read"))
    (yellow / "stranger.png").symlink_to(copied)
    (yellow / "endless").symlink_to("/dev/zero")
    changes = workspace.formats.import_groups(exported)
    assert changes[:3] == (0, 0, 0)
    assert [reason for _, reason in changes.ignored] == [review_folder.NOT_EXPORTED] * 2
    file.rename(yellow / "renamed.png")
    assert workspace.formats.import_groups(exported).moved == 1


def test_pipes_are_not_waited_for(workspace, exported):
    blue = folder_of(exported, "blue")
    (blue / review_folder.MARK).unlink()
    os.mkfifo(blue / review_folder.MARK)
    os.mkfifo(blue / "pipe.png")
    assert workspace.formats.import_groups(exported).ignored == [(str(blue / "pipe.png"), review_folder.NOT_EXPORTED)]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_read_is_not_taken_for_an_empty_one(workspace, exported):
    blue = folder_of(exported, "blue")
    blue.chmod(0)
    try:
        with pytest.raises(WorkspaceError, match="make it readable"):
            workspace.formats.import_groups(exported)
    finally:
        blue.chmod(0o700)


def test_import_into_a_folder_whose_note_cannot_be_written_is_refused(workspace, exported):
    blue = folder_of(exported, "blue")
    (blue / review_folder.MARK).unlink()
    (blue / review_folder.MARK).mkdir()
    blue.rename(exported / "sky")
    with pytest.raises(WorkspaceError, match="export the groups to a new folder"):
        workspace.formats.import_groups(exported)


@pytest.mark.parametrize("name", ["a%1Bb", "a\u202eb", b"\xff\xfe".decode("utf-8", "surrogateescape"), "unknown"])
def test_folders_whose_names_cannot_be_classes(workspace, exported, name):
    folder_of(exported, "blue").rename(exported / name)
    with pytest.raises(WorkspaceError, match="choose another name"):
        workspace.formats.import_groups(exported)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def damageable(reviewable, tmp_path_factory):
    """A workspace and its export, whose note is damaged again and again."""
    folder = tmp_path_factory.mktemp("damaged")
    shutil.copytree(reviewable, folder / "workspace")
    with Workspace(folder / "workspace") as opened:
        opened.formats.export_groups(folder / "review")
        yield opened, folder / "review", (folder / "review" / review_folder.NOTE).read_bytes()


@given(data=st.data())
@settings(max_examples=150)
def test_damaged_notes_are_refused_in_words(damageable, data):
    workspace, folder, note = damageable
    document = json.loads(note)
    way = data.draw(st.sampled_from(["bytes", "value", "key", "inner", "missing", "mark"]))
    if way == "bytes":
        start = data.draw(st.integers(0, len(note)))
        raw = note[:start] + data.draw(st.binary(max_size=8)) + note[data.draw(st.integers(start, len(note))) :]
    else:
        key = data.draw(st.sampled_from(sorted(document)))
        if way == "missing":
            del document[key]
        elif way == "value":
            document = data.draw(VALUES)
        elif way == "key":
            document[key] = data.draw(VALUES)
        elif way == "inner" and isinstance(document[key], dict):
            document[key][data.draw(st.sampled_from(sorted(document[key])) | st.text(max_size=8))] = data.draw(VALUES)
        raw = json.dumps(document).encode()
    mark = folder / "group 1" / review_folder.MARK
    mark.write_bytes(data.draw(st.binary(max_size=30)) if way == "mark" else b"1")
    (folder / review_folder.NOTE).write_bytes(raw)
    told = "export them again"
    try:
        workspace.formats.import_groups(folder)
    except WorkspaceError as error:
        told = str(error)
    assert re.search("xport|undo|another name|delete one", told)
