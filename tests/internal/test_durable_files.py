"""Files and folders that survive a power failure."""

import pytest

from opengcd._internal import durable_files


def test_folders_that_somebody_else_did_not_make_safe_are_made_safe(tmp_path, monkeypatch):
    """As ``models`` by a process that was killed right after it had made it."""
    (tmp_path / "models").mkdir()
    synced = []
    monkeypatch.setattr(durable_files, "sync_folder", synced.append)
    durable_files.make_folder(tmp_path / "models" / "0001")
    assert {tmp_path, tmp_path / "models"} <= set(synced)


def test_a_replacement_takes_the_place_of_a_file_or_leaves_no_trace(tmp_path):
    file = tmp_path / "file"
    durable_files.replace_file(file, b"old")

    def interrupted():
        with durable_files.replacement(file) as temporary:
            temporary.write_bytes(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (file.read_bytes(), list(tmp_path.iterdir())) == (b"old", [file])
    with durable_files.replacement(file) as temporary:
        temporary.write_bytes(b"new")
        assert file.read_bytes() == b"old"
    assert (file.read_bytes(), list(tmp_path.iterdir())) == (b"new", [file])
