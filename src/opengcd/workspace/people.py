"""The people of a workspace: those who have a token, who are in the history, or whom a group is assigned to."""

from __future__ import annotations

from sqlalchemy import Connection, select

from opengcd._internal.text import MISLEADING, same_look
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.schema import edits, groups, tokens

LONGEST = 250
"""Characters of a name; one from the history may be made of two names, as in "Ann at the desk (team)"."""


def check_person(name: str) -> str:
    """Return the name of a person without spaces around it.

    Parameters
    ----------
    name : str

    Returns
    -------
    str

    Raises
    ------
    WorkspaceError
        If it is empty or too long, or has control characters.

    """
    name = name.strip()
    if not name or len(name) > LONGEST or MISLEADING.search(name):
        raise WorkspaceError(
            f"{name[:LONGEST]!r} cannot be the name of a person; give one of 1 to {LONGEST} characters, without "
            "control characters."
        )
    return name


def people(connection: Connection) -> list[str]:
    """Return the names of all people, sorted."""
    named = select(tokens.c.name).where(~tokens.c.once)
    assigned = select(groups.c.assignee).where(groups.c.assignee.is_not(None))
    return sorted(connection.scalars(named.union(select(edits.c.who), assigned)))


def spelling(connection: Connection, name: str) -> str:
    """Return the name of a person as the workspace has it: two names that look alike are one person."""
    name = check_person(name)
    known = people(connection)
    return name if name in known else next((one for one in known if same_look(one) == same_look(name)), name)
