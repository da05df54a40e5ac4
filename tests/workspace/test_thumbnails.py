"""Thumbnails are of the item, wherever its file has gone."""

import io
import os
import shutil

import pytest
from PIL import Image

from opengcd.workspace import WorkspaceError
from tests.helpers.reviewing import JPEG


def test_thumbnails(workspace, tmp_path):
    Image.new("RGB", (900, 300), "red").save(tmp_path / "wide.png")
    (result,) = workspace.recognize([tmp_path / "wide.png"])
    small = workspace.views.thumbnail(result.item)
    assert Image.open(io.BytesIO(small)).size == (256, 85)
    (tmp_path / "wide.png").unlink()
    assert workspace.views.thumbnail(result.item) == small
    shutil.rmtree(workspace.path / "thumbnails")
    with pytest.raises(WorkspaceError, match="moved or deleted"):
        workspace.views.thumbnail(result.item)


def test_a_thumbnail_is_of_the_item_and_not_of_what_took_its_place(workspace, tmp_path):
    file = tmp_path / "a.png"
    Image.new("RGB", (20, 10), "red").save(file)
    (result,) = workspace.recognize([file])
    raw = file.read_bytes()
    Image.new("RGB", (10, 20), "blue").save(file)
    with pytest.raises(WorkspaceError, match="moved or deleted"):
        workspace.views.thumbnail(result.item)
    os.remove(file)
    os.mkfifo(file)  # nobody writes to it
    with pytest.raises(WorkspaceError, match="moved or deleted"):
        workspace.views.thumbnail(result.item)
    os.remove(file)
    file.write_bytes(raw)
    assert Image.open(io.BytesIO(workspace.views.thumbnail(result.item))).size == (20, 10)


def test_a_thumbnail_that_an_older_version_made_of_another_image_is_not_shown(workspace):
    item = workspace.views.labels()[0].item
    content = workspace.views.content(item)
    old = workspace.path / "thumbnails" / content[:2] / f"{content}.jpg"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"another image")
    assert workspace.views.thumbnail(item).startswith(JPEG)


def test_a_thumbnail_where_none_can_be_stored(workspace):
    (workspace.path / "thumbnails").write_text("the administrator may write to any folder, but not into a file")
    assert workspace.views.thumbnail(workspace.views.labels()[0].item).startswith(JPEG)
