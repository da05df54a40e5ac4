"""Read CSV as spreadsheets save it: with commas, or with semicolons or tabs where the comma separates decimals."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

DELIMITERS = ",;\t"


def read_cells(text: str) -> Iterator[list[str]]:
    """Return the cells of each line; the delimiter is the one that the first line has most often."""
    delimiter = max(DELIMITERS, key=text.partition("\n")[0].count)
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
