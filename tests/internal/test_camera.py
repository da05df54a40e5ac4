"""What a camera wrote down about an image, from EXIF data written by hand; damaged data say nothing."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import ExifTags, Image
from PIL.TiffImagePlugin import IFDRational

from opengcd._internal.images import CameraNotes, decoders
from opengcd._internal.images.camera import read_notes

IFD, BASE, GPS = ExifTags.IFD, ExifTags.Base, ExifTags.GPS


def jpeg(base=(), shot=(), place=()):
    exif = Image.Exif()
    for tag, value in dict(base).items():
        exif[tag] = value
    for name, values in ((IFD.Exif, shot), (IFD.GPSInfo, place)):
        for tag, value in dict(values).items():
            exif.get_ifd(name)[tag] = value
    raw = io.BytesIO()
    Image.new("RGB", (8, 8)).save(raw, "JPEG", exif=exif)
    return raw.getvalue()


def test_time_camera_exposure_and_place():
    raw = jpeg(
        {BASE.Make: "Canon", BASE.Model: "Canon EOS R5"},
        {
            BASE.DateTimeOriginal: "2026:05:01 06:30:12",
            BASE.ExposureTime: IFDRational(1, 250),
            BASE.FNumber: IFDRational(28, 10),
            BASE.ISOSpeedRatings: 400,
            BASE.FocalLength: IFDRational(500, 1),
            BASE.LensModel: "RF 100-500",
        },
        {
            GPS.GPSLatitudeRef: "S",
            GPS.GPSLatitude: (IFDRational(33, 1), IFDRational(30, 1), IFDRational(36, 1)),
            GPS.GPSLongitudeRef: "E",
            GPS.GPSLongitude: (IFDRational(151, 1), IFDRational(0, 1), IFDRational(0, 1)),
        },
    )
    assert decoders().notes(raw) == CameraNotes(
        "2026-05-01 06:30:12", "Canon EOS R5", "RF 100-500", 0.004, 2.8, 400, 500, -33.51, 151.0
    )


@pytest.mark.parametrize(
    ("base", "camera"),
    [
        ({BASE.Make: "NIKON", BASE.Model: "D850"}, "NIKON D850"),
        ({BASE.Model: "D850"}, "D850"),
        ({BASE.Make: "NIKON"}, "NIKON"),
        ({BASE.Make: "\u202eevil\n", BASE.Model: "x" * 500}, None),
    ],
)
def test_the_name_of_the_camera(base, camera):
    found = decoders().notes(jpeg(base)).camera
    assert found == camera if camera else len(found) < 500
    assert found.isprintable()


@pytest.mark.parametrize(
    "place",
    [
        {GPS.GPSLatitude: (IFDRational(91, 1), IFDRational(0, 1), IFDRational(0, 1)), GPS.GPSLatitudeRef: "N"},
        {GPS.GPSLatitude: (IFDRational(1, 1), IFDRational(0, 1), IFDRational(0, 1))},
        {GPS.GPSLatitude: (IFDRational(1, 0), IFDRational(0, 1), IFDRational(0, 1)), GPS.GPSLatitudeRef: "N"},
    ],
)
def test_an_impossible_place_is_none(place):
    assert decoders().notes(jpeg(place=place)).latitude is None


def test_an_image_without_notes():
    assert decoders().notes(jpeg()) == CameraNotes()


JSON = st.recursive(st.none() | st.floats() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3))


@given(st.binary(max_size=60) | JSON.map(lambda found: json.dumps(found).encode()))
def test_any_reply_is_read(raw):
    assert isinstance(read_notes(raw), CameraNotes)
    assert read_notes(json.dumps({"camera": 5, "iso": "many", "lens": "a\0b"}).encode()) == CameraNotes(lens="ab")
