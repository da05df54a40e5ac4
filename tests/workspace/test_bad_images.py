"""What comes in is not always an image: the rest is processed, the bad are listed with reasons, nothing is lost."""

import os
import resource
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from opengcd import Workspace
from opengcd.embed import EmbedderError, Pixels, read_image
from opengcd.workspace import Changes, WorkspaceError, find_files, intake, review_folder
from tests.helpers.pictures import KNOWN, RECOGNIZER, paint, picture, png_header

GOOD = 3
NOT_AN_IMAGE = "not a readable image; if it is one in another format, convert it to JPEG or PNG"


@pytest.fixture
def stream(tmp_path):
    """A folder with some good images, to which each test adds what it is about."""
    paint(tmp_path / "in", "red", range(700, 700 + GOOD))
    return tmp_path / "in"


def bad(workspace, *paths):
    """Recognise all; the good ones must be there. Return the bad ones with reasons, by their names."""
    results = list(workspace.recognize(paths))
    assert sum(not result.reason for result in results) >= GOOD
    assert all(result.label == "red" for result in results if "red" in os.path.basename(result.path))
    found = {os.path.basename(result.path): result.reason for result in results if result.reason}
    assert {os.path.basename(path): reason for path, reason in workspace.views.failures()} == found
    return found


# Files that are no images.


def test_files_that_cannot_be_used(workspace, stream):
    picture("green", 1, side=80).save(stream / "cut.jpg")
    whole = (stream / "cut.jpg").read_bytes()
    (stream / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    (stream / "empty.png").touch()
    (stream / "text").write_text("no image")
    (stream / "noise.jpg").write_bytes(np.random.default_rng(0).bytes(5000))
    (stream / "bomb.png").write_bytes(png_header(60_000, 60_000))
    (stream / "large.png").write_bytes(png_header(9_300, 9_300))
    (stream / ".hidden").touch()
    (stream / "Thumbs.db").touch()
    found = bad(workspace, stream)
    assert found.keys() == {"cut.jpg", "empty.png", "text", "noise.jpg", "bomb.png", "large.png"}
    assert "truncated" in found["cut.jpg"]
    assert found["empty.png"] == "the file is empty"
    assert found["text"] == found["noise.jpg"] == NOT_AN_IMAGE
    assert found["bomb.png"] == "the image has more than 80,000,000 pixels; make it smaller"
    assert "9300 × 9300 has more than 80,000,000 pixels; make it smaller" in found["large.png"]
    # What is mended is taken, and no longer listed.
    (stream / "cut.jpg").write_bytes(whole)
    assert "cut.jpg" not in bad(workspace, stream)


def test_the_pixel_limit(tmp_path):
    Image.new("RGB", (20, 10)).save(tmp_path / "a.png")
    assert read_image(tmp_path / "a.png", max_pixels=200).size == (20, 10)
    with pytest.raises(EmbedderError, match="more than 199 pixels"):
        read_image(tmp_path / "a.png", max_pixels=199)


def test_a_good_file_that_turns_bad_is_no_longer_an_image_of_its_item(workspace, stream):
    list(workspace.recognize([stream]))
    file = stream / "red700.png"
    item = workspace.views.find(file)
    file.write_bytes(b"")
    results = {os.path.basename(r.path): r.reason for r in workspace.recognize([stream])}
    assert results == {"red700.png": "the file is empty", "red701.png": "", "red702.png": ""}
    assert workspace.views.paths(item) == []


# Files that cannot be had.


def test_files_that_cannot_be_read(workspace, stream, monkeypatch):
    paint(stream, "green", [1])
    secret = str(stream / "green1.png")
    read = intake.content_hash

    def refuse(path):
        if path == secret:
            raise PermissionError(13, "Permission denied")
        return read(path)

    monkeypatch.setattr(intake, "content_hash", refuse)  # the administrator may read everything
    assert bad(workspace, stream) == {"green1.png": "it cannot be read: Permission denied"}


def test_a_file_that_changes_while_it_is_read(workspace, stream, monkeypatch):
    paint(stream, "green", [1000])
    file = stream / "green1000.png"
    read = intake.content_hash

    def hash_and_change(path):
        content = read(path)
        if path == str(file):
            picture("blue", 1).save(file)
        return content

    monkeypatch.setattr(intake, "content_hash", hash_and_change)
    assert "changed while it was read" in bad(workspace, stream)["green1000.png"]
    monkeypatch.undo()
    assert bad(workspace, stream) == {}


def test_an_embedder_that_fails_on_an_image(world, tmp_path):
    class Blind(Pixels):
        def stream(self, images):
            for image in images:
                (row,) = super().stream([image])
                yield row * (np.nan if image.size == (5, 5) else 1)

    with Workspace.create(tmp_path / "w", Blind(), recognizer=RECOGNIZER) as workspace:
        workspace.fit(world[0])
        paint(tmp_path / "in", "red", range(700, 700 + GOOD))
        picture("red", 1, side=5).save(tmp_path / "in" / "small.png")
        assert bad(workspace, tmp_path / "in") == {"small.png": "the embedder returns no finite vector"}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the administrator may read everything")
def test_permissions(workspace, stream):
    (stream / "locked").mkdir(mode=0)
    (stream / "secret.png").touch(mode=0)
    assert bad(workspace, stream).keys() == {"locked", "secret.png"}


def test_links(workspace, stream, tmp_path):
    (stream / "loop").symlink_to(stream)
    (stream / "down").mkdir()
    (stream / "down" / "up").symlink_to(stream)
    (stream / "self").symlink_to(stream / "self")
    (stream / "nowhere.png").symlink_to(tmp_path / "nothing.png")
    os.mkfifo(stream / "pipe")
    found = bad(workspace, stream)
    assert found.keys() == {"self", "nowhere.png", "pipe"}
    assert found["pipe"] == "not a regular file"
    assert found["nowhere.png"] == "it cannot be read: No such file or directory"
    assert len(list(find_files([stream]))) == GOOD + 3
    (tmp_path / "nothing.png").mkdir()  # the way of a link that led nowhere
    shutil.copytree(workspace.path, stream / "workspace")
    assert len(list(find_files([stream]))) == GOOD + 2


@pytest.fixture
def deep(tmp_path):
    """The innermost of more folders than functions may call each other."""
    folders = [tmp_path / "deep"]
    while len(folders) < 1500:
        folders.append(folders[-1] / "d")
    for folder in folders:
        folder.mkdir()
    yield folders[-1]
    while folders:  # what cleans up after tests calls itself
        shutil.rmtree(folders.pop())


def test_deep_folders(workspace, deep, tmp_path):
    picture("red", 700).save(tmp_path / "red700.png")
    (tmp_path / "red700.png").rename(deep / "red700.png")
    (result,) = workspace.recognize([tmp_path / "deep"])
    assert (result.path, result.label) == (str(deep / "red700.png"), "red")


def test_files_are_found_in_order(tmp_path):
    names = ["a/b/z", "a/c", "a.png", "b/.hidden", "b/Thumbs.db", "b/x", "c", "w/workspace.json", "w/x"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = [os.path.relpath(one.path, tmp_path) for one in find_files([tmp_path])]
    assert found == ["a/b/z", "a/c", "a.png", "b/x", "c"]


def test_files_that_are_not_images_by_their_names_are_skipped(tmp_path):
    strays = [".DS_Store", "Thumbs.db", "NOTES.TXT", "a.jpg.xmp", "a.json", "down/b.csv", "a.CR2", "c.nef"]
    images = ["a.JPG", "c.jpeg", "d.nef", "down/e", "e.MP4", "f.txt/g.png"]
    for name in strays + images:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    skipped = []
    found = {os.path.relpath(one.path, tmp_path): one.reason for one in find_files([tmp_path], skipped.append)}
    assert sorted(os.path.relpath(path, tmp_path) for path in skipped) == sorted(strays)
    assert sorted(found) == sorted(images)
    assert {name for name, reason in found.items() if "raw image" in reason} == {"d.nef"}
    assert next(find_files([tmp_path / "e.MP4"])).is_video
    assert [one.path for one in find_files([tmp_path / "NOTES.TXT"])] == [str(tmp_path / "NOTES.TXT")]  # it is meant


def test_deep_folders_in_a_review(workspace, deep, tmp_path):
    review = tmp_path / "review"
    workspace.formats.export_groups(review)
    group, file = next((folder, file) for folder in review.glob("group*") for file in folder.glob("*.png"))
    (tmp_path / "deep").rename(group / "deep")
    inner = group / deep.relative_to(tmp_path)
    file.rename(tmp_path / file.name)
    (tmp_path / file.name).rename(inner / file.name)
    try:
        assert workspace.formats.import_groups(review) == Changes(0, 0, 0, [])
    finally:
        (group / "deep").rename(tmp_path / "deep")


def test_a_note_of_a_review_that_is_too_long_is_not_read(workspace, tmp_path):
    workspace.formats.export_groups(tmp_path / "review")
    os.truncate(tmp_path / "review" / review_folder.NOTE, 2**40)
    with pytest.raises(WorkspaceError, match=r"not a finished export of groups \(\.opengcd-review\.json is too long\)"):
        workspace.formats.import_groups(tmp_path / "review")


def test_odd_and_long_names(workspace, stream, tmp_path):
    names = ["日本 ☃.png", "a\nb.png", "-rf.png", "%41.png", "x" * 251 + ".png", "é" * 125 + ".png", "e\u0301.png"]
    raw = os.fsencode(str(stream)) + b"/\xff\xfe.png"
    for number, name in enumerate([*names, os.fsdecode(os.path.basename(raw))]):
        picture("blue", 3000 + number).save(stream / name)
    results = {os.path.basename(r.path): r for r in workspace.recognize([stream])}
    assert results.keys() >= {*names, os.fsdecode(b"\xff\xfe.png")}
    assert not any(result.reason for result in results.values())
    workspace.discover(k=6)
    workspace.formats.export_groups(tmp_path / "review")
    before = workspace.groups()
    assert workspace.formats.import_groups(tmp_path / "review")[:3] == (0, 0, 0)
    assert workspace.groups() == before
    assert workspace.export("folders", tmp_path / "out", copy=True) == []
    assert len([*(tmp_path / "out").rglob("*.png")]) == 80 + GOOD + len(names) + 1
    assert raw in workspace.formats.export_bytes("csv")
    assert rb"\udcff\udcfe.png" in workspace.formats.export_bytes("json")
    command = [sys.executable, "-m", "opengcd", "recognize", workspace.path, raw]
    shown = subprocess.run(command, capture_output=True, check=True).stdout
    assert rb"\xff\xfe.png" in shown


def test_a_class_name_of_any_kind(workspace, tmp_path):
    names = iter(["日本/☃", "x" * 300])
    expected = {}
    for group in workspace.groups():
        name = next(names)
        workspace.name(group.id, name, confirm=True)
        expected[name] = len(group)
    workspace.formats.export_groups(tmp_path / "review")
    assert workspace.formats.import_groups(tmp_path / "review")[:3] == (0, 0, 0)
    assert {group.label: len(group) for group in workspace.groups()} == expected
    assert workspace.learn().classes[4:] == sorted(expected)


# Images of all kinds.


def test_every_kind_of_image_is_seen_as_a_person_sees_it(tmp_path):
    left = np.zeros((16, 8, 3), dtype=np.uint8) + np.array([200, 40, 40], dtype=np.uint8)
    plain = Image.fromarray(np.concatenate([left, 255 - left], axis=1))
    grey = np.asarray(plain.convert("L"))
    files = {
        "plain.png": plain,
        "cmyk.tif": plain.convert("CMYK"),
        "palette.png": plain.convert("P", palette=Image.Palette.ADAPTIVE),
        "alpha.png": plain.convert("RGBA"),
        "first.gif": plain,
        "sixteen.png": Image.fromarray(grey.astype(np.uint16) * 257),
        "grey.png": Image.fromarray(grey),
    }
    for name, image in files.items():
        more = {"save_all": True, "append_images": [Image.new("RGB", (16, 16), "green")]} if ".gif" in name else {}
        image.save(tmp_path / name, **more)
    turned = Image.Exif()
    turned[0x0112] = 6  # the camera was held upright
    plain.transpose(Image.Transpose.ROTATE_90).save(tmp_path / "turned.png", exif=turned)
    for file in sorted(tmp_path.iterdir()):
        found = read_image(file)
        assert (found.mode, found.size) == ("RGB", (16, 16)), file.name
        expected = np.repeat(grey[..., None], 3, 2) if "grey" in file.name or "sixteen" in file.name else plain
        np.testing.assert_allclose(np.asarray(found, float), np.asarray(expected, float), atol=4, err_msg=file.name)


def test_every_kind_of_image_is_taken(workspace, stream):
    red = picture("red", 7, side=16)
    red.convert("CMYK").save(stream / "red.jpg")
    red.convert("P").save(stream / "red.gif", save_all=True, append_images=[picture("green", 7, side=16)])
    red.convert("RGBA").save(stream / "red.webp")
    Image.fromarray(np.full((9, 9), 60_000, dtype=np.uint16)).save(stream / "sixteen.png")
    assert bad(workspace, stream) == {}


# Folders of all kinds.


def test_duplicates_within_and_across_folders(tmp_path):
    for colour in KNOWN:
        paint(tmp_path / "known" / colour, colour, range(8))
    (tmp_path / "known" / "red" / "again.png").write_bytes((tmp_path / "known" / "red" / "red1.png").read_bytes())
    twin = tmp_path / "known" / "white" / "twin.png"
    twin.write_bytes((tmp_path / "known" / "red" / "red2.png").read_bytes())
    (tmp_path / "known" / "stray.png").touch()
    (tmp_path / "known" / "nothing").mkdir()
    with Workspace.create(tmp_path / "w", "pixels", recognizer=RECOGNIZER) as workspace:
        found = dict(workspace.fit(tmp_path / "known"))
        assert found == {
            str(twin): "the same image is in 'red', too; delete one of them",
            str(tmp_path / "known" / "stray.png"): "not in the folder of a class",
            "nothing": "no image of this class can be used",
        }
        assert workspace.status().counts["learnt"] == 32
        # An image of the known ones comes again in the stream: it is recognised, and stays learnt.
        (result,) = workspace.recognize([twin])
        assert result.label == "red"
        assert workspace.status().counts["recognized"] == 0


def test_a_class_with_one_image(tmp_path):
    for colour in KNOWN:
        paint(tmp_path / "known" / colour, colour, range(8))
    paint(tmp_path / "known" / "blue", "blue", [1])
    with Workspace.create(tmp_path / "w", "pixels", recognizer=RECOGNIZER) as workspace:
        assert workspace.fit(tmp_path / "known") == []
        assert workspace.status().version.classes == ["black", "blue", "green", "red", "white"]


def test_folders_without_classes(tmp_path):
    with Workspace.create(tmp_path / "w", "pixels") as workspace:
        for known, message in ((tmp_path / "none", "There is no folder"), (tmp_path / "one", "at least two classes")):
            (tmp_path / "one" / "red").mkdir(parents=True, exist_ok=True)
            with pytest.raises(WorkspaceError, match=message):
                workspace.fit(known)
        (tmp_path / "one" / "unknown").mkdir()
        with pytest.raises(WorkspaceError, match="cannot be named 'unknown'"):
            workspace.fit(tmp_path / "one")
        (tmp_path / "one" / "unknown").rename(tmp_path / "one" / "green")
        with pytest.raises(WorkspaceError, match=r"No image in .* can be used"):
            workspace.fit(tmp_path / "one")


def test_an_empty_stream(workspace, tmp_path):
    (tmp_path / "empty").mkdir()
    before = workspace.history()
    assert list(workspace.recognize([tmp_path / "empty"])) == []
    assert list(workspace.recognize([])) == []
    assert workspace.history() == before
    workspace.remove([item for group in workspace.groups() for item in group.items])
    with pytest.raises(WorkspaceError, match="nothing to discover"):
        workspace.discover()


# When the machine gives out.


@pytest.mark.parametrize("limit", [200_000, 400_000])
def test_a_full_disk(workspace, tmp_path, limit):
    for colour in KNOWN:
        paint(tmp_path / "many", colour, range(5000, 5200))
    before = workspace.views.labels()
    command = [sys.executable, "-m", "opengcd", "recognize", workspace.path, tmp_path / "many", "--format", "jsonl"]

    def fill_the_disk():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))  # no file may grow beyond

    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=fill_the_disk)
    assert done.returncode == 1, done.stderr
    assert "Error: " in done.stderr
    assert "Traceback" not in done.stderr
    after = workspace.views.labels()
    assert after[: len(before)] == before
    assert len(after) - len(before) >= len(done.stdout.splitlines())
    assert len(after) - len(before) < 800
    results = list(workspace.recognize([tmp_path / "many"]))  # there is room again
    assert len(results) == 800
    assert len(workspace.views.labels()) == len(before) + 800
