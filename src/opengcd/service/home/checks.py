"""Check a backbone in the background, with progress while it is downloaded."""

from __future__ import annotations

import logging
import secrets
import threading
from contextlib import suppress
from typing import Any

from opengcd.embed import EmbedderError
from opengcd.service.home import wire as api
from opengcd.service.home.backbones import check_backbone
from opengcd.service.home.fetching import fetch_backbone
from opengcd.service.job_reports import TimeLeft
from opengcd.workspace import CancelledError

STOPPING = 10.0
"""Seconds to wait for a check when the server ends."""

log = logging.getLogger(__name__)


class BackboneChecks:
    """Checks one backbone at a time, in a thread. The one that was asked for last is the one that counts.

    A check that is cancelled or replaced ends when its next bytes arrive, and what it says is ignored.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.latest: api.Checking | None = None

    def start(self, wanted: api.CheckBackbone) -> api.Checking:
        """Start to check a backbone, or go on with the same one: no download begins again.

        Parameters
        ----------
        wanted : CheckBackbone

        Returns
        -------
        Checking

        """
        with self._lock:
            now = self.latest
            if (
                now is not None
                and now.state == "running"
                and now.request.name == wanted.name
                and (now.request == wanted or now.stage != "loading")  # until then the pooling may change
            ):
                self.latest = now.model_copy(update={"request": wanted})
                return self.latest
            self.latest = api.Checking(
                id=secrets.token_hex(4),
                state="running",
                request=wanted,
                stage="starting",
                done=0,
                total=0,
                seconds_left=None,
            )
            self._thread = threading.Thread(
                target=self._run, args=[self.latest.id, wanted.name], name="backbone check", daemon=True
            )
            self._thread.start()
            return self.latest

    def cancel(self) -> None:
        """End the check that runs."""
        with self._lock:
            if self.latest is not None and self.latest.state == "running":
                self.latest = self.latest.model_copy(update={"state": "cancelled"})

    def stop(self) -> None:
        """End the check because the server ends."""
        self.cancel()
        if self._thread is not None:
            self._thread.join(STOPPING)

    def _run(self, id: str, name: str) -> None:
        left = TimeLeft(0.0)

        def progress(done: int, total: int) -> None:
            seconds = left.after("downloading", done, total)
            self._update(id, stage="downloading", done=done, total=total, seconds_left=seconds)

        with suppress(CancelledError):
            try:
                fetch_backbone(name, progress)
                now = self._update(id, stage="loading", done=0, total=0, seconds_left=None)
                result = check_backbone(name, now.request.pooling)
            except CancelledError:
                raise
            except EmbedderError as error:
                result = _unusable(name, str(error))
            except Exception as error:
                log.exception("A backbone could not be checked.")
                result = _unusable(name, f"{type(error).__name__}: {error}")
            self._update(id, state="done", result=result)

    def _update(self, id: str, **values: Any) -> api.Checking:
        """Say how far a check is; raises if it is not wanted any more."""
        with self._lock:
            if self.latest is None or self.latest.id != id or self.latest.state != "running":
                raise CancelledError
            self.latest = self.latest.model_copy(update=values)
            return self.latest


def _unusable(name: str, problem: str) -> api.BackboneCheck:
    return api.BackboneCheck(name=name, usable=False, problem=problem)
