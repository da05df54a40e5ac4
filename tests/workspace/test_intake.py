"""Files are taken in by their content, and embedded once."""

import shutil

from opengcd import Workspace
from opengcd.embed import Pixels
from tests.helpers.pictures import RECOGNIZER, paint


def test_nothing_is_embedded_twice(world, tmp_path):
    seen = []

    class Counting(Pixels):
        def stream(self, images):
            return super().stream(seen.append(image) or image for image in images)

    known, stream = world
    workspace = Workspace.create(tmp_path / "w", Counting(), recognizer=RECOGNIZER)
    workspace.fit(known)
    first = list(workspace.recognize([stream, stream / "red100.png"]))
    assert len(seen) == 32 + 48
    assert len(first) == 48
    # A copy elsewhere, a link, the same again, and a file that only got a new time.
    shutil.copytree(stream, tmp_path / "copy")
    (tmp_path / "copy" / "link.png").symlink_to(stream / "red100.png")
    (tmp_path / "copy" / "blue100.png").touch()
    again = list(workspace.recognize([stream, tmp_path / "copy", known]))
    assert len(again) == 48 + 49 + 32
    assert len(seen) == 32 + 48
    assert workspace.status().counts["learnt"] == 32
    item = workspace.views.find(stream / "red100.png")
    assert workspace.views.paths(item) == sorted(
        map(str, [stream / "red100.png", tmp_path / "copy" / "link.png", tmp_path / "copy" / "red100.png"])
    )


def test_a_changed_file_is_another_item(workspace, tmp_path):
    (file,) = paint(tmp_path / "new", "red", [1000])
    (one,) = workspace.recognize([file])
    paint(tmp_path / "new", "green", [1000])[0].rename(file)
    (two,) = workspace.recognize([file])
    assert (one.label, two.label) == ("red", "green")
    assert one.item != two.item
    assert workspace.views.paths(one.item) == []
