"""The folder of projects: its place, the projects in it, and those that were added from elsewhere."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from opengcd._internal.durable_files import make_folder, replace_file, sync_folder
from opengcd._internal.limited_reading import read_limited
from opengcd.service.adding import Watched
from opengcd.workspace import MissingError, WorkspaceError
from opengcd.workspace.settings import FILE, PRIVATE, PRIVATE_FOLDER

VARIABLE = "OPENGCD_PROJECTS"
"""The environment variable that names the folder of projects."""
STATE = ".opengcd"
"""The folder in it that holds sign-ins, uploads and the list of other projects."""
UNFINISHED = ".creating"
"""The file that marks the folder of a project that is being created; it may be deleted if nobody creates it."""
LONGEST_NAME = 60
MOST_STATE = 2**20
"""Bytes of a file with the state."""
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""Names that Windows does not allow."""


def default_folder() -> Path:
    """Return the folder of projects of the user, by the customs of the system."""
    if given := os.environ.get(VARIABLE):
        return Path(given)
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "OpenGCD" / "projects"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "OpenGCD" / "projects"
    return Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "opengcd" / "projects"


def check_project_name(name: str) -> str:
    """Return the name of a new project, with single spaces.

    Parameters
    ----------
    name : str

    Returns
    -------
    str

    Raises
    ------
    WorkspaceError
        If no folder can have this name on all systems.

    """
    name = " ".join(unicodedata.normalize("NFC", name).split())
    if not name:
        raise WorkspaceError("Give the project a name.")
    if not re.fullmatch(r"[^\W_][\w .()-]*", name) or name[-1] == "." or RESERVED.fullmatch(name):
        raise WorkspaceError(
            f"{name[:LONGEST_NAME]!r} cannot be the name of a project: use letters, digits, spaces, hyphens and dots, "
            "and begin with a letter or a digit."
        )
    if len(name) > LONGEST_NAME:
        raise WorkspaceError(f"The name of a project may have at most {LONGEST_NAME} characters.")
    return name


class ProjectFolder:
    """A folder of projects; each project is a workspace in it, or one elsewhere that was added by its path.

    Parameters
    ----------
    path : path
        It is made if it does not exist.

    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        self.state = self.path / STATE
        if self.path.exists() and not self.path.is_dir():
            raise WorkspaceError(f"{self.path} is not a folder; choose a folder for your projects.")
        if (self.path / FILE).exists():
            raise WorkspaceError(
                f"{self.path} is itself a workspace; open it with `opengcd serve`, or choose the folder that holds it."
            )
        if not self.state.exists():
            make_folder(self.state, PRIVATE_FOLDER)
        self.state.chmod(PRIVATE_FOLDER)
        self._lock = FileLock(self.state / "lock", thread_local=False)

    @contextmanager
    def serving(self) -> Iterator[bool]:
        """Hold the folder for one server; yield whether it is free."""
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            yield False
            return
        (self.state / "address.json").unlink(missing_ok=True)  # of a server that was killed
        try:
            yield True
        finally:
            (self.state / "address.json").unlink(missing_ok=True)
            self._lock.release()

    @property
    def address(self) -> str | None:
        """The address of the server that runs; None if there is none, or it is just starting."""
        found = self._read("address.json")
        return found if isinstance(found, str) else None

    @address.setter
    def address(self, address: str) -> None:
        self._write("address.json", address)

    def projects(self) -> dict[str, Path]:
        """Return the folder of each project by its key, which is its name in addresses; sorted by name."""
        inside = {
            folder.name: folder
            for folder in self._folders()
            if not folder.name.startswith(".") and _looks_like_project(folder)
        }
        found = inside | {_key_of(Path(path)): Path(path) for path in self._elsewhere()}
        return dict(sorted(found.items(), key=lambda one: one[0].casefold()))

    def project(self, key: str) -> Path:
        """Return the folder of a project.

        Parameters
        ----------
        key : str

        Returns
        -------
        Path

        Raises
        ------
        MissingError
            If there is no such project.

        """
        found = self.projects().get(key)
        if found is None:
            raise MissingError(f"There is no project {key!r} here.")
        return found

    def add(self, path: str | os.PathLike[str]) -> str:
        """Add a workspace that lies elsewhere; return its key.

        Parameters
        ----------
        path : path

        Returns
        -------
        str

        Raises
        ------
        WorkspaceError
            If it is not a workspace.

        """
        folder = Path(os.path.abspath(Path(path).expanduser()))
        if not folder.is_dir() or not _looks_like_project(folder):
            raise WorkspaceError(
                f"{folder} is not a project: a project is a folder with the file {FILE}, as `opengcd init` makes it."
            )
        if folder.parent == self.path:
            return folder.name
        if str(folder) not in (there := self._elsewhere()):
            self._write("elsewhere.json", [*there, str(folder)])
        return _key_of(folder)

    def forget(self, key: str) -> None:
        """Take a project from elsewhere off the list; its files stay.

        Parameters
        ----------
        key : str

        Raises
        ------
        MissingError
            If no project from elsewhere has this key.

        """
        there = self._elsewhere()
        rest = [path for path in there if _key_of(Path(path)) != key]
        if len(rest) == len(there):
            raise MissingError(f"No project {key!r} was added from elsewhere.")
        self._write("elsewhere.json", rest)

    def is_elsewhere(self, key: str) -> bool:
        """Return whether a project was added from elsewhere."""
        return any(_key_of(Path(path)) == key for path in self._elsewhere())

    def check_new(self, name: str) -> Path:
        """Return the folder that a new project would get.

        Parameters
        ----------
        name : str

        Returns
        -------
        Path

        Raises
        ------
        WorkspaceError
            If the name cannot be used, or is in use.

        """
        name = check_project_name(name)
        taken = {folder.name.casefold() for folder in self.path.iterdir()}
        if name.casefold() in taken:
            raise WorkspaceError(f"There is already something called {name!r} in {self.path}; choose another name.")
        return self.path / name

    def begin(self, name: str) -> Path:
        """Make the folder of a new project, which is marked as unfinished.

        Parameters
        ----------
        name : str

        Returns
        -------
        Path

        """
        target = self.check_new(name)
        beginning = self.state / "beginning"
        shutil.rmtree(beginning, ignore_errors=True)
        make_folder(beginning, PRIVATE_FOLDER)
        replace_file(beginning / UNFINISHED, b"This project is being created.\n", mode=PRIVATE)
        beginning.rename(target)  # so a folder with the mark was always made here
        return target

    @staticmethod
    def finish(folder: Path) -> None:
        """Make a new project visible.

        Parameters
        ----------
        folder : Path

        """
        (folder / UNFINISHED).unlink()
        sync_folder(folder)  # else the mark may return after a power failure, and `clean` would delete the project

    def clean(self) -> None:
        """Delete what unfinished creations have left behind; for the one server of the folder."""
        shutil.rmtree(self.state / "beginning", ignore_errors=True)
        for folder in self._folders():
            if (folder / UNFINISHED).exists():
                discard(folder)

    def watched(self) -> dict[str, Watched]:
        """Return the folder that each project watches, by its key."""
        found = self._read("watched.json")
        noted = found.items() if isinstance(found, dict) else ()
        return {key: Watched(*watched) for key, watched in noted if _is_watched(watched)}

    def watch(self, key: str, watched: Watched | None) -> None:
        """Note which folder a project watches.

        Parameters
        ----------
        key : str
        watched : Watched or None
            None if it watches none any more.

        """
        others = {other: folder for other, folder in self.watched().items() if other != key}
        self._write("watched.json", others if watched is None else others | {key: watched})

    def remember(self, name: str, content: Any) -> None:
        """Store a piece of state, as JSON; None deletes it.

        Parameters
        ----------
        name : str
        content : JSON

        """
        if content is None:
            (self.state / f"{name}.json").unlink(missing_ok=True)
        else:
            self._write(f"{name}.json", content)

    def recall(self, name: str) -> Any:
        """Return a piece of state; None if there is none.

        Parameters
        ----------
        name : str

        Returns
        -------
        JSON

        """
        return self._read(f"{name}.json")

    def _folders(self) -> list[Path]:
        with suppress(OSError):
            return [entry for entry in self.path.iterdir() if entry.is_dir() and entry.name != STATE]
        return []

    def _elsewhere(self) -> list[str]:
        found = self._read("elsewhere.json")
        return [path for path in found if isinstance(path, str)] if isinstance(found, list) else []

    def _read(self, name: str) -> Any:
        with suppress(OSError, ValueError, RecursionError):  # what is damaged is written again
            raw = read_limited(self.state / name, MOST_STATE)
            return None if raw is None else json.loads(raw)
        return None

    def _write(self, name: str, content: Any) -> None:
        replace_file(self.state / name, json.dumps(content).encode(), mode=PRIVATE)


def discard(folder: Path) -> None:
    """Delete the folder of an unfinished project; the mark goes last, so that this can be continued."""
    for entry in folder.iterdir():
        if entry.name == UNFINISHED:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)
    (folder / UNFINISHED).unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def _looks_like_project(folder: Path) -> bool:
    """Whether a folder is a project, perhaps a damaged one."""
    try:
        there = {name for name in (FILE, "workspace.db", UNFINISHED) if (folder / name).exists()}
    except OSError:
        return False
    return bool(there) and UNFINISHED not in there


def _key_of(folder: Path) -> str:
    """Return the key of a project elsewhere; a tilde is in no name, and the digits tell equal names apart."""
    return f"{folder.name}~{hashlib.sha256(os.fsencode(folder)).hexdigest()[:6]}"


def _is_watched(noted: Any) -> bool:
    """Whether a note of what is watched is whole: a folder and a rate."""
    return isinstance(noted, list) and [type(part) for part in noted] == [str, float]
