"""What all requests share: the workspace, and what watches and works for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from opengcd.workspace import Grant, Workspace

if TYPE_CHECKING:
    from opengcd.service.authentication import Doorkeeper
    from opengcd.service.events import Events
    from opengcd.service.job_runner import Runner
    from opengcd.service.map_routes import Draughtsman
    from opengcd.service.recognition_routes import Recognition
    from opengcd.service.supervision import Health
    from opengcd.service.telemetry import Metrics


@dataclass
class State:
    """The parts of a running service."""

    workspace: Workspace
    doorkeeper: Doorkeeper
    runner: Runner
    events: Events
    recognition: Recognition
    metrics: Metrics
    draughtsman: Draughtsman
    health: Health


# Asynchronous, so that they are called where they are and not in a thread of their own.
async def _state(request: Request) -> State:
    return request.app.state.service


async def _person(request: Request) -> Workspace:
    """The workspace, for the person who asks: the history has their name."""
    grant: Grant = request.state.grant
    return request.app.state.service.workspace.by(grant.who)


Service = Annotated[State, Depends(_state)]
Person = Annotated[Workspace, Depends(_person)]
