"""Squares of images are made by the decoder processes, and are those that transformers' processors make."""

import io
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest
import transformers
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image

from opengcd._internal.images import Decoders, Prepared, Square, centered, decoders, read_image
from opengcd._internal.images import messages as protocol
from opengcd._internal.images import pool as module
from opengcd.embed import EmbedderError

BILINEAR, BICUBIC, LANCZOS = (Image.Resampling[name].value for name in ("BILINEAR", "BICUBIC", "LANCZOS"))
CROPPED = {"height": 32, "width": 32}
PROCESSORS = {
    "shorter side": (
        transformers.BitImageProcessorPil(size={"shortest_edge": 37}, crop_size=CROPPED, resample=BICUBIC),
        Square(37, 32, BICUBIC),
    ),
    "all of the shorter side": (
        transformers.CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size=CROPPED, resample=LANCZOS),
        Square(32, 32, LANCZOS),
    ),
    "whole": (
        transformers.ViTImageProcessorPil(size=CROPPED, resample=BILINEAR),
        Square(32, 32, BILINEAR, whole=True),
    ),
    "whole and cropped": (
        transformers.DeiTImageProcessorPil(size={"height": 41, "width": 41}, crop_size=CROPPED, resample=BICUBIC),
        Square(41, 32, BICUBIC, whole=True),
    ),
}
SQUARE = Square(37, 32, BICUBIC)


def noise(width, height, seed=0):
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8))


def encoded(image, format="PNG", **options):
    stream = io.BytesIO()
    image.save(stream, format, **options)
    return stream.getvalue()


def prepared(raw, shape=SQUARE):
    ((_, found),) = decoders().stream([raw], bytes, shape)
    return found


@pytest.fixture
def own():
    found = Decoders(2)
    yield found
    found.close()


# The same pixels.


@pytest.mark.parametrize("name", PROCESSORS)
@settings(max_examples=60, deadline=None)
@given(width=st.integers(1, 300), height=st.integers(1, 300), seed=st.integers(0, 9))
@example(1, 1, 0).via("one pixel")
@example(37, 37, 0).via("nothing to resize")
@example(1, 300, 0).via("more than 100 times as long as wide")
@example(299, 2, 0).via("more than 100 times as wide as long")
@example(1000, 750, 0).via("large")
def test_a_square_is_what_the_processor_makes(name, width, height, seed):
    processor, square = PROCESSORS[name]
    image = noise(width, height, seed)
    (expected,) = processor(images=[centered(image)], return_tensors="np", do_rescale=False, do_normalize=False)[
        "pixel_values"
    ]
    np.testing.assert_array_equal(np.asarray(square.of(image)).transpose(2, 0, 1), expected)


def test_a_square_by_hand():
    """The left half is dark. Two of six columns remain: the third and the fourth."""
    image = Image.fromarray(np.repeat([[10] * 3 + [200] * 3], 2, axis=0).astype(np.uint8)).convert("RGB")
    assert np.asarray(Square(2, 2, BICUBIC).of(image))[..., 0].tolist() == [[10, 200], [10, 200]]


def test_a_crop_is_not_larger_than_the_image():
    for crop in (0, 5):
        with pytest.raises(ValueError, match="crop must be from 1 to resize, 4"):
            Square(4, crop, BICUBIC)


def turned(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


@pytest.mark.parametrize("format", ["JPEG", "PNG", "TIFF", "WEBP"])
@pytest.mark.parametrize("orientation", [1, 3, 6])
@pytest.mark.parametrize("fast", [False, True])
def test_images_are_turned_and_their_own_size_is_told(format, orientation, fast):
    raw = encoded(noise(300, 201), format, exif=turned(orientation))
    whole = read_image(io.BytesIO(raw))
    found = prepared(raw, Square(37, 32, BICUBIC, fast=fast))
    assert isinstance(found, Prepared)
    assert found.size == whole.size == ((201, 300) if orientation == 6 else (300, 201))
    assert (found.pixels.shape, found.pixels.dtype) == ((32, 32, 3), np.uint8)
    if not fast or format != "JPEG":
        np.testing.assert_array_equal(found.pixels, np.asarray(SQUARE.of(whole)))


def test_an_image_can_be_left_as_it_is_stored():
    image = noise(60, 50)
    raw = encoded(image, exif=turned(6))
    found = prepared(raw, Square(37, 32, BICUBIC, upright=False))
    assert found.size == (60, 50)
    np.testing.assert_array_equal(found.pixels, np.asarray(SQUARE.of(image)))


def test_fast_squares_differ_little_and_only_where_the_image_is_much_larger():
    soft = noise(12, 9).resize((1200, 900), Image.Resampling.BICUBIC)
    for image, same in ((soft, False), (soft.resize((100, 75)), True)):
        raw = encoded(image, "JPEG", quality=95)
        exact, fast = (prepared(raw, Square(37, 32, BICUBIC, fast=f)).pixels.astype(int) for f in (False, True))
        assert np.array_equal(exact, fast) == same
        assert np.abs(exact - fast).mean() < 2


# A stream of them.


def test_a_stream_of_squares_keeps_the_order_and_says_what_is_wrong(own):
    sizes = [(40 + i % 40, 50) if i % 5 else (1200, 1000 + i) for i in range(60)]
    files = [encoded(noise(*size, seed=i), "JPEG") for i, size in enumerate(sizes)]
    files[7], files[10], files[11] = b"", files[10][:400], b"no image"

    def read(row):
        if row == 13:
            raise EmbedderError("it is gone")
        return files[row]

    found = list(own.stream(range(60), read, SQUARE))
    assert [row for row, _ in found] == list(range(60))
    reasons = {row: image for row, image in found if isinstance(image, str)}
    whole = {row: image for row, image in own.stream(range(60), read) if isinstance(image, str)}
    assert reasons == whole
    assert reasons.keys() == {7, 10, 11, 13}
    for row, square in found:
        if row not in reasons:
            assert square.size == sizes[row]
            expected = SQUARE.of(read_image(io.BytesIO(files[row])))
            np.testing.assert_array_equal(square.pixels, np.asarray(expected))


def test_of_large_images_few_are_decoded_at_a_time(own, monkeypatch):
    monkeypatch.setattr(module, "PIXELS_AT_ONCE", 5_000_000)
    raw = encoded(Image.new("L", (2000, 1000)))
    begun, request = [], protocol.REQUEST

    class Noted:
        @staticmethod
        def pack(wish, most, side, length):
            if most > module.SMALL:
                begun.append(length)
            return request.pack(wish, most, side, length)

    monkeypatch.setattr(protocol, "REQUEST", Noted)
    with closing(own.stream([raw] * 20, bytes, SQUARE)) as stream:
        for number in range(1, 21):
            next(stream)
            assert len(begun) <= number + 2
    assert len(begun) == 20


def test_a_long_image_is_not_blown_up_in_the_decoder():
    """A file of a few kilobytes could take gigabytes; all but the centre is dropped before it is resized."""
    long = Image.new("RGB", (600_000, 1), "red")
    long.paste("blue", (299_900, 0, 300_100, 1))
    found = prepared(encoded(long), Square(256, 224, BICUBIC))
    assert found.size == (600_000, 1)
    assert np.unique(found.pixels.reshape(-1, 3), axis=0).tolist() == [[0, 0, 255]]


def test_a_crash_costs_one_image(own, monkeypatch):
    """The decoder of every file that asks for it ends by itself."""
    good = encoded(noise(50, 40))
    code = (
        "import os; from opengcd._internal.images import worker; make = worker.open_image\n"
        "def open_image(file, **options):\n"
        "    if file.getvalue() == b'crash': os.abort()\n"
        "    return make(file, **options)\n"
        "worker.open_image = open_image; worker.main()"
    )
    monkeypatch.setattr(
        module,
        "start_child",
        lambda _: subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE),
    )
    found = list(own.stream(range(30), lambda row: b"crash" if row % 7 == 3 else good, SQUARE))
    assert [row for row, _ in found] == list(range(30))
    for row, square in found:
        if row % 7 == 3:
            assert "crashes the decoder (exit status -6)" in square
        else:
            assert square.size == (50, 40)


@pytest.mark.parametrize(
    ("size", "length"), [((3, 3), 5), ((3, 3), 2**60), ((0, 3), 3 * 32**2), ((2**31, 2**31), 3 * 32**2)]
)
def test_a_decoder_that_was_taken_over_can_do_no_more_than_refuse(own, monkeypatch, size, length):
    answer = protocol.REPLY.pack(protocol.READY, 0, 0, 0) + protocol.REPLY.pack(protocol.DONE, *size, length)
    code = (
        f"import sys; sys.stdout.buffer.write({answer!r} + bytes({min(length, 4000)})); sys.stdout.flush(); "
        "sys.stdin.read()"
    )
    monkeypatch.setattr(
        module,
        "start_child",
        lambda _: subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE),
    )
    try:
        ((_, found),) = own.stream([b"anything"], bytes, SQUARE)
    except OSError as error:
        found = str(error)
    assert "crashes the decoder" in found or "sent an invalid reply" in found
