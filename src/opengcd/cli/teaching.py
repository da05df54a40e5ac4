"""Commands for labelled images: teach them, and look for wrong labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from opengcd.cli.display import command
from opengcd.cli.failures import SOME_IMAGES_BAD, report_bad_files, report_errors, report_skipped
from opengcd.cli.options import Folder, Fps
from opengcd.cli.output import echo

if TYPE_CHECKING:
    from opengcd.workspace import Suspects, Taught

SHOWN = 20
"""Conflicts that are listed."""


def teach(
    workspace: Folder,
    images: Annotated[
        Path,
        typer.Argument(
            metavar="IMAGES",
            help="Folder with one folder of labelled images per class, named after the class; or a list of images with "
            "labels (.csv, .jsonl, COCO's .json). With --labels: the folder that files of the list are relative to.",
        ),
    ],
    labels: Annotated[
        Path | None, typer.Option(help="List, such as a CSV file with the columns file and label.")
    ] = None,
    replace: Annotated[
        bool, typer.Option(help="Give the new label also to images to which a person has given another one.")
    ] = False,
    fps: Fps = 1.0,
    learn: Annotated[bool, typer.Option(help="Learn afterwards, with all else that is ready to learn.")] = False,
) -> None:
    """Add labelled images of known or new classes; the next learn takes them.

    Images that are in the workspace already get the label. All labels are one edit, which undo reverts. If the
    command is interrupted, run it again to continue.
    """
    from opengcd import Workspace
    from opengcd._internal import terminal
    from opengcd.cli.loop import show_learnt

    with report_errors(), Workspace(workspace) as opened:
        skipped = list[str]()
        with terminal.progress_bar() as progress:
            taught = opened.teach(
                images, labels, replace=replace, fps=fps, progress=progress, on_skipped=skipped.append
            )
        _show_taught(taught)
        if learn and opened.views.learnable().total() + opened.views.corrected().total():
            with terminal.progress_bar() as progress:
                version = opened.learn(progress=progress)
            show_learnt(opened, version)
        elif taught.images:
            echo(f"Next: {command('learn', workspace)}.")
        report_skipped(skipped)
        report_bad_files(taught.bad)
        if taught.conflicts:
            raise typer.Exit(SOME_IMAGES_BAD)


def _show_taught(taught: Taught) -> None:
    """Show what was taught, and what was not because it has another label."""
    from opengcd.workspace import readable

    for label, number in taught.classes.items():
        echo(f"{number:9,} {label}")
    replaced = f", {taught.replaced} of which had another label" if taught.replaced else ""
    already = f"; {taught.already} had their label already" if taught.already else ""
    echo(f"{taught.images} {'image was' if taught.images == 1 else 'images were'} labelled{replaced}{already}.")
    for one in taught.conflicts[:SHOWN]:
        present = f"is {one.present}" if one.present else "was removed from the review"
        echo(f"conflict: {readable(one.path)} {present}, not {one.given}", err=True)
    if taught.conflicts:
        more = f" ({len(taught.conflicts) - SHOWN} more are not shown)" if len(taught.conflicts) > SHOWN else ""
        echo(f"{len(taught.conflicts)} images kept the label that a person gave them{more}; "
             "to give them the new one, add --replace.", err=True)  # fmt: skip


def suspects(
    workspace: Folder,
    limit: Annotated[int, typer.Option(min=1, help="Largest number of images to list.")] = 20,
    style: Annotated[Literal["table", "jsonl"], typer.Option("--format", help="Format of the output.")] = "table",
) -> None:
    """List learnt images whose labels may be wrong, the most doubtful first.

    Each image is judged by a classifier that was fitted without it. Near copies with different labels are listed, too.
    An image that you have judged is not listed again: opengcd edit keep_label, relabel or discard; or use the page.
    """
    from opengcd import Workspace
    from opengcd._internal import terminal
    from opengcd.workspace import readable

    with report_errors(), Workspace(workspace) as opened:
        found = opened.held_out.suspects(limit)
        if not found.measured and not opened.read_only:
            with terminal.progress_bar() as progress:
                opened.held_out.measure(progress=progress)
            found = opened.held_out.suspects(limit)
        for one in found.suspects:
            path = next(iter(opened.views.paths(one.item)), "")
            if style == "jsonl":
                echo(json.dumps(one._asdict() | {"path": path}))
                continue
            copy = "" if one.copy is None else f", near copy of image {one.copy}"
            doubt = f"{one.label} {one.own:.2f}, {one.suggested} {one.rival:.2f}{copy}"
            echo(f"{one.item:8} {doubt:48} {readable(path)}")
        if style == "table":
            _show_what_to_do(workspace, found)


def _show_what_to_do(workspace: Path, found: Suspects) -> None:
    if not found.measured:
        echo("The version in use was not measured; opengcd learn does that.")
    elif not found.total:
        echo("No label is suspected.")
    else:
        echo(
            f"{found.total} {'label is' if found.total == 1 else 'labels are'} suspected. To judge them, run "
            f"{command('review', workspace)} and open Labels, or opengcd edit keep_label, relabel or discard."
        )
