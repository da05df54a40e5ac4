"""A zip that a stranger made: nothing leaves the folder, nothing is left behind, and no disk is filled."""

import io
import stat
import struct
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opengcd.service import archives
from opengcd.service.archives import safe_parts, unpack
from opengcd.workspace import WorkspaceError


def packed(folder, entries, method=zipfile.ZIP_DEFLATED):
    """A zip with entries of any name or kind."""
    file = folder / "a.zip"
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return file


def kind(name, mode):
    entry = zipfile.ZipInfo(name)
    entry.external_attr = mode << 16
    return entry


def test_files_and_folders_are_unpacked_and_leftovers_are_not(tmp_path):
    entries = [
        ("red/1.png", b"one"),
        ("red/", b""),
        ("blue/ü.png", b""),
        ("__MACOSX/red/1.png", b"x"),
        (".DS_Store", b"x"),
    ]
    assert unpack(packed(tmp_path, entries), tmp_path / "out") == 2
    files = {
        file.relative_to(tmp_path / "out").as_posix(): file.read_bytes() for file in (tmp_path / "out").rglob("*.*")
    }
    assert files == {"red/1.png": b"one", "blue/ü.png": b""}


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ([("../out.png", b"x")], "cannot be used"),
        ([("a/../../out.png", b"x")], "cannot be used"),
        ([("/etc/out.png", b"x")], "cannot be used"),
        ([("C:/out.png", b"x")], "cannot be used"),
        ([("a\x1b[2J.png", b"x")], "cannot be used"),
        ([("x/" * 40 + "y.png", b"x")], "cannot be used"),
        ([(kind("link.png", stat.S_IFLNK | 0o777), b"/etc/passwd")], "a link or a device"),
        ([(kind("pipe.png", stat.S_IFIFO | 0o777), b"")], "a link or a device"),
        ([("a", b"x"), ("a/b.png", b"x")], "also a file"),
        ([("a/b.png", b"x"), ("a", b"x")], "as a file and as a folder"),
    ],
    ids=[
        "up",
        "up later",
        "absolute",
        "drive",
        "escape",
        "deep",
        "link",
        "pipe",
        "file then folder",
        "folder then file",
    ],
)
def test_what_leads_elsewhere_is_refused_and_nothing_is_written(tmp_path, entries, told):
    archive = packed(tmp_path, [("good.png", b"good"), *entries])
    with pytest.raises(WorkspaceError, match=told):
        unpack(archive, tmp_path / "out")
    assert [file.name for file in tmp_path.iterdir()] == ["a.zip"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_bombs_are_refused(tmp_path, monkeypatch):
    bomb = packed(tmp_path, [("a.png", bytes(3 * 2**20)), ("b.png", bytes(3 * 2**20))])
    assert bomb.stat().st_size < 10_000
    monkeypatch.setattr(archives, "MOST_BYTES", 5 * 2**20)
    with pytest.raises(WorkspaceError, match="more than 0 GiB"):
        unpack(bomb, tmp_path / "out")
    monkeypatch.undo()
    monkeypatch.setattr(archives, "MAX_BYTES", 2**20)
    with pytest.raises(WorkspaceError, match="has more than 1 MiB"):
        unpack(bomb, tmp_path / "out")
    monkeypatch.undo()
    monkeypatch.setattr(archives, "MOST_FILES", 1)
    with pytest.raises(WorkspaceError, match="2 files; at most 1"):
        unpack(bomb, tmp_path / "out")
    monkeypatch.undo()
    monkeypatch.setattr(archives, "SPARE", 2**60)
    with pytest.raises(WorkspaceError, match="Free some space"):
        unpack(bomb, tmp_path / "out")
    monkeypatch.undo()
    with pytest.raises(WorkspaceError, match="twice"):
        unpack(packed(tmp_path, [("a.png", b"x"), ("a.png", b"y")]), tmp_path / "out")
    assert [file.name for file in tmp_path.iterdir()] == ["a.zip"]


def test_sizes_that_lie_do_not_help(tmp_path):
    """The directory of the zip says 10 bytes, and the data are a megabyte."""
    file = packed(tmp_path, [("a.png", bytes(2**20))])
    raw = file.read_bytes()
    assert raw.count(struct.pack("<I", 2**20)) == 2
    file.write_bytes(raw.replace(struct.pack("<I", 2**20), struct.pack("<I", 10)))
    with pytest.raises(WorkspaceError, match=r"damaged|cannot be read"):
        unpack(file, tmp_path / "out")
    assert [file.name for file in tmp_path.iterdir()] == ["a.zip"]


@pytest.mark.parametrize("raw", [b"", b"no zip", b"PK\x03\x04" + bytes(30)], ids=["empty", "text", "cut off"])
def test_what_is_no_zip_is_refused(tmp_path, raw):
    (tmp_path / "a.zip").write_bytes(raw)
    with pytest.raises(WorkspaceError, match="cannot be read"):
        unpack(tmp_path / "a.zip", tmp_path / "out")


def test_an_encrypted_zip_is_refused(tmp_path):
    raw = bytearray(packed(tmp_path, [("a.png", b"x")]).read_bytes())
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "a.zip").write_bytes(raw)
    with pytest.raises(WorkspaceError, match="encrypted"):
        unpack(tmp_path / "a.zip", tmp_path / "out")


@given(st.text(max_size=40))
def test_a_safe_name_stays_in_its_folder(tmp_path_factory, name):
    root = tmp_path_factory.getbasetemp() / "root"
    try:
        parts = safe_parts(name)
    except WorkspaceError:
        return
    path = root.joinpath(*parts).resolve()
    assert path != root
    assert path.is_relative_to(root.resolve())


@given(st.binary(max_size=200))
def test_damage_is_reported_and_nothing_is_left(tmp_path_factory, noise):
    folder = tmp_path_factory.mktemp("damaged")
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.png", b"abc" * 50)
    content = bytearray(raw.getvalue())
    content[20 : 20 + len(noise)] = noise
    (folder / "a.zip").write_bytes(content)
    try:
        unpack(folder / "a.zip", folder / "out")
    except WorkspaceError:
        assert [file.name for file in folder.iterdir()] == ["a.zip"]
