"""Perceptual hashes, and when an image was taken."""

import io

import numpy as np
import pytest
from PIL import ExifTags, Image

from opengcd._internal.images import CAPTURE, Capture, Square, decoders, open_image
from opengcd._internal.images.captures import difference_hash, taken_at

SECOND = 1_714_545_012  # 2024-05-01 06:30:12 UTC


def stamped(image, stamp=None, part=None, format="JPEG"):
    exif = Image.Exif()
    if stamp is not None:
        exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] = stamp
    if part is not None:
        exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.SubsecTimeOriginal] = part
    file = io.BytesIO()
    image.save(file, format, exif=exif)
    return file.getvalue()


def taken(raw):
    with open_image(io.BytesIO(raw)) as opened:
        return taken_at(opened)


def columns(*greys):
    """Return an image of 9 columns that are 10 pixels wide."""
    return Image.fromarray(np.repeat(np.array([greys], dtype=np.uint8), 10, axis=1).repeat(80, axis=0)).convert("RGB")


def test_a_bit_says_that_a_part_is_brighter_than_the_next():
    falling = columns(*range(250, 25, -25))
    assert difference_hash(falling) == 2**64 - 1
    assert difference_hash(columns(*range(0, 225, 25))) == 0
    assert difference_hash(columns(50, 0, *[200] * 7)) == int("10000000" * 8, 2)


def test_small_changes_change_few_bits():
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 200, (9, 9, 3)).repeat(20, 0).repeat(20, 1).astype(np.uint8)
    first = difference_hash(Image.fromarray(pixels))
    lighter = difference_hash(Image.fromarray(pixels + 30))
    other = difference_hash(Image.fromarray(rng.integers(0, 200, pixels.shape).astype(np.uint8)))
    assert (first ^ lighter).bit_count() <= 2
    assert (first ^ other).bit_count() > 16


@pytest.mark.parametrize(
    ("stamp", "part", "seconds"),
    [
        ("2024:05:01 06:30:12", None, SECOND),
        ("2024:05:01 06:30:12", "25", SECOND + 0.25),
        ("2024:05:01 06:30:12", "x", SECOND),
    ],
)
def test_the_camera_says_when(stamp, part, seconds):
    assert taken(stamped(Image.new("RGB", (20, 20)), stamp, part)) == seconds


@pytest.mark.parametrize("stamp", [None, "", "0000:00:00 00:00:00", "yesterday", "2024-05-01 06:30:12"])
def test_or_it_does_not(stamp):
    assert np.isnan(taken(stamped(Image.new("RGB", (20, 20)), stamp)))


@pytest.mark.filterwarnings("ignore")
def test_damaged_exif_data_are_no_reason_to_refuse_an_image():
    raw = stamped(Image.new("RGB", (20, 20)), "2024:05:01 06:30:12")
    at = raw.index(b"2024:05:01")
    for place in range(raw.index(b"Exif"), at, 3):
        broken = raw[:place] + b"\xff" + raw[place + 1 :]
        assert np.isnan(taken(broken)) or taken(broken) == SECOND


def test_decoders_say_how_an_image_was_taken():
    image = columns(*range(0, 225, 25))
    raw = stamped(image, "2024:05:01 06:30:12")
    assert decoders().image(raw).info[CAPTURE] == Capture(0, SECOND)
    ((_, square),) = decoders().stream([raw], bytes, Square(32, 32, 3))
    assert square.capture.taken == SECOND
    ((_, square),) = decoders().stream([stamped(image)], bytes, Square(32, 32, 3))
    assert square.capture.taken is None
