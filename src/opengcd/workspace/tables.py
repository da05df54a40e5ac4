"""Tables that people bring, as spreadsheets save them: CSV in UTF-8, with commas, semicolons or tabs between cells."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from typing import NamedTuple

from opengcd._internal.delimited import read_cells
from opengcd._internal.limited_reading import read_limited
from opengcd.workspace.errors import WorkspaceError

LARGEST = 2**30
"""Bytes of a table."""


class Row(NamedTuple):
    """A line of a table."""

    where: str
    """The file and the number of the line, for messages."""
    cells: dict[str, str]
    """The cells by the names of their columns."""


class Table(NamedTuple):
    """A table with the names of its columns in the first line."""

    columns: list[str]
    rows: list[Row]


def read_text(file: str | os.PathLike[str]) -> str:
    """Return the text of a file that a person has given.

    Parameters
    ----------
    file : path

    Returns
    -------
    str

    Raises
    ------
    WorkspaceError
        If it cannot be read, is too large, or is not text in UTF-8.

    """
    try:
        raw = read_limited(file, LARGEST)
    except OSError as error:
        raise WorkspaceError(f"{file} cannot be read: {error.strerror or error}.") from None
    if raw is None:
        raise WorkspaceError(f"{file} is larger than {LARGEST >> 20} MiB; split it.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise WorkspaceError(f"{file} is not text in UTF-8; save it as “CSV UTF-8”.") from None


def read_table(file: str | os.PathLike[str]) -> Table:
    """Read a table; see :func:`parse_table`.

    Parameters
    ----------
    file : path

    Returns
    -------
    Table

    Raises
    ------
    WorkspaceError
        If it cannot be read, or is not a table.

    """
    return parse_table(read_text(file), str(file))


def parse_table(text: str, name: str) -> Table:
    """Return the table in a text. Empty lines are skipped.

    Parameters
    ----------
    text : str
    name : str
        The name of its file, for messages.

    Returns
    -------
    Table

    Raises
    ------
    WorkspaceError
        If it is not a table, or a line has another number of cells than the first one.

    """
    lines = read_cells(text)
    try:
        columns = [column.strip() for column in next(lines, [])]
        return Table(columns, list(_rows(lines, columns, name)))
    except csv.Error as error:
        raise WorkspaceError(f"{name} is not CSV: {error}.") from None


def _rows(lines: Iterator[list[str]], columns: list[str], name: str) -> Iterator[Row]:
    for number, cells in enumerate(lines, 2):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(columns):
            told = f"it has {len(cells)} cells, and the first line {len(columns)}"
            raise WorkspaceError(f"{name}, row {number}: {told}.")
        yield Row(f"{name}, row {number}", dict(zip(columns, cells, strict=True)))
