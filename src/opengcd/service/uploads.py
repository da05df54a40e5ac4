"""Files that a browser sends in pieces; an upload that was interrupted goes on where it ended."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi import Path as InPath
from fastapi.concurrency import run_in_threadpool

from opengcd._internal.durable_files import make_folder, sync_folder, sync_tree
from opengcd.service import wire as api
from opengcd.service.archives import MOST_BYTES, largest, safe_parts, skipped, unpack
from opengcd.service.authentication import MISSING, guarded
from opengcd.workspace import MissingError, UnavailableError, WorkspaceError
from opengcd.workspace.settings import PRIVATE, PRIVATE_FOLDER

PIECE = 8 * 2**20
"""Maximal bytes of a piece."""
MOST_UPLOADS = 20
"""Uploads that are kept; the oldest are deleted."""
LASTS = 14 * 86400.0
"""Seconds for which an upload is kept that nobody continues."""
SPARE = 2**30
"""Bytes of the disk that stay free."""
PIECES = re.compile(r"/api/v1/uploads/[0-9a-f]{16}/file")


def is_piece(path: str) -> bool:
    """Return whether requests for a path bring a piece of a file."""
    return PIECES.fullmatch(path) is not None


class Uploads:
    """Uploads in a folder of their own, which survive a restart.

    A piece is acknowledged when it is written. A file that is complete is moved to ``files``, under its name; one that
    is not is in ``parts``, with its name and size beside it.

    Parameters
    ----------
    folder : Path
        It is made when the first upload begins.

    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writing = threading.Lock()

    def begin(self) -> str:
        """Begin an upload; return its name."""
        self._delete_old()
        name = secrets.token_hex(8)
        for part in ("files", "parts"):
            (self._folder / name / part).mkdir(PRIVATE_FOLDER, parents=True)
        self._folder.chmod(PRIVATE_FOLDER)
        return name

    def files(self, upload: str) -> Path:
        """Return the folder of the files of an upload that are complete.

        Parameters
        ----------
        upload : str

        Returns
        -------
        Path

        Raises
        ------
        MissingError
            If there is no such upload.

        """
        folder = self._folder / upload
        if not re.fullmatch(r"[0-9a-f]{16}", upload) or not (folder / "files").is_dir():
            raise MissingError("There is no such upload any more; choose the files again.")
        return folder / "files"

    def received(self, upload: str) -> dict[str, tuple[int, int]]:
        """Return how much of each file has arrived, and its size, by its path.

        Parameters
        ----------
        upload : str

        Returns
        -------
        dict of str to (int, int)

        """
        root = self.files(upload)
        found: dict[str, tuple[int, int]] = {}
        for note in (root.parent / "parts").glob("*.json"):
            with suppress(OSError, ValueError, KeyError):
                told = json.loads(note.read_bytes())
                part = note.with_suffix(".part")
                found[told["path"]] = part.stat().st_size if part.exists() else 0, told["size"]
        for folder, _, names in os.walk(root):
            for name in names:
                file = Path(folder, name)
                size = file.stat().st_size
                found[file.relative_to(root).as_posix()] = size, size
        return found

    def write(self, upload: str, path: str, size: int, offset: int, piece: bytes) -> int:
        """Write a piece of a file; return how much of it has arrived.

        Parameters
        ----------
        upload : str
        path : str
            Of the file, relative to what the person chose.
        size : int
            Of the whole file.
        offset : int
            Where the piece begins. A piece that does not follow what has arrived is not written.
        piece : bytes

        Returns
        -------
        int
            The offset of the piece to send next; ``size`` if the file is complete.

        """
        root = self.files(upload)
        file = root.joinpath(*safe_parts(path))
        if size > (most := largest(path)):
            raise WorkspaceError(f"{path} has more than {most // 2**20:,} MiB; leave it out.")
        if offset + len(piece) > size:
            raise WorkspaceError(f"{path} has changed since it was chosen; choose it again.")
        if shutil.disk_usage(root).free < SPARE + len(piece):
            raise UnavailableError("The disk is nearly full. Free some space; the upload then goes on.")
        key = root.parent / "parts" / hashlib.sha256(path.encode()).hexdigest()[:32]
        part, note = key.with_suffix(".part"), key.with_suffix(".json")
        with self._writing:
            if file.is_file() and file.stat().st_size == size:
                return size
            if not note.exists() or json.loads(note.read_bytes()).get("size") != size:
                part.unlink(missing_ok=True)
                note.write_text(json.dumps({"path": path, "size": size}), encoding="utf-8")
            here = part.stat().st_size if part.exists() else 0
            if offset != here:
                return here
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE), "ab") as stream:
                stream.write(piece)
            if here + len(piece) < size:
                return here + len(piece)
            _move(part, file, path)
            note.unlink()
            return size

    def finish(self, upload: str) -> int:
        """Unpack the zips of an upload; return the number of its files. It may be repeated.

        Parameters
        ----------
        upload : str

        Returns
        -------
        int

        Raises
        ------
        WorkspaceError
            If a file is incomplete, or a zip cannot be used.

        """
        root = self.files(upload)
        if any(here < size for here, size in self.received(upload).values()):
            raise WorkspaceError("Not all files have arrived yet; let the upload go on, then try again.")
        zips = [file for file in sorted(root.rglob("*")) if file.suffix.lower() == ".zip" and file.is_file()]
        for archive in zips:
            target = archive.with_suffix("")
            number = 1
            while target.exists():
                number += 1
                target = archive.with_name(f"{archive.stem} {number}")
            unpack(archive, target)
            archive.unlink()
        number = sum(len(names) for _, _, names in os.walk(root))
        if number == 0:
            raise WorkspaceError("No file has arrived.")
        return number

    def drop(self, upload: str) -> None:
        """Delete an upload, if it still exists.

        Parameters
        ----------
        upload : str

        """
        with suppress(MissingError):
            shutil.rmtree(self.files(upload).parent, ignore_errors=True)

    def take(self, upload: str, target: Path) -> None:
        """Move all files of an upload to a new folder on the same disk, durably. This ends the upload.

        Parameters
        ----------
        upload : str
        target : Path

        """
        root = self.files(upload)
        sync_tree(root)
        make_folder(target.parent)
        os.replace(root, target)
        sync_folder(target.parent)
        shutil.rmtree(root.parent, ignore_errors=True)

    def _delete_old(self) -> None:
        with suppress(FileNotFoundError):
            there = sorted(self._folder.iterdir(), key=_last_use)
            now = time.time()
            old = [folder for folder in there if _last_use(folder) < now - LASTS]
            for folder in {*old, *there[: max(0, len(there) - MOST_UPLOADS + 1)]}:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def names_as_uploaded(root: Path, *, inside: bool = True) -> Iterator[None]:
    """Name files in errors as a person has uploaded them: where the server keeps an upload helps nobody.

    Parameters
    ----------
    root : Path
        The folder of the upload.
    inside : bool
        Whether it is one, and not a folder that a person has named.

    """
    try:
        yield
    except WorkspaceError as error:
        if inside:
            error.args = (str(error).replace(f"{root}{os.sep}", ""),)
        raise


def _last_use(folder: Path) -> float:
    times = [0.0]
    for place in (folder, folder / "files", folder / "parts"):
        with suppress(OSError):
            times.append(place.stat().st_mtime)
    return max(times)


def _move(part: Path, file: Path, path: str) -> None:
    try:
        file.parent.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        part.replace(file)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        raise WorkspaceError(f"{path} is both a file and a folder; choose the files in two steps.") from None


Name = Annotated[str, InPath(pattern="^[0-9a-f]{16}$", description="The upload.")]


def upload_routes(uploads: Callable[[Request], Uploads]) -> APIRouter:
    """Return the routes of uploads.

    Parameters
    ----------
    uploads : callable
        Returns the uploads that a request concerns.

    Returns
    -------
    APIRouter

    """
    writing = guarded("write", "uploads")

    @writing.post("/uploads", status_code=201, summary="Begin an upload", response_description="The upload.")
    def begin(request: Request) -> api.Upload:
        """Begin an upload of files in pieces. It can be continued for two weeks, even after a restart."""
        return api.Upload(id=uploads(request).begin(), piece=PIECE)

    @writing.get(
        "/uploads/{upload}", summary="Describe an upload", response_description="The files.", responses=MISSING
    )
    def describe(request: Request, upload: Name) -> list[api.UploadedFile]:
        """Return what has arrived of each file: sending goes on there."""
        found = uploads(request).received(upload)
        return [api.UploadedFile(path=path, received=here, size=size) for path, (here, size) in found.items()]

    @writing.put(
        "/uploads/{upload}/file",
        summary="Send a piece of a file",
        response_description="How much of the file has arrived.",
        responses=MISSING,
        openapi_extra={
            "requestBody": {
                "description": f"The piece: at most {PIECE // 2**20} MiB; nothing for an empty file.",
                "required": False,
                "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
            }
        },
    )
    async def write(
        request: Request,
        upload: Name,
        path: Annotated[str, Query(min_length=1, max_length=1000, description="The name of the file, with folders.")],
        size: Annotated[int, Query(ge=0, le=MOST_BYTES, description="Bytes of the whole file.")],
        offset: Annotated[int, Query(ge=0, le=MOST_BYTES, description="Where in the file the piece begins.")] = 0,
    ) -> api.Received:
        """Send a piece of a file. If it does not follow what has arrived, nothing is written: send what is missing."""
        here = uploads(request)
        if skipped(path):
            return api.Received(received=size)
        await run_in_threadpool(here.files, upload)  # before the body is read
        piece = await request.body()
        return api.Received(received=await run_in_threadpool(here.write, upload, path, size, offset, piece))

    @writing.post(
        "/uploads/{upload}/finish", summary="Finish an upload", response_description="The files.", responses=MISSING
    )
    def finish(request: Request, upload: Name) -> api.Finished:
        """Unpack the zips among the files once everything has arrived."""
        return api.Finished(files=uploads(request).finish(upload))

    @writing.delete(
        "/uploads/{upload}", status_code=204, summary="Delete an upload", response_description="It is deleted."
    )
    def drop(request: Request, upload: Name) -> None:
        """Delete what has arrived."""
        uploads(request).drop(upload)

    return writing
