"""What to do next with a workspace: one step, which follows from its state.

The command line and the page say it in their own words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from filelock import FileLock, Timeout
from sqlalchemy import Connection, select

from opengcd.workspace.adaptation import SCRATCH
from opengcd.workspace.groups import NOVEL, GroupSize
from opengcd.workspace.schema import edits

Step = Literal["init", "view", "adapt", "review", "learn", "discover", "recognize", "export"]


class NextStep(NamedTuple):
    """The next step, and what it is about."""

    step: Step
    """``init``: no class has been learnt. ``view``: nothing can be changed, since the workspace is read-only.
    ``adapt``: an adaptation was interrupted. ``review``: groups wait for a person. ``learn``: reviewed images can be
    learnt. ``discover``: images wait to be grouped. ``recognize``: no image was recognised yet. ``export``: everything
    is done, until more images are recognised."""
    images: int = 0
    """How many images it is about."""
    groups: int = 0
    """With ``review``: how many groups it is about."""
    learnable: int = 0
    """How many images could be learnt now."""


def next_step(
    counts: Mapping[str, int], groups: Sequence[GroupSize], learnable: int, *, read_only: bool, interrupted: bool
) -> NextStep:
    """Return what to do next in a workspace that has learnt its first classes.

    Parameters
    ----------
    counts : mapping of str to int
        Number of items by the source of their label; see :data:`opengcd.workspace.SOURCES`.
    groups : sequence of GroupSize
        The groups under review.
    learnable : int
        How many items learn would take.
    read_only : bool
        Whether the workspace cannot be changed.
    interrupted : bool
        Whether an adaptation was interrupted.

    Returns
    -------
    NextStep

    """
    waiting = [group for group in groups if group.kind == NOVEL and not group.confirmed]
    if read_only:
        return NextStep("view", sum(counts.values()), learnable=learnable)
    if interrupted:
        return NextStep("adapt", learnable=learnable)
    if waiting:
        return NextStep("review", sum(group.size for group in waiting), len(waiting), learnable)
    if learnable:
        return NextStep("learn", learnable, learnable=learnable)
    if ungrouped := counts["rejected"] + counts["waiting"]:
        return NextStep("discover", ungrouped)
    if sum(counts.values()) == counts["learnt"] and not groups:
        return NextStep("recognize")
    return NextStep("export", sum(counts.values()))


def adaptation_interrupted(connection: Connection, folder: Path) -> bool:
    """Return whether an adaptation was interrupted: it has left files, but no entry in the history.

    Parameters
    ----------
    connection : Connection
    folder : path
        Of the workspace.

    Returns
    -------
    bool

    """
    runs = {left.name.partition(".")[0] for left in (folder / SCRATCH).glob("*")}
    if not runs:
        return False
    noted = connection.scalars(select(edits.c.details).where(edits.c.verb == "adapt"))
    return bool(runs - {details.get("run") for details in noted}) and not _is_busy(folder)


def _is_busy(folder: Path) -> bool:
    """Return whether a long command runs."""
    with suppress(OSError):
        try:
            with FileLock(folder / ".lock", timeout=0):
                return False
        except Timeout:
            return True
    return False
