"""Folders that hold no model are refused with a reason; what a damaged model says is in test_persistence.py."""

import pytest

from opengcd import ModelFileError, OpenWorldRecognizer


def test_no_folder(tmp_path):
    with pytest.raises(ModelFileError, match=r"no model at .*nowhere"):
        OpenWorldRecognizer.load(tmp_path / "nowhere")


def test_an_empty_or_foreign_folder(tmp_path):
    with pytest.raises(ModelFileError, match="no model at"):
        OpenWorldRecognizer.load(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelFileError, match="no model at"):
        OpenWorldRecognizer.load(tmp_path)


def test_a_folder_instead_of_the_header(tmp_path):
    (tmp_path / "model.json").mkdir()
    with pytest.raises(ModelFileError, match="model"):
        OpenWorldRecognizer.load(tmp_path)
