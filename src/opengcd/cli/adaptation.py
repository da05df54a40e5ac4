"""The command that adapts the network, and the option ``--adapt`` of other commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from opengcd.cli.display import as_duration, command, show_adapted
from opengcd.cli.failures import report_errors
from opengcd.cli.options import Folder
from opengcd.cli.output import echo

if TYPE_CHECKING:
    from opengcd import Workspace


def adapt(
    workspace: Folder,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only measure whether it would help; change nothing.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Use the adapted network even if the measurement shows no benefit.")
    ] = False,
    method: Annotated[
        Literal["lora", "blocks"],
        typer.Option(
            help="What to train in the last blocks: small additions to their weights (lora), or all weights (blocks)."
        ),
    ] = "lora",
    blocks: Annotated[
        int | None,
        typer.Option(
            min=1, help="How many of the last blocks of the network to train (default: depends on the device)."
        ),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Passes over the images (default: depends on their number).")
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(min=4, help="Images per training step (default: depends on their number).")
    ] = None,
    unlabelled: Annotated[
        bool,
        typer.Option("--unlabelled/--labelled-only", help="Whether to train on images without a label, too."),
    ] = False,
    onnx: Annotated[Path | None, typer.Option(help="Also write the adapted network to this ONNX file.")] = None,
) -> None:
    """Train the network on the images of the workspace, and use it if that helps.

    A rehearsal measures whether it helps. It hides some known classes, and compares two figures before and after: how
    well known and hidden classes are recognised (HNA), and how well the hidden ones are grouped (HCA). If the command
    is interrupted, run it again to continue.
    """
    from opengcd import Workspace

    given = {"method": method, "blocks": blocks, "epochs": epochs, "batch_size": batch_size}
    with report_errors(), Workspace(workspace) as opened:
        _adapt(opened, given, unlabelled, dry_run=dry_run, force=force)
        if onnx is not None:
            opened.adaptation.write_onnx(onnx)
            echo(f"Wrote the adapted network to {onnx}; opengcd init takes it as --embedder.")


def adapt_on_the_way(workspace: Workspace) -> None:
    """Adapt the network after another command has done its work."""
    echo(f"Adapting the network. If this is interrupted, run {command('adapt', workspace.path)} to continue.")
    _adapt(workspace, {}, None, dry_run=False, force=False)


def _adapt(workspace: Workspace, given: dict[str, Any], unlabelled: bool | None, *, dry_run: bool, force: bool) -> None:
    """Adapt the network of a workspace that is open; print beforehand how long it takes, and afterwards the result."""
    from opengcd._internal import terminal
    from opengcd.adapt import AdaptSettings

    settings = AdaptSettings(**given)
    plan = workspace.adaptation.plan(settings, unlabelled=unlabelled)
    if not plan.possible:
        raise ValueError(plan.reason)
    without = f" and {plan.unlabelled:,} without" if unlabelled else ""
    took = "" if plan.seconds is None else f": {as_duration(plan.seconds)} on this machine ({plan.device})"
    echo(f"Training on {plan.images:,} images with labels{without}{took}.")
    with terminal.progress_bar() as progress:
        adapted = workspace.adapt(
            force=force, dry_run=dry_run, settings=settings, unlabelled=unlabelled, progress=progress
        )
    parents = {version.id: version.parent for version in workspace.models.versions()}
    show_adapted(adapted, workspace.path, parents.get(adapted.version or 0))
