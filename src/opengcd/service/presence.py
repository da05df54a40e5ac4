"""Who looks at which group now. It is kept in memory only, and is not part of the history."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, NamedTuple

from fastapi import Query, Request

from opengcd.service import wire
from opengcd.service.authentication import guarded
from opengcd.service.state import Service
from opengcd.workspace import Grant

LEASE = 30.0
"""Seconds for which a page looks at a group unless it says so again: a lost network ends no connection."""
MOST_PAGES = 100
"""Pages of one token; the page that was heard of longest ago is forgotten first."""


class OpenPage(NamedTuple):
    """A page that somebody has open."""

    token: int
    who: str
    page: str
    """Its own name, which no other page of this person has."""


class _Look(NamedTuple):
    group: int
    until: float


class Presence:
    """The groups that people look at. Its methods are called in the event loop only.

    Parameters
    ----------
    clock : callable
        Returns the time in seconds.

    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looks: dict[OpenPage, _Look] = {}

    def look(self, page: OpenPage, group: int | None) -> None:
        """Note the group that a page shows; None: it shows none."""
        self.leave(page)
        if group is None:
            return
        same = [other for other in self._looks if other.token == page.token]
        for other in same[: max(0, len(same) + 1 - MOST_PAGES)]:
            self.leave(other)
        self._looks[page] = _Look(group, self._clock() + LEASE)

    def leave(self, page: OpenPage) -> None:
        """Forget a page that was closed."""
        self._looks.pop(page, None)

    def now(self) -> dict[int, list[str]]:
        """Return who looks at each group; a person with two pages counts once."""
        now = self._clock()
        self._looks = {page: look for page, look in self._looks.items() if look.until > now}
        found: dict[int, set[str]] = {}
        for page, look in self._looks.items():
            found.setdefault(look.group, set()).add(page.who)
        return {group: sorted(people) for group, people in sorted(found.items())}


def as_presence(looking: dict[int, list[str]]) -> wire.Presence:
    """Return who looks at which group as the API shows it."""
    return wire.Presence(groups=[wire.Looking(group=group, people=people) for group, people in looking.items()])


def open_page(request: Request, page: str) -> OpenPage:
    """Return the page of that name, of the person who sends a request."""
    grant: Grant = request.state.grant
    return OpenPage(grant.token, grant.who, page)


PageName = Annotated[
    wire.PageName | None,
    Query(description="The name of the page that listens, as in `PUT /presence`: when it is closed, it looks no more."),
]
reading = guarded("read", "review")


# Asynchronous, so that it runs in the event loop.
@reading.put("/presence", summary="Tell what you look at", response_description="Who looks at which group.")
async def look(request: Request, service: Service, told: wire.Look) -> wire.Presence:
    """Tell the others which group you look at. It counts for half a minute, so repeat it while you look.

    It is kept in the server's memory only. The event `presence` tells it to all who listen.
    """
    service.presence.look(open_page(request, told.page), told.group)
    return as_presence(service.presence.now())
