"""The map of what is under review: at once a plain one; a better one is drawn in the background."""

from __future__ import annotations

import logging
import threading

from opengcd.service import _models as api
from opengcd.service._access import guarded
from opengcd.service._state import Person, Service
from opengcd.workspace import Workspace

log = logging.getLogger(__name__)
reading = guarded("read", "review")


class Draughtsman:
    """Draws one map at a time, in a thread of its own."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.drawn = 0
        """Maps so far."""
        self._busy = threading.Lock()

    def start(self) -> None:
        """Draw the map, unless one is being drawn."""
        if self._busy.acquire(blocking=False):
            threading.Thread(target=self._draw, name="map", daemon=True).start()

    def _draw(self) -> None:
        try:
            self.workspace.draw_map()
            self.drawn += 1
        except Exception:  # the plain map stays
            log.exception("The map could not be drawn.")
        finally:
            self._busy.release()


@reading.get("/map")
def map(workspace: Person, service: Service) -> api.Map:
    """Return all images under review on a plane: what looks alike lies close together.

    The first answer may be a rough one, `drawn` false; the event `map` tells when a better one is ready.
    """
    found = workspace.map()
    if not found.drawn:
        service.draughtsman.start()
    x, y = found.places.T.round(4).tolist()
    return api.Map(items=found.items, x=x, y=y, group=found.groups, drawn=found.drawn)
