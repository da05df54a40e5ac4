"""``workspace.json``: the settings that a workspace was made with."""

from __future__ import annotations

import json
import os
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from opengcd._internal.durable_files import make_folder, replace_file
from opengcd._internal.limited_reading import read_limited
from opengcd.workspace.errors import WorkspaceError

FILE = "workspace.json"
FORMAT = "opengcd-workspace"
FORMAT_VERSION = 1
PRIVATE, PRIVATE_FOLDER = 0o600, 0o700
"""Modes of what only its owner may read: it has names of images, labels and the address of a database."""

LARGEST = 2**20
"""Bytes of the file."""


@dataclass(frozen=True)
class Settings:
    """How images become vectors, and how the recogniser is made; see :meth:`Workspace.create`."""

    embedder: str
    pooling: str = "cls"
    recognizer: dict[str, Any] = field(default_factory=dict)
    database: str | None = None
    precision: str = "auto"
    id: str | None = field(default=None, compare=False)
    """Also in the database, so that a workspace is not opened with another one's; None in those made before."""

    def __post_init__(self) -> None:
        """Refuse any database but that of the folder itself and PostgreSQL: a workspace may come from a stranger."""
        if self.database is not None and not str(self.database).startswith(("postgresql://", "postgresql+psycopg://")):
            raise WorkspaceError(
                f"The database {self.database!r} cannot be used; leave it out for SQLite in the workspace's folder, or "
                "give a URL as postgresql+psycopg://user@host/name."
            )

    @property
    def takes_vectors(self) -> bool:
        """Whether items are vectors that are given, instead of images."""
        return self.embedder == "vectors"

    @property
    def unit_length(self) -> bool:
        """Whether vectors are scaled to unit length: those of a network, as in the paper, but not plain pixels."""
        return self.embedder != "pixels"


def read_settings(folder: Path) -> Settings:
    """Return the settings of a workspace."""
    _refuse_links(folder)
    try:
        raw = read_limited(folder / FILE, LARGEST)
        document = None if raw is None else json.loads(raw)
    except (FileNotFoundError, NotADirectoryError):
        raise WorkspaceError(f"There is no workspace at {folder}; make one with opengcd init.") from None
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise WorkspaceError(f"{folder / FILE} cannot be read: {reason}.") from None
    if not isinstance(document, dict) or document.pop("format", None) != FORMAT:
        raise WorkspaceError(f"{folder / FILE} was not written by OpenGCD.")
    if document.pop("format_version", None) != FORMAT_VERSION:
        raise WorkspaceError(f"{folder} was made by another version of OpenGCD; use that version.")
    try:
        settings = Settings(**document)
    except TypeError as error:
        raise WorkspaceError(f"{folder / FILE} is damaged: {error}.") from None
    texts = (settings.embedder, settings.pooling, settings.precision, settings.database or "")
    if not all(isinstance(text, str) for text in texts) or not isinstance(settings.recognizer, dict):
        raise WorkspaceError(f"{folder / FILE} is damaged: a setting has a value of the wrong type.")
    return settings


def write_settings(folder: Path, settings: Settings) -> Settings:
    """Make a folder a workspace and return its settings; repeating it with the same settings changes nothing."""
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        shown = os.fsencode(folder).decode("utf-8", "backslashreplace")
        raise WorkspaceError(f"The name of {shown} is not valid text; give the workspace another name.") from None
    if (folder / FILE).exists():
        if (found := read_settings(folder)) != settings:
            raise WorkspaceError(f"{folder} is already a workspace, with other settings; choose another folder.")
        return found
    if folder.exists() and (not folder.is_dir() or any(not f.name.startswith(".") for f in folder.iterdir())):
        raise WorkspaceError(f"{folder} exists and is not a workspace; choose a new name or an empty folder.")
    make_folder(folder, PRIVATE_FOLDER)
    folder.chmod(PRIVATE_FOLDER)  # it may have been there
    settings = replace(settings, id=secrets.token_hex(8))
    store_settings(folder, settings)
    return settings


def store_settings(folder: Path, settings: Settings) -> None:
    """Write the settings of a workspace."""
    document = {"format": FORMAT, "format_version": FORMAT_VERSION, **asdict(settings)}
    replace_file(folder / FILE, json.dumps(document, indent=1).encode(), mode=PRIVATE)


def _refuse_links(folder: Path) -> None:
    """Refuse a workspace that has its files elsewhere: it may come from a stranger and lead into another one."""
    with suppress(OSError):  # the reader of the settings reports what is wrong
        for file in folder.iterdir():
            if file.is_symlink():
                raise WorkspaceError(
                    f"{file} is a link; a workspace holds its files itself. Replace the link by its target, or "
                    "link to the whole workspace."
                )
