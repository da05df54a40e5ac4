"""The job that teaches labelled images: those of an upload, of a folder of the machine, or of the workspace."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from opengcd.service import wire as api
from opengcd.service.adding import IMAGES, MOST_REASONS, uploads_of
from opengcd.service.job_reports import JobReport
from opengcd.service.sources import labelled_root, read_labelled_files
from opengcd.workspace import Taught, Workspace, WorkspaceError, readable
from opengcd.workspace.videos import FPS

TAUGHT = Path(IMAGES) / "taught"
"""The folder of a workspace for uploads that were taught."""
MOST_TOLD = 1000
"""Conflicts in the result of a job."""


def teach(
    workspace: Workspace,
    report: JobReport,
    classes: Sequence[dict[str, Any]] = (),
    *,
    upload: str | None = None,
    folder: str | None = None,
    table: str | None = None,
    fps: float = FPS,
    replace: bool = False,
) -> None:
    """Teach labelled images, as a job. It may be repeated, also with the upload of a job before.

    Parameters
    ----------
    workspace : Workspace
    report : JobReport
    classes : sequence of dict
        Classes with the numbers of their images, if these are in the workspace.
    upload : str or None
        The upload, whose files are moved into the workspace.
    folder : str or None
        A folder of the machine, whose files stay where they are.
    table : str or None
        The list of labels or the file of vectors, as in :class:`~opengcd.service.wire.LabelledFiles`.
    fps : float
        Frames per second that are taken of videos.
    replace : bool
        Whether images that a person has given another label get the new one.

    """

    def record(connection: Connection, taught: Taught) -> None:
        told = [{"item": one.item, "present": one.present, "given": one.given} for one in taught.conflicts]
        facts = {name: getattr(taught, name) for name in ("images", "classes", "already", "replaced")}
        reasons = [f"{os.path.basename(readable(path))}: {reason}" for path, reason in taught.bad[:MOST_REASONS]]
        bad = {"bad": len(taught.bad), "reasons": reasons}
        report.record(connection, facts | bad | {"conflicts": told[:MOST_TOLD], "conflicting": len(told)})

    if upload is None and folder is None:
        labels = _labels_of(classes)
        workspace.teach_items(labels, replace=replace, progress=report.progress, record=record)
        return
    report.progress("reading the labelled images", 0, 0)
    root = Path(folder) if folder is not None else _move_in(workspace, str(upload))
    chosen = read_labelled_files(root, table, inside=folder is None, fewest=1)
    source = chosen.classes if chosen.vectors is None else chosen.vectors
    workspace.teach(source, replace=replace, fps=fps, progress=report.progress, record=record)


def taught_root(workspace: Workspace, wanted: api.TeachFiles, *, local: bool) -> Path:
    """Return the folder of what is to be taught; that of an upload may have been moved by a job before.

    Parameters
    ----------
    workspace : Workspace
    wanted : TeachFiles
    local : bool
        Whether folders of this machine may be named.

    Returns
    -------
    Path

    """
    if wanted.upload is not None and wanted.folder is None and (kept := _place(workspace, wanted.upload)).exists():
        return kept
    return labelled_root(wanted, uploads_of(workspace), local=local)


def _labels_of(classes: Sequence[dict[str, Any]]) -> dict[int, str]:
    labels: dict[int, str] = {}
    for one in classes:
        for item in one["items"]:
            if labels.setdefault(item, one["label"]) != one["label"]:
                raise WorkspaceError(f"Image {item} is listed as {labels[item]!r} and as {one['label']!r}.")
    return labels


def _place(workspace: Workspace, upload: str) -> Path:
    return workspace.path.absolute() / TAUGHT / upload


def _move_in(workspace: Workspace, upload: str) -> Path:
    """Move the files of an upload into the workspace, with their list: they may be taught again with other answers."""
    target = _place(workspace, upload)
    if not target.exists():
        uploads_of(workspace).take(upload, target)
    return target
