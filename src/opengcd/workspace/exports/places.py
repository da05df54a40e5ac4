"""Where and when cameras were: a table of deployments, from which images get coordinates and a time zone."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.tables import parse_table, read_text

FOLDER = "folder"
"""The one column that Camtrap DP does not have: where the images of a deployment are."""
NEEDED = ("deploymentID", "latitude", "longitude", "deploymentStart", "deploymentEnd", FOLDER)


@dataclass(frozen=True)
class Place:
    """A deployment: a camera at one place for some time."""

    id: str
    latitude: float
    longitude: float
    start: datetime
    end: datetime
    row: Mapping[str, str]
    """All columns of the table but ``folder``, as they were given."""


@dataclass(frozen=True)
class Places:
    """Deployments by the folder of their images."""

    by_folder: Mapping[str, Place]
    """By absolute paths, or by the ends of paths; ``.`` means every folder."""
    columns: Sequence[str]
    """Those of the table but ``folder``."""

    def of_files(self, files: Sequence[str]) -> Place | None:
        """Return the deployment of the first file that is in, or below, the folder of one; the innermost counts.

        Parameters
        ----------
        files : sequence of str
            Absolute paths.

        Returns
        -------
        Place or None

        """
        for file in files:
            folder = os.path.dirname(file)
            while True:
                if (place := self._at(folder)) is not None:
                    return place
                if (above := os.path.dirname(folder)) == folder:
                    break
                folder = above
        return self.by_folder.get(os.curdir)

    def _at(self, folder: str) -> Place | None:
        ends = [folder, *(os.path.join(*Path(folder).parts[start:]) for start in range(1, len(Path(folder).parts)))]
        return next((self.by_folder[end] for end in ends if end in self.by_folder), None)

    def all(self) -> list[Place]:
        """Return the deployments in the order of the table."""
        return list({place.id: place for place in self.by_folder.values()}.values())


def read_places(table: str | os.PathLike[str]) -> Places:
    """Read a table of deployments.

    Parameters
    ----------
    table : path
        CSV with the columns of ``deployments.csv`` of Camtrap DP, as many as are known, and the column ``folder``: the
        folder of the images of the deployment, relative to that of the table. A deployment may have several lines that
        differ in their folder only.

    Returns
    -------
    Places

    Raises
    ------
    WorkspaceError
        If a column is missing, or a value cannot be used.

    """
    return places_from(read_text(table), str(table), os.path.dirname(os.path.abspath(table)))


def places_from(text: str, table: str, base: str = "") -> Places:
    """Read deployments from the text of a table.

    Parameters
    ----------
    text : str
        As for :func:`read_places`.
    table : str
        What to call it in messages.
    base : str
        The folder that the folders are relative to; if it is empty, they are the ends of paths, such as ``cam1``.

    Returns
    -------
    Places

    """
    places: dict[str, Place] = {}
    rows: dict[str, Mapping[str, str]] = {}
    columns, given = parse_table(text, table)
    if missing := [name for name in NEEDED if name not in columns]:
        raise WorkspaceError(f"{table} has no column {missing[0]!r}; it needs {', '.join(NEEDED)}.")
    for where, cells in given:
        folder = os.path.normpath(os.path.join(base, cells[FOLDER]))
        row = {name: cell.strip() for name, cell in cells.items() if name != FOLDER}
        id = row["deploymentID"]
        if not id:
            raise WorkspaceError(f"{where}: the deploymentID is empty.")
        if rows.setdefault(id, row) != row:
            raise WorkspaceError(f"{where}: there are two different deployments {id!r}.")
        if folder in places and places[folder].id != id:
            raise WorkspaceError(f"{where}: the folder {folder} belongs to the deployment {places[folder].id!r}.")
        coordinates = _number(where, row, "latitude", 90), _number(where, row, "longitude", 180)
        times = _time(where, row, "deploymentStart"), _time(where, row, "deploymentEnd")
        places[folder] = Place(id, *coordinates, *times, row)
    if not places:
        raise WorkspaceError(f"{table} has no deployment.")
    return Places(places, [name for name in columns if name != FOLDER])


def _number(where: str, row: Mapping[str, str], name: str, most: float) -> float:
    try:
        value = float(row[name])
    except ValueError:
        value = math.nan
    if not abs(value) <= most:
        raise WorkspaceError(f"{where}: {name} {row[name]!r} is not a number from {-most:g} to {most:g}.")
    return value


def _time(where: str, row: Mapping[str, str], name: str) -> datetime:
    try:
        value = datetime.fromisoformat(row[name])
    except ValueError:
        value = datetime.min
    if value.tzinfo is None:
        raise WorkspaceError(
            f"{where}: {name} {row[name]!r} is not a time with a zone; write it as 2024-05-01T06:30:12+02:00."
        )
    return value
