"""Routes of the home page: the list of projects, and what creating one needs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, HTTPException, Request
from fastapi.concurrency import run_in_threadpool

from opengcd.service import wire
from opengcd.service.authentication import MISSING, Authenticator, guarded
from opengcd.service.home import wire as api
from opengcd.service.home.backbones import backbone_places, find_backbones
from opengcd.service.home.cards import Cards
from opengcd.service.home.checks import BackboneChecks
from opengcd.service.home.creation import Creations
from opengcd.service.home.folder import ProjectFolder
from opengcd.service.home.projects import Projects
from opengcd.service.machine import Local, refuse_strangers
from opengcd.service.sources import preview
from opengcd.service.uploads import Uploads
from opengcd.workspace.settings import read_settings


@dataclass
class HomeState:
    """The parts of a running home page."""

    folder: ProjectFolder
    local: bool
    authenticator: Authenticator
    projects: Projects
    cards: Cards
    uploads: Uploads
    creations: Creations
    checks: BackboneChecks


async def _state(request: Request) -> HomeState:
    return request.app.state.service


Home = Annotated[HomeState, Depends(_state)]
reading = guarded("read", "home")
writing = guarded("write", "home")


@reading.get("/home", summary="List the projects", response_description="The projects.")
async def projects(home: Home, local: Local) -> api.Home:
    """Return all projects with their state; one that cannot be opened is listed with the reason."""
    return api.Home(folder=str(home.folder.path), local=local, projects=await home.cards.all())


@writing.post(
    "/home", summary="Add a project", response_description="The project.", dependencies=[Depends(refuse_strangers)]
)
def add(home: Home, wanted: api.AddProject) -> api.Added:
    """Add a workspace that lies elsewhere on this machine to the list."""
    return api.Added(key=home.folder.add(wanted.path))


@writing.delete(
    "/home/{key}",
    status_code=204,
    summary="Take a project off the list",
    response_description="It is off the list.",
    responses=MISSING,
)
async def forget(home: Home, key: str) -> None:
    """Take a project from elsewhere off the list. Its files stay."""
    await run_in_threadpool(home.folder.forget, key)
    await home.projects.close(key)


@reading.get("/backbones", summary="List the backbones", response_description="The networks.")
def backbones(home: Home) -> api.Backbones:
    """Return the networks on this machine that can turn images into vectors, with what they are good for."""
    used = []
    for path in home.folder.projects().values():
        try:
            used.append(read_settings(path).embedder)
        except ValueError:  # the list shows the reason
            continue
    return api.Backbones(backbones=find_backbones(dict.fromkeys(used), backbone_places(home.folder.path)))


@reading.get("/backbones/check", summary="Show the check of a backbone", response_description="The check.")
def checking(home: Home) -> api.CheckingState:
    """Return how far the check of a network is, or how the last one ended."""
    return api.CheckingState(checking=home.checks.latest)


@writing.post("/backbones/check", status_code=202, summary="Check a backbone", response_description="The check.")
def check(home: Home, local: Local, wanted: api.CheckBackbone) -> api.Checking:
    """Turn one image into a vector by a network, in the background; it is downloaded if it is not on this machine.

    If the same network is being checked, that goes on; the check of another one ends.
    """
    refuse_hidden_backbone(home, wanted.name, local=local)
    return home.checks.start(wanted)


@writing.post("/backbones/check/cancel", summary="Cancel the check of a backbone", response_description="The check.")
def cancel_check(home: Home) -> api.CheckingState:
    """Cancel the check of a network: its download ends."""
    home.checks.cancel()
    return api.CheckingState(checking=home.checks.latest)


@writing.post("/known", summary="Look at labelled images", response_description="Their classes.", responses=MISSING)
def known(home: Home, local: Local, wanted: wire.KnownImages) -> wire.KnownPreview:
    """Return the classes of labelled images, before a project is created from them."""
    return preview(wanted, home.uploads, local=local)


@reading.get("/creation", summary="Show the creation", response_description="The creation.")
def creation(home: Home) -> api.CreationState:
    """Return how far the creation of a project is, or how the last one ended."""
    return api.CreationState(creation=home.creations.latest)


@writing.post("/creation", status_code=202, summary="Create a project", response_description="The creation.")
def create(request: Request, home: Home, local: Local, wanted: api.NewProject) -> api.Creation:
    """Create a project in the background: all of it, or nothing."""
    refuse_hidden_backbone(home, wanted.backbone, local=local)
    if wanted.known.folder is not None and not local:
        raise HTTPException(403, "Folders of the server's machine cannot be chosen here; upload the images.")
    return home.creations.start(wanted, request.state.grant.who)


@writing.post("/creation/cancel", summary="Cancel the creation", response_description="The creation.")
def cancel(home: Home) -> api.CreationState:
    """Cancel the creation of a project. It ends at its next step, and nothing of it is kept."""
    home.creations.cancel()
    return api.CreationState(creation=home.creations.latest)


@writing.delete("/creation", status_code=204, summary="Close the creation", response_description="It is shown no more.")
def close(home: Home) -> None:
    """Show the result of the last creation no more."""
    home.creations.close()


def refuse_hidden_backbone(home: HomeState, name: str, *, local: bool) -> None:
    """Refuse a path on the server's machine from a person elsewhere, unless it is one of the list."""
    is_path = os.path.isabs(name) or name.startswith((".", "~")) or os.path.exists(name)
    if not is_path or local:
        return
    if name not in {one.name for one in backbones(home).backbones}:
        raise HTTPException(403, "A backbone of the server's machine cannot be chosen by its path here.")
