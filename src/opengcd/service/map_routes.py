"""Routes for the map of the images under review: a rough one at once, a better one computed in the background."""

from __future__ import annotations

import threading
import time

from opengcd.service import wire as api
from opengcd.service.authentication import guarded
from opengcd.service.state import Service, UserWorkspace
from opengcd.service.supervision import Task
from opengcd.workspace import Workspace

reading = guarded("read", "review")


class MapRenderer:
    """Compute the better map in a background thread, one at a time."""

    def __init__(self, workspace: Workspace, task: Task) -> None:
        self.workspace = workspace
        self.drawn = 0
        """How many maps have been computed."""
        self._task = task
        self._not_before = 0.0
        """When to try again after a failure, by the monotonic clock."""
        self._busy = threading.Lock()

    def start(self) -> None:
        """Start to compute the map, unless that is under way or has just failed."""
        if time.monotonic() < self._not_before or not self._busy.acquire(blocking=False):
            return
        try:
            threading.Thread(target=self._draw, name="map", daemon=True).start()
        except RuntimeError as error:  # too many threads; the plain map stays
            self._fail(error)
            self._busy.release()

    def _draw(self) -> None:
        try:
            self.workspace.similarity.draw_map()
            self.drawn += 1
            self._task.succeeded()
        except Exception as error:  # the plain map stays
            self._fail(error)
        finally:
            self._busy.release()

    def _fail(self, error: Exception) -> None:
        self._not_before = time.monotonic() + self._task.failed(error)


@reading.get("/map", summary="Draw a map of the images", response_description="The map.")
def map(workspace: UserWorkspace, service: Service) -> api.Map:
    """Return all images under review as points of a plane: similar images lie close together.

    The first answer may be a rough map, with `drawn` false. The event `map` tells when a better one is ready.
    """
    found = workspace.similarity.map()
    if not found.drawn:
        service.map_renderer.start()
    x, y = found.places.T.round(4).tolist()
    return api.Map(items=found.items, x=x, y=y, group=found.groups, drawn=found.drawn)
