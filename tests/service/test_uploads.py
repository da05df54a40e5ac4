"""Uploads in pieces: what has arrived is kept, whatever happens, and nothing is sent twice."""

import io
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opengcd.service import uploads as uploads_module
from opengcd.service.uploads import Uploads
from opengcd.workspace import MissingError, WorkspaceError


@pytest.fixture
def uploads(tmp_path):
    return Uploads(tmp_path / "uploads")


def test_pieces_become_a_file(uploads):
    one = uploads.begin()
    assert uploads.write(one, "red/1.png", 6, 0, b"abc") == 3
    assert uploads.received(one) == {"red/1.png": (3, 6)}
    with pytest.raises(WorkspaceError, match="Not all files have arrived"):
        uploads.finish(one)
    assert uploads.write(one, "red/1.png", 6, 3, b"def") == 6
    assert uploads.received(one) == {"red/1.png": (6, 6)}
    assert (uploads.files(one) / "red" / "1.png").read_bytes() == b"abcdef"
    assert uploads.finish(one) == 1


def test_after_a_restart_it_goes_on(uploads, tmp_path):
    one = uploads.begin()
    uploads.write(one, "a.png", 4, 0, b"ab")
    again = Uploads(tmp_path / "uploads")
    assert again.received(one) == {"a.png": (2, 4)}
    assert again.write(one, "a.png", 4, 2, b"cd") == 4
    assert (again.files(one) / "a.png").read_bytes() == b"abcd"


@given(data=st.data(), content=st.binary(max_size=60))
@settings(max_examples=60)
def test_any_order_of_pieces_gives_the_file(tmp_path_factory, data, content):
    """A sender that follows the answers sends the file, however often pieces are lost, repeated or out of place."""
    uploads = Uploads(tmp_path_factory.mktemp("any") / "uploads")
    one = uploads.begin()
    here = 0
    for _ in range(200):
        offset = data.draw(st.sampled_from([here, 0, len(content) // 2]))
        size = data.draw(st.integers(1, 20))
        here = uploads.write(one, "f", len(content), offset, content[offset : offset + size])
        if here == len(content):
            break
    else:
        here = uploads.write(one, "f", len(content), here, content[here:])
    assert here == len(content)
    assert (uploads.files(one) / "f").read_bytes() == content


def test_a_changed_file_begins_again(uploads):
    one = uploads.begin()
    uploads.write(one, "a.png", 4, 0, b"ab")
    assert uploads.write(one, "a.png", 3, 0, b"xyz") == 3
    assert (uploads.files(one) / "a.png").read_bytes() == b"xyz"
    with pytest.raises(WorkspaceError, match="has changed since it was chosen"):
        uploads.write(one, "b.png", 2, 0, b"abc")


@pytest.mark.parametrize("path", ["../a.png", "/a.png", "a/../../b", "a//b", "a\\b", "", "C:/a", "\0"])
def test_no_name_leaves_the_folder(uploads, path, tmp_path):
    one = uploads.begin()
    with pytest.raises(WorkspaceError, match="cannot be used"):
        uploads.write(one, path, 1, 0, b"x")
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


@pytest.mark.parametrize("name", ["0" * 16, "../" * 5, "", "..", "0123456789ABCDEF"])
def test_other_folders_are_no_uploads(uploads, name, tmp_path):
    uploads.begin()
    (tmp_path / "files").mkdir()
    with pytest.raises(MissingError):
        uploads.files(name)
    uploads.drop(name)
    assert (tmp_path / "files").exists()


def test_a_name_is_a_file_or_a_folder(uploads):
    one = uploads.begin()
    uploads.write(one, "a", 1, 0, b"x")
    with pytest.raises(WorkspaceError, match="both a file and a folder"):
        uploads.write(one, "a/b", 1, 0, b"x")


def test_zips_are_unpacked_once(uploads):
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        archive.writestr("red/1.png", b"x")
    one = uploads.begin()
    uploads.write(one, "birds.Zip", len(raw.getvalue()), 0, raw.getvalue())
    assert uploads.finish(one) == uploads.finish(one) == 1
    assert list(uploads.received(one)) == ["birds/red/1.png"]


def test_a_bad_zip_stays_until_it_is_replaced(uploads):
    one = uploads.begin()
    uploads.write(one, "birds.zip", 3, 0, b"bad")
    for _ in range(2):
        with pytest.raises(WorkspaceError, match="cannot be read"):
            uploads.finish(one)
    uploads.drop(one)
    with pytest.raises(MissingError):
        uploads.finish(one)


def test_a_full_disk_and_large_files_are_refused(uploads, monkeypatch):
    one = uploads.begin()
    with pytest.raises(WorkspaceError, match="has more than 256 MiB"):
        uploads.write(one, "a.png", 2**29, 0, b"")
    assert uploads.write(one, "a.MP4", 2**29, 0, b"x") == 1
    monkeypatch.setattr(uploads_module, "SPARE", 2**60)
    with pytest.raises(WorkspaceError, match="nearly full"):
        uploads.write(one, "a.png", 1, 0, b"x")


def test_the_oldest_uploads_are_deleted(uploads):
    names = [uploads.begin() for _ in range(uploads_module.MOST_UPLOADS + 2)]
    with pytest.raises(MissingError):
        uploads.files(names[0])
    assert uploads.files(names[-1]).is_dir()
