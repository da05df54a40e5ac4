"""When an image was taken, by the name of its file: for images whose EXIF data do not say."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime

STAMPS = (
    # 20240131_235959, IMG_20240131_235959, PXL_20240131_235959123 (with milliseconds), 20240131-235959
    re.compile(r"(?<![0-9])(\d{4})(\d\d)(\d\d)[-_ T](\d\d)(\d\d)(\d\d)(\d{3})?(?![0-9])"),
    # 20240131235959
    re.compile(r"(?<![0-9A-Za-z])(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)()(?![0-9A-Za-z])"),
    # 2024-01-31 23-59-59, CAM01__2024-01-31__23-59-59(1), 2024-01-31T23:59:59, ... 2024-01-31 at 23.59.59
    re.compile(
        r"(?<![0-9])(\d{4})[-_.](\d\d)[-_.](\d\d)(?:[-_ T.]{1,3}| at )(\d\d)[-_.:h](\d\d)[-_.:m](\d\d)()(?![0-9])"
    ),
    # 2024-01-31 235959
    re.compile(r"(?<![0-9])(\d{4})[-_.](\d\d)[-_.](\d\d)[-_ T]{1,2}(\d\d)(\d\d)(\d\d)()(?![0-9])"),
)
"""Year, month, day, hour, minute, second and milliseconds, as phones, cameras and camera traps write them."""
YEARS = range(1990, 2100)


def named_time(path: str | os.PathLike[str]) -> float | None:
    """Return when an image was taken, by the name of its file.

    Parameters
    ----------
    path : path

    Returns
    -------
    float or None
        Seconds since 1970, as if the camera's clock showed UTC; None if the name has no date with a time of day.

    """
    name = os.path.basename(path)
    for stamp in STAMPS:
        for found in stamp.finditer(name):
            *parts, milliseconds = found.groups()
            year, month, day, hour, minute, second = map(int, parts)
            try:
                taken = datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()
            except ValueError:  # digits that are no time
                continue
            if year in YEARS:
                return taken + int(milliseconds or 0) / 1000
    return None
