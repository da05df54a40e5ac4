"""The answers of people about unnamed groups, read from the history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sqlalchemy import Connection

from opengcd.workspace import groups, log
from opengcd.workspace.groups import NOVEL
from opengcd.workspace.schema import assignments

if TYPE_CHECKING:
    from opengcd.discover import LinkedGroups

ANSWERING = ("keep", "compare", "divide")
"""The verbs of the edits that answer questions."""
REGROUP = "regroup"


class Answers(NamedTuple):
    """The answers that are not undone, about groups by their numbers."""

    whole: set[int]
    """Groups that are one class."""
    apart: set[frozenset[int]]
    """Pairs of different classes."""
    none: set[int]
    """Groups that are not a class."""
    seen: set[int]
    """Items that were seen to be of the class of their group."""
    since: set[int]
    """Groups with answers since the images were last grouped."""
    dissolved: int
    """Groups of the last discovery that are not a class and have not been replaced by new ones."""


def standing_answers(connection: Connection) -> Answers:
    """Return the answers that are not undone.

    Parameters
    ----------
    connection : Connection

    Returns
    -------
    Answers

    """
    whole, apart, none, seen, since = set[int](), set[frozenset[int]](), set[int](), set[int](), set[int]()
    dissolved, started = 0, False
    discovered = log.last_discovery_id(connection)
    for entry in log.standing(connection, (*ANSWERING, REGROUP)):
        said, later = entry.details, entry.id > discovered
        if entry.verb == REGROUP:
            found = log.rows_found(connection, entry.id, assignments)
            homes = {item: row["group_id"] for item, row in found.items() if row is not None}
            seen -= {item for item, home in homes.items() if home in none}
            whole |= {home for item, home in homes.items() if item in seen}
            since.clear()
            started |= later and said["started"] > 0
            continue
        about = {said["group"], said[{"compare": "into", "divide": "part"}.get(entry.verb, "group")]}
        since |= about if later else set()
        if entry.verb != "compare":
            seen |= set(said["seen"] if "seen" in said else log.rows_found(connection, entry.id, assignments))
        none -= about
        if entry.verb == "keep":
            whole |= about
        elif entry.verb == "divide":
            # The answers about the group hold for both parts.
            apart |= {pair - {said["group"]} | {said["part"]} for pair in apart if said["group"] in pair}
            apart.add(frozenset(about))
            none |= {said[group] for group, is_class in (("group", "one"), ("part", "other")) if not said[is_class]}
            dissolved += later and not (said["one"] or said["other"])
        elif said["same"]:
            into = said["into"]
            if said["group"] not in whole:
                whole.discard(into)
            joined = ({into if group == said["group"] else group for group in pair} for pair in apart)
            apart = {frozenset(pair) for pair in joined}
        else:
            apart.add(frozenset(about))
    return Answers(whole, apart, none, seen, since, 0 if started else dissolved)


def unnamed_groups(connection: Connection) -> dict[int, list[int]]:
    """Return the items of the groups of new classes that nobody has named, in the order of the review.

    Parameters
    ----------
    connection : Connection

    Returns
    -------
    dict of int to list of int

    """
    found = groups.open_groups(connection)
    return {group.id: group.items for group in found if group.kind == NOVEL and not group.named}


def link(homes: Mapping[int, np.ndarray], said: Answers, known: int) -> LinkedGroups:
    """Return groups with the answers about them; those that are not a class are left out.

    Parameters
    ----------
    homes : mapping of int to int array
        The rows of each group.
    said : Answers
    known : int
        Number of known classes, which is added to the numbers of the groups.

    Returns
    -------
    LinkedGroups

    """
    from opengcd.discover import LinkedGroups

    rows = {known + group: members for group, members in homes.items() if group not in said.none}
    pairs = frozenset(frozenset(known + group for group in pair) for pair in said.apart)
    return LinkedGroups(
        known,
        rows,
        np.concatenate([*homes.values(), np.empty(0, dtype=np.int64)]),
        apart=frozenset(pair for pair in pairs if len(pair) == 2 and pair <= rows.keys()),
        whole=frozenset(known + group for group in said.whole) & rows.keys(),
    )
