"""Make the folder of a workspace: a new one, or one whose first classes have not been learnt yet, with other settings.

Until the first classes are learnt, a workspace holds nothing that a person has done, only what was computed from
images. So an ``init`` that failed or was interrupted can be repeated with other settings.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import delete, func, select

from opengcd.workspace.errors import UnavailableError, WorkspaceError
from opengcd.workspace.opening import FILE, create_database, delete_database, has_contents, open_database
from opengcd.workspace.schema import meta, metadata, models
from opengcd.workspace.settings import FILE as SETTINGS_FILE
from opengcd.workspace.settings import Settings, read_settings, store_settings, write_settings


def make_workspace(folder: Path, settings: Settings) -> None:
    """Make a folder a workspace with a database; repeating it with the same settings changes nothing.

    Parameters
    ----------
    folder : path
        New, empty, or a workspace: with these settings, or one that has not learnt its first classes.
    settings : Settings

    Raises
    ------
    WorkspaceError
        If the folder is a workspace with other settings that has learnt classes, or holds something else.
    UnavailableError
        If another command uses the workspace, and its settings would change.

    """
    if (folder / SETTINGS_FILE).exists() and (found := read_settings(folder)) != settings:
        _replace_settings(folder, found, settings)
    create_database(folder, write_settings(folder, settings))


def _replace_settings(folder: Path, found: Settings, settings: Settings) -> None:
    """Give an unfinished workspace other settings; vectors of the same embedder are kept."""
    try:
        with FileLock(folder / ".lock", timeout=0):
            # Without any content, nothing was learnt; the database may even be the wrong setting.
            if has_contents(folder):
                _empty(folder, found, keep=_vectors_and_database(found) == _vectors_and_database(settings))
            store_settings(folder, replace(settings, id=found.id))
            if found.database is None and settings.database is not None:
                delete_database(folder / FILE)
    except Timeout:
        raise UnavailableError(
            f"Another command is using {folder}; wait for it, or stop it, before you change the settings."
        ) from None


def _empty(folder: Path, found: Settings, *, keep: bool) -> None:
    """Delete what was computed with other settings, unless it can be kept; refuse if classes were learnt."""
    database = open_database(folder, found)
    try:
        with database.writing() as connection:
            if connection.scalar(select(func.count()).select_from(models)):
                raise WorkspaceError(f"{folder} is already a workspace, with other settings; choose another folder.")
            if not keep:
                for table in reversed(metadata.sorted_tables):
                    if table is not meta:
                        connection.execute(delete(table))
    finally:
        database.close()
    if not keep:
        for name in ("features", "models", "thumbnails"):
            shutil.rmtree(folder / name, ignore_errors=True)


def _vectors_and_database(settings: Settings) -> tuple[object, ...]:
    return settings.embedder, settings.pooling, settings.precision, settings.database
