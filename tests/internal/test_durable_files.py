"""Files and folders that survive a power failure."""

from opengcd._internal import durable_files


def test_folders_that_somebody_else_did_not_make_safe_are_made_safe(tmp_path, monkeypatch):
    """As ``models`` by a process that was killed right after it had made it."""
    (tmp_path / "models").mkdir()
    synced = []
    monkeypatch.setattr(durable_files, "sync_folder", synced.append)
    durable_files.make_folder(tmp_path / "models" / "0001")
    assert {tmp_path, tmp_path / "models"} <= set(synced)
