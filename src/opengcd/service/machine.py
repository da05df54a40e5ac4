"""The folders of the machine that the server runs on, for a person who sits at it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from fastapi import Depends, HTTPException, Query, Request

from opengcd.service import wire as api
from opengcd.service.authentication import guarded
from opengcd.workspace import WorkspaceError
from opengcd.workspace.files import VIDEO_SUFFIXES

IMAGES = {".jpg", ".jpeg", ".png", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".ppm", ".pgm"}
"""Ends of names by which images are counted here; they are not looked into."""
FILES = {".csv", ".onnx", ".zip", ".tsv", ".txt", ".json", ".jsonl", ".npz", ".npy", ".parquet"}
"""Ends of names of other files that may be chosen."""
MOST_ENTRIES = 2000
MOST_LOOKED_AT = 200_000
FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")
"""Headers that a proxy adds: then the person may sit at another machine."""

writing = guarded("write", "machine")


async def is_local(request: Request) -> bool:
    """Return whether a request comes from a person at this machine."""
    return request.app.state.service.local and not any(name in request.headers for name in FORWARDED)


Local = Annotated[bool, Depends(is_local)]


async def refuse_strangers(local: Local) -> None:
    """Refuse a request that comes from elsewhere."""
    if not local:
        raise HTTPException(
            403, "Folders of the server's machine are shown to a person at that machine only; upload the files."
        )


@writing.get(
    "/folders",
    summary="List a folder",
    response_description="The folder.",
    dependencies=[Depends(refuse_strangers)],
)
def folders(
    path: Annotated[str | None, Query(max_length=4000, description="The folder; yours if it is left out.")] = None,
) -> api.FolderListing:
    """Return what is in a folder of the server's machine, for a person at that machine."""
    return list_folder(path)


def list_folder(path: str | None) -> api.FolderListing:
    """Return what is in a folder, without hidden entries.

    Parameters
    ----------
    path : str or None
        None for the person's own folder.

    Returns
    -------
    FolderListing

    Raises
    ------
    WorkspaceError
        If it is not a folder, or cannot be read.

    """
    if path is not None and "\0" in path:
        raise WorkspaceError("A path has no zero bytes.")
    folder = Path(os.path.abspath(Path(path).expanduser() if path else Path.home()))
    folders: list[str] = []
    files: list[str] = []
    images = videos = seen = 0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                seen += 1
                if seen > MOST_LOOKED_AT:
                    break
                if entry.name.startswith(".") or not entry.name.isprintable():
                    continue
                end = os.path.splitext(entry.name)[1].lower()
                if end in IMAGES:
                    images += 1
                elif end in VIDEO_SUFFIXES:
                    videos += 1
                elif end in FILES:
                    files.append(entry.name)
                elif _is_folder(entry):
                    folders.append(entry.name)
    except OSError as error:
        raise WorkspaceError(f"The folder {folder} cannot be read: {error.strerror or error}.") from None
    parent = None if folder.parent == folder else str(folder.parent)
    return api.FolderListing(
        path=str(folder),
        parent=parent,
        folders=sorted(folders, key=str.casefold)[:MOST_ENTRIES],
        files=sorted(files, key=str.casefold)[:MOST_ENTRIES],
        images=images,
        videos=videos,
        more=len(folders) > MOST_ENTRIES or len(files) > MOST_ENTRIES or seen > MOST_LOOKED_AT,
        places=_places(),
    )


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _places() -> list[api.Place]:
    """Return folders to begin at."""
    home = Path.home()
    named = [("Home", home), *((name, home / name) for name in ("Pictures", "Downloads", "Documents", "Desktop"))]
    named += [("Started here", Path.cwd()), ("Computer", Path(home.anchor))]
    return [api.Place(name=name, path=str(path)) for name, path in named if path.is_dir()]
