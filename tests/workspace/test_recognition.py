"""Images that are recognised as they come."""

from tests.helpers.pictures import paint
from tests.helpers.reviewing import JPEG, labels


def test_images_that_come_as_bytes(workspace, tmp_path):
    (file,) = paint(tmp_path, "blue", [5000])
    with workspace.store.alone(lambda *_: None):  # a long command runs
        good, bad, copy = workspace.recognition.keep([file.read_bytes(), b"", file.read_bytes()])
    assert (good.label, bad.reason) == ("unknown", "the file is empty")
    assert copy == good
    assert workspace.history()[0].details == {"images": 2, "rejected": 2, "bad": 1}
    file.unlink()
    assert workspace.views.thumbnail(good.item).startswith(JPEG)
    assert labels(workspace)[good.path] == ("unknown", "rejected")
