"""How often two people give the same images the same name, by the edit log.

Everybody sees the names that others have given, so these judgements are not independent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, select

from opengcd.workspace.groups import REMOVED
from opengcd.workspace.log import SHOWN, UNDONE, rows_before
from opengcd.workspace.names import key
from opengcd.workspace.schema import assignments, corrections, edits, groups

NAMING = (
    *("name", "confirm", "move", "separate", "merge", "compare", "review"),
    *("relabel", "keep_label", "teach"),
)
"""Verbs by which a person says of which class images are."""
RENAME = "rename_class"


class Agreement(NamedTuple):
    """How often two people agree."""

    people: tuple[str, str]
    images: int
    """Images that both have named or confirmed."""
    same: int
    """How many of them have the same name by both."""
    kappa: float | None
    """Cohen's kappa; None if it is not defined."""


def agreement(connection: Connection) -> list[Agreement]:
    """Return how often each two people agree who have named the same images, the largest number of images first.

    What counts is the last name that each of them gave to an image, by an edit that is not undone.
    """
    found = []
    given = labels_given(connection)
    for first, second in combinations(sorted(given), 2):
        both = sorted(given[first].keys() & given[second].keys())
        if both:
            a, b = ([given[who][item] for item in both] for who in (first, second))
            same = sum(one == other for one, other in zip(a, b, strict=True))
            found.append(Agreement((first, second), len(both), same, kappa(a, b)))
    return sorted(found, key=lambda one: (-one.images, one.people))


def kappa(first: Sequence[str], second: Sequence[str]) -> float | None:
    r"""Return Cohen's kappa of the names that two people gave to the same images.

    .. math:: \kappa = \frac{p_o - p_e}{1 - p_e}, \qquad p_e = \sum_c \frac{a_c}{n} \frac{b_c}{n}

    with the share :math:`p_o` of images that both named the same, and the numbers :math:`a_c` and :math:`b_c` of images
    that each of them named :math:`c`, of :math:`n` in all. 1 means that they always agree, and 0 that they agree as
    often as by chance.

    Parameters
    ----------
    first, second : sequence of str
        The names by either person, in the same order of images.

    Returns
    -------
    float or None
        None if both gave one and the same name to all images, or there are none: then chance explains everything.

    Examples
    --------
    >>> kappa(["sky", "sky", "sea", "sea"], ["sky", "sky", "sea", "sky"])
    0.5

    """
    n = len(first)
    a, b = Counter(first), Counter(second)
    by_chance = sum(a[name] * b[name] for name in a)  # times n squared
    if by_chance == n * n:
        return None
    same = sum(one == other for one, other in zip(first, second, strict=True))
    return (n * same - by_chance) / (n * n - by_chance)


def labels_given(connection: Connection) -> dict[str, dict[int, str]]:
    """Return the last name that each person gave to each image, as :func:`opengcd.workspace.names.key` compares it.

    The log has the rows that each edit found. So the state after each edit is known by going back from the present.
    """
    state = _State(connection)
    undone = set(connection.scalars(UNDONE))
    given: dict[str, dict[int, str]] = {}
    renamed: dict[str, str] = {}
    rows = (rows_before(table) for table in (groups, assignments, corrections))
    query = select(*SHOWN, *rows).where(edits.c.before.is_not(None)).order_by(edits.c.id.desc())
    for row in connection.execute(query):
        if row.id not in undone:
            if row.verb in NAMING:
                labels = given.setdefault(row.who, {})
                for item, label in state.named_by(row):
                    labels.setdefault(item, key(renamed.get(label, label)))
            elif row.verb == RENAME:
                old, new = row.details["known"], row.details["label"]
                renamed[old] = renamed.get(new, new)
        state.go_back(row)
    return given


class _State:
    """Groups, the images in them, and corrected labels, after an edit."""

    def __init__(self, connection: Connection) -> None:
        self.groups: dict[int, dict[str, Any]] = {
            row["id"]: dict(row) for row in connection.execute(select(groups)).mappings()
        }
        self.corrected = {row.item_id: row.label for row in connection.execute(select(corrections))}
        self.home: dict[int, int] = {}
        self.members: dict[int, set[int]] = {}
        for item, group in connection.execute(select(assignments.c.item_id, assignments.c.group_id)):
            self._put(item, group)

    def named_by(self, row: Row[*tuple[Any, ...]]) -> Iterable[tuple[int, str]]:
        """Return the images that an edit has named, with their names; the state is that after the edit."""
        whole = [group for group, before in row.groups or () if self._is_said(group, before)]
        moved = [item for item, _ in row.assignments or () if item in self.home]
        for item in [*(item for group in whole for item in self.members.get(group, ())), *moved]:
            group = self.groups[self.home[item]]
            if group["name"] is not None and group["kind"] != REMOVED:
                yield item, group["name"]
        for item, _ in row.corrections or ():
            if self.corrected.get(item) is not None:
                yield item, self.corrected[item]

    def go_back(self, row: Row[*tuple[Any, ...]]) -> None:
        """Make it the state before an edit."""
        for group, before in row.groups or ():
            self.groups.pop(group, None)
            if before is not None:
                self.groups[group] = before
        for item, before in row.assignments or ():
            self._put(item, None if before is None else before["group_id"])
        for item, before in row.corrections or ():
            self.corrected.pop(item, None)
            if before is not None:
                self.corrected[item] = before["label"]

    def _is_said(self, group: int, before: dict[str, Any] | None) -> bool:
        """Whether an edit has named or confirmed a group, which was like this before."""
        after = self.groups.get(group)
        if after is None:
            return False
        facts = ("name", "confirmed", "confirmed_by")
        return before is None or any(after.get(fact) != before.get(fact) for fact in facts)

    def _put(self, item: int, group: int | None) -> None:
        if (old := self.home.pop(item, None)) is not None:
            self.members[old].discard(item)
        if group is not None:
            self.home[item] = group
            self.members.setdefault(group, set()).add(item)
