"""Times in the names of files."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from sqlalchemy import select

from opengcd.workspace.named_times import named_time
from opengcd.workspace.schema import captures
from tests.helpers.pictures import picture

LAST = datetime(2024, 1, 31, 23, 59, 59, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "name",
    [
        "IMG_20240131_235959.jpg", "20240131_235959.jpg", "20240131-235959_001.jpg", "20240131235959.JPG",
        "2024-01-31 23-59-59.jpg", "2024-01-31 23-59-59 M 1_3.JPG", "CAM01__2024-01-31__23-59-59(1).JPG",
        "2024-01-31T23:59:59.png", "WhatsApp Image 2024-01-31 at 23.59.59.jpeg", "2024_01_31_23_59_59.jpg",
        "Screenshot_2024-01-31-23-59-59.png", "2024-01-31 235959.jpg", "DSC_9999_20240131_235959.jpg",
    ],
)  # fmt: skip
def test_names_with_a_time(name):
    assert named_time(name) == named_time(f"20230101_000000/{name}") == LAST


def test_milliseconds():
    assert named_time("PXL_20240131_235959123.jpg") == pytest.approx(LAST + 0.123, abs=1e-6)


@pytest.mark.parametrize(
    "name",
    [
        "IMG_0001.jpg", "2024-01-31.jpg", "20240131.jpg", "IMG-20240131-WA0001.jpg", "20241331_235959.jpg",
        "20240131_245959.jpg", "18990131_235959.jpg", "20230229_120000.jpg", "a20240131235959b.jpg",
        "920240131_235959.jpg", "20240131_2359599.jpg", "2024-01-31-1200-800.jpg",
        "0420240131235959" + "ab" * 24 + ".jpg",
    ],
)  # fmt: skip
def test_names_without_a_time(name):
    assert named_time(name) is None


@given(
    st.datetimes(datetime(1990, 1, 1), datetime(2099, 12, 31)), st.sampled_from(["%Y%m%d_%H%M%S", "%Y-%m-%d %H.%M.%S"])
)
def test_each_time_is_read_back(time, form):
    expected = time.replace(microsecond=0, tzinfo=UTC).timestamp()
    assert named_time(f"x_{time.strftime(form)}.jpg") == expected


def test_exif_data_come_first(workspace, tmp_path):
    exif = Image.Exif()
    exif.get_ifd(0x8769)[0x9003] = "2020:05:01 06:30:12"
    picture("red", 901).save(tmp_path / "IMG_20240131_235959.jpg", exif=exif)
    picture("red", 902).save(tmp_path / "IMG_20240131_235959.png")
    picture("red", 903).save(tmp_path / "plain.png")
    found = {one.path.rpartition("/")[2]: one.item for one in workspace.recognize([tmp_path])}
    with workspace.store.database.reading() as connection:
        taken = {row.item_id: row.taken for row in connection.execute(select(captures))}
    assert taken[found["IMG_20240131_235959.jpg"]] == datetime(2020, 5, 1, 6, 30, 12, tzinfo=UTC).timestamp()
    assert taken[found["IMG_20240131_235959.png"]] == LAST
    assert taken[found["plain.png"]] is None
