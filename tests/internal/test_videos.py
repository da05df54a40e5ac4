"""Videos are decoded in a child process: frames at a rate, upright, with their times; hostile files do no harm."""

import io
import math
import os

import numpy as np
import pytest
from PIL import Image

from opengcd._internal import child_process
from opengcd._internal.images.captures import taken_at
from opengcd._internal.videos import MISSING, VideoError, messages, process, read_video
from tests.helpers.pictures import picture
from tests.helpers.videos import BEGINS, TAKEN, clip, film, plain, quarters, turn

KINDS = {
    "h264.mp4": {"codec": "libx264"},
    "mpeg4.mp4": {"codec": "mpeg4"},
    "mpeg4.avi": {"codec": "mpeg4"},
    "mjpeg.avi": {"codec": "mjpeg", "pixels": "yuvj420p"},
    "h264.mkv": {"codec": "libx264"},
    "vp9.webm": {"codec": "libvpx-vp9"},
    "h264.mov": {"codec": "libx264"},
    "h264.mts": {"codec": "libx264"},
    "wmv2.wmv": {"codec": "wmv2"},
}

LOCAL = "2024-05-01T08:30:12+0200"


def frames(file, fps=1.0, taken=None):
    """Return times and images of the frames of a video, and what is known about it."""
    found = []
    with open(file, "rb") as stream:
        facts = read_video(
            stream,
            fps,
            taken,
            lambda at, raw: found.append((round(at, 3), Image.open(io.BytesIO(raw)))),
            lambda _: None,
        )
    return [at for at, _ in found], [image for _, image in found], facts


def noisy(file):
    """Write a video of ten seconds of which all parts have about the same size."""
    return film(file, [picture("red", number, 32) for number in range(100)], codec="mjpeg", pixels="yuvj420p")


def refused(file, told, **options):
    with pytest.raises(VideoError, match=told):
        frames(file, **options)


@pytest.mark.parametrize("name", KINDS)
def test_one_frame_per_second_is_taken_of_every_kind(tmp_path, name):
    times, images, facts = frames(clip(tmp_path / name, "red", "blue", **KINDS[name]))
    assert times == [0, 1, 2, 3]
    assert facts == (None, "")
    red, blue = ([tuple(np.asarray(images[i]).mean((0, 1)).round()) for i in some] for some in ((0, 1), (2, 3)))
    assert all(r > 180 > 80 > b for r, _, b in red)
    assert all(b > 180 > 80 > r for r, _, b in blue)


@pytest.mark.parametrize(
    ("fps", "times"),
    [
        (0.4, [0, 2.5]),
        (1, [0, 1, 2, 3]),
        (2, [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5]),
        (3, [0, 0.4, 0.7, 1, 1.4, 1.7, 2, 2.4, 2.7, 3, 3.4, 3.7]),  # the first at or after each third of a second
        (10, [i / 10 for i in range(40)]),
        (1000, [i / 10 for i in range(40)]),  # each frame once
    ],
)
def test_frames_at_a_rate(tmp_path, fps, times):
    assert frames(clip(tmp_path / "a.mkv", "red", "blue"), fps)[0] == times


@pytest.mark.parametrize(
    ("fps", "times"), [(1, [0, 2.5, 3]), (2, [0, 2.5, 3]), (10, [0, 0.4, 2.5, 2.6, 3]), (0.3, [0])]
)
@pytest.mark.parametrize("name", ["a.mkv", "a.mp4"])
def test_variable_frame_rate(tmp_path, name, fps, times):
    """The frame at 2.5 s is the first one after 1 s, and after 2 s; it is taken once."""
    file = film(tmp_path / name, plain("red", 5), times=[0, 400, 2500, 2600, 3000])
    assert frames(file, fps)[0] == times


@pytest.mark.parametrize(
    ("matrix", "corner", "size"),
    [
        ((1, 0, 0, 1), "left upper", (64, 48)),
        ((0, 1, -1, 0), "right upper", (48, 64)),  # a phone that was held upright
        ((-1, 0, 0, -1), "right lower", (64, 48)),
        ((0, -1, 1, 0), "left lower", (48, 64)),
        ((-1, 0, 0, 1), "right upper", (64, 48)),  # a mirror
        ((1, 0, 0, -1), "left lower", (64, 48)),
        ((0, 1, 1, 0), "left upper", (48, 64)),
        ((0, -1, -1, 0), "right lower", (48, 64)),
    ],
)
def test_frames_are_upright(tmp_path, matrix, corner, size):
    _, (image,), _ = frames(turn(film(tmp_path / "a.mp4", [quarters()] * 5), *matrix))
    assert image.size == size
    left, upper = ("left" in corner, "upper" in corner)
    x, y = (size[0] // 4 if left else 3 * size[0] // 4), (size[1] // 4 if upper else 3 * size[1] // 4)
    places = {
        (i, j): image.getpixel((i, j))
        for i in (size[0] // 4, 3 * size[0] // 4)
        for j in (size[1] // 4, 3 * size[1] // 4)
    }
    assert [place for place, (r, g, _) in places.items() if r > 180 > 80 > g] == [(x, y)]


@pytest.mark.parametrize(
    ("metadata", "taken", "begins"),
    [
        ({"creation_time": f"{TAKEN}.000000Z"}, None, BEGINS),
        ({"creation_time": f"{TAKEN}.000000Z"}, BEGINS + 100, BEGINS + 100),
        ({"creation_time": "1904-01-01T00:00:00.000000Z"}, None, None),
        ({"creation_time": "soon"}, None, None),
        ({}, None, None),
        ({}, BEGINS, BEGINS),
        # A phone says its own time; the other one is in UTC.
        ({"creation_time": f"{TAKEN}.0Z", "com.apple.quicktime.creationdate": LOCAL}, None, BEGINS + 7200),
    ],
)  # fmt: skip
def test_frames_know_when_they_were_taken(tmp_path, metadata, taken, begins):
    _, images, facts = frames(clip(tmp_path / "a.mov", "red", **metadata), 2, taken)
    assert facts.taken == begins
    known = [taken_at(image) for image in images]
    if begins is None:
        assert all(map(math.isnan, known))
    else:
        assert known == [begins, begins + 0.5, begins + 1, begins + 1.5]


@pytest.mark.parametrize("name", ["a.mkv", "a.mp4", "a.avi"])
def test_of_a_truncated_video_the_frames_before_its_end_are_taken(tmp_path, name):
    file = noisy(tmp_path / name)
    raw = file.read_bytes()
    file.write_bytes(raw[: len(raw) // 2])
    times, _, facts = frames(file)
    assert times in (list(range(n)) for n in (4, 5, 6))
    assert "damaged" in facts.damage or "it is incomplete: it ends after" in facts.damage
    # Without its index, which is at the end, nothing can be read.
    file.write_bytes(raw[:20])
    refused(file, "not a readable video")


def test_a_damaged_part_is_told(tmp_path):
    file = noisy(tmp_path / "a.avi")
    raw = bytearray(file.read_bytes())
    raw[len(raw) // 2 : len(raw) // 2 + 3000] = bytes(3000)
    file.write_bytes(raw)
    times, _, facts = frames(file)
    assert times[:3] == [0, 1, 2]
    assert times[-1] == 9
    assert facts.damage == "parts of it are damaged"


def test_what_is_not_a_video_is_refused(tmp_path):
    own = clip(tmp_path / "own.mts", "red")
    picture = io.BytesIO()
    quarters().save(picture, "PNG")
    contents = {
        "empty": b"",
        "text": b"some text" * 100,
        "image": picture.getvalue(),
        "list": f"ffconcat version 1.0\nfile {own}\n".encode(),
        "playlist": f"#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nfile://{own}\n#EXT-X-ENDLIST\n".encode(),
        "address": b"#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nhttp://localhost:9/a.ts\n#EXT-X-ENDLIST\n",
    }
    for name, content in contents.items():
        (tmp_path / f"{name}.mp4").write_bytes(content)
        refused(tmp_path / f"{name}.mp4", "not a readable video")


def test_a_video_without_a_readable_frame_is_refused(tmp_path):
    file = clip(tmp_path / "a.mp4", "red")
    raw = file.read_bytes()
    data = raw.find(b"mdat") + 4
    file.write_bytes(raw[:data] + bytes(len(raw) - data))
    refused(file, "no frame of it can be decoded")
    file = clip(tmp_path / "a.avi", "red", codec="huffyuv", pixels="rgb24")
    refused(file, "coded as huffyuv, which is not read")


def pretend(tmp_path, monkeypatch, code):
    """Let the child process find a module ``av`` of its own."""
    (tmp_path / "av.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("raise ImportError", 'pip install "opengcd.video.'),
        ("import os; os.abort()", r"crashes the decoder \(exit status -6\)"),
        ("x = bytearray(3 << 30)", "needs too much memory"),
        ("import os; os.write(4, b'e' + bytes(8) + b'\\xff' * 8); input()", "crashes the decoder|more than 1 seconds"),
        ("import time; time.sleep(60)", "more than 1 seconds"),
    ],
)
def test_a_decoder_that_fails_does_no_harm(tmp_path, monkeypatch, code, told):
    monkeypatch.setattr(messages, "SECONDS", 1.0)
    file = clip(tmp_path / "a.mp4", "red")
    pretend(tmp_path, monkeypatch, code)
    refused(file, told)
    assert "opengcd[video]" in MISSING


def test_the_process_ends_with_whoever_reads(tmp_path, monkeypatch):
    started = []
    start = child_process.start_child
    monkeypatch.setattr(
        process, "start_child", lambda *given, **more: started.append(start(*given, **more)) or started[0]
    )

    def interrupted(*_):
        raise KeyboardInterrupt

    with open(clip(tmp_path / "a.mp4", "red"), "rb") as file, pytest.raises(KeyboardInterrupt):
        read_video(file, 10, None, interrupted, lambda _: None)
    assert started[0].poll() is not None


def test_the_number_of_frames_is_limited(tmp_path, monkeypatch):
    file = clip(tmp_path / "a.mp4", "red")
    monkeypatch.setattr(messages, "MOST_FRAMES", 3)
    refused(file, "choose a lower rate", fps=4)
    assert len(frames(file)[0]) == 2
