"""State that all requests share: the workspace and the background tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from opengcd.workspace import Grant, Workspace

if TYPE_CHECKING:
    from opengcd.service.adaptation_routes import Estimator
    from opengcd.service.adding import Watch
    from opengcd.service.authentication import Authenticator
    from opengcd.service.concurrency import ConcurrencyLimit
    from opengcd.service.events import Events
    from opengcd.service.job_runner import Runner
    from opengcd.service.map_routes import MapRenderer
    from opengcd.service.presence import Presence
    from opengcd.service.recognition_routes import Recognition
    from opengcd.service.supervision import Health
    from opengcd.service.telemetry import Metrics


@dataclass
class State:
    """The parts of a running service."""

    workspace: Workspace
    authenticator: Authenticator
    runner: Runner
    events: Events
    presence: Presence
    recognition: Recognition
    metrics: Metrics
    map_renderer: MapRenderer
    estimator: Estimator
    health: Health
    watch: Watch
    local: bool
    """Whether folders of this machine may be named: only if nobody else can reach the server."""
    home: bool
    """Whether the workspace is one of several projects."""
    exports: ConcurrencyLimit
    """Limits requests for zip files."""


# Asynchronous, so that FastAPI calls them directly and not in a thread.
async def _state(request: Request) -> State:
    return request.app.state.service


async def _user_workspace(request: Request) -> Workspace:
    """Return the workspace under the name of the authenticated user, which the history shows."""
    grant: Grant = request.state.grant
    return request.app.state.service.workspace.by(grant.who)


Service = Annotated[State, Depends(_state)]
UserWorkspace = Annotated[Workspace, Depends(_user_workspace)]
