"""The adaptation of the network, as a command and on the way of others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from opengcd.cli.display import as_duration, show_adapted
from opengcd.cli.failures import report_errors
from opengcd.cli.options import Folder
from opengcd.cli.output import echo

if TYPE_CHECKING:
    from opengcd import Workspace


def adapt(
    workspace: Folder,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only rehearse whether it would help, and change nothing.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Use the adapted network even if it did not help in the rehearsal.")
    ] = False,
    method: Annotated[
        Literal["lora", "blocks"],
        typer.Option(help="Train small additions to the last blocks (lora), or the blocks themselves."),
    ] = "lora",
    blocks: Annotated[
        int | None, typer.Option(min=1, help="How many of the last blocks (default: by the device).")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Passes over the images (default: by the number of images).")
    ] = None,
    batch_size: Annotated[int | None, typer.Option(min=4, help="Images in a step (default: by their number).")] = None,
    unlabelled: Annotated[
        bool,
        typer.Option("--unlabelled/--labelled-only", help="Whether images of the stream without a label take part."),
    ] = False,
    onnx: Annotated[Path | None, typer.Option(help="Also write the adapted network in use to this ONNX file.")] = None,
) -> None:
    """Let the network learn from the workspace's images; if interrupted, run the same command again to continue."""
    from opengcd import Workspace
    from opengcd.adapt import export_onnx

    given = {"method": method, "blocks": blocks, "epochs": epochs, "batch_size": batch_size}
    with report_errors(), Workspace(workspace) as opened:
        _adapt(opened, given, unlabelled, dry_run=dry_run, force=force)
        if onnx is not None:
            folder = opened.adaptation.folder()
            if folder is None:
                raise ValueError("No adapted network is in use, so there is none to write as ONNX.")
            export_onnx(folder, onnx)
            echo(f"{onnx}: the adapted network; use it as --embedder of opengcd init.")


def adapt_on_the_way(workspace: Workspace) -> None:
    """Adapt the network after another command has done its work."""
    echo(f"Now the network is adapted; if that is interrupted, opengcd adapt {workspace.path} goes on.")
    _adapt(workspace, {}, None, dry_run=False, force=False)


def _adapt(workspace: Workspace, given: dict[str, Any], unlabelled: bool | None, *, dry_run: bool, force: bool) -> None:
    """Adapt the network of a workspace that is open; say beforehand what it takes, and afterwards what came of it."""
    from opengcd._internal import terminal
    from opengcd.adapt import AdaptSettings

    settings = AdaptSettings(**given)
    plan = workspace.adaptation.plan(settings, unlabelled=unlabelled)
    if not plan.possible:
        raise ValueError(plan.reason)
    without = f" and {plan.unlabelled:,} without" if unlabelled else ""
    took = "" if plan.seconds is None else f": {as_duration(plan.seconds)} on this machine ({plan.device})"
    echo(f"Adapting to {plan.images:,} images with labels{without}{took}.")
    with terminal.progress_bar() as progress:
        adapted = workspace.adapt(
            force=force, dry_run=dry_run, settings=settings, unlabelled=unlabelled, progress=progress
        )
    show_adapted(adapted, workspace.path)
