"""Commands of the loop: recognise, discover, learn, undo, redo and rollback."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from opengcd.cli.adaptation import adapt_on_the_way
from opengcd.cli.display import show_class_number, show_entry, show_groups, show_measured, show_next_step
from opengcd.cli.failures import exit_for_bad_files, report_bad_file, report_bad_files, report_errors, report_skipped
from opengcd.cli.options import Adapt, Boxes, Folder, Fps, MinConfidence
from opengcd.cli.output import echo, write_out

if TYPE_CHECKING:
    from opengcd import Workspace
    from opengcd.workspace import Result, Version


def recognize(
    workspace: Folder,
    paths: Annotated[list[Path], typer.Argument(metavar="PATHS", help="Images, videos, folders, or lists of images.")],
    watch: Annotated[bool, typer.Option(help="Watch the folders for new images until interrupted.")] = False,
    style: Annotated[
        Literal["table", "jsonl", "csv"], typer.Option("--format", help="Format of the output.")
    ] = "table",
    times: Annotated[
        Path | None, typer.Option(help="CSV file with the columns file and time: when the images were taken.")
    ] = None,
    boxes: Boxes = None,
    min_confidence: MinConfidence = 0.2,
    fps: Fps = 1.0,
) -> None:
    """Recognise images and frames of videos of known classes, and reject the others as unknown.

    Each result is printed as soon as it is stored.
    """
    from opengcd import Workspace
    from opengcd._internal import terminal
    from opengcd.workspace import read_times

    if watch and boxes is not None:
        raise typer.BadParameter("--boxes has no effect together with --watch; give one of them")
    with report_errors(), Workspace(workspace) as opened:
        if times is not None:
            read_times(times)  # a mistake in it is found before the images are read
        show = PRINTERS[style](opened.taxonomies.in_use(), boxes is not None)
        if watch:
            _print_until_interrupted(opened.watch(paths, fps=fps), show)
            return
        bad, skipped, good = list[tuple[str, str]](), list[str](), 0
        with terminal.progress_bar() as progress:
            for result in opened.recognize(
                paths,
                boxes=boxes,
                min_confidence=min_confidence,
                fps=fps,
                progress=progress,
                on_skipped=skipped.append,
            ):
                if result.reason:
                    bad.append((result.path, result.reason))
                else:
                    good += 1
                    show(result)
        if times is not None:
            opened.set_times(times)
        if style == "table":
            show_next_step(opened)
        report_skipped(skipped)
        if not good and not bad:
            echo(f"There is no image in {', '.join(map(str, paths))}.", err=True)
        report_bad_files(bad)


def discover(
    workspace: Folder,
    k: Annotated[
        int | None, typer.Option(help="Number of classes, known and new ones together (default: estimated).")
    ] = None,
) -> None:
    """Group the images of new classes, and estimate the number of classes.

    Groups that a person has named or changed are kept.
    """
    from opengcd import Workspace
    from opengcd._internal import terminal

    with report_errors(), Workspace(workspace) as opened:
        with terminal.progress_bar() as progress:
            found = opened.discover(k, progress=progress)
        show_class_number(found.k, found.k_interval)
        returned = f"{found.returned} {'image was' if found.returned == 1 else 'images were'} returned to known classes"
        echo(f"{found.groups} groups among {found.items} images; {returned}.")
        if found.left_alone:
            echo(f"{found.left_alone} images were left unchanged, because they were edited meanwhile.")
        show_groups(opened.status().groups)
        show_next_step(opened)
        if not found.trusted:
            echo(f"The estimated number of classes is not reliable: {found.reason}.", err=True)


def learn(workspace: Folder, adapt: Adapt = False) -> None:
    """Learn the groups that were named and confirmed; this begins the next phase."""
    from opengcd import Workspace
    from opengcd._internal import terminal

    with report_errors(), Workspace(workspace) as opened:
        with terminal.progress_bar() as progress:
            version = opened.learn(progress=progress)
        show_learnt(opened, version)
        if adapt:
            adapt_on_the_way(opened)
        show_next_step(opened)


def show_learnt(opened: Workspace, version: Version) -> None:
    """Show what a version has learnt."""
    echo(f"Version {version.id}, phase {version.phase}: {len(version.classes)} classes.")
    show_measured(opened.held_out.report())


def undo(workspace: Folder) -> None:
    """Undo the last edit: of a group, by discover, learn, adapt or rollback."""
    from opengcd import Workspace

    with report_errors(), Workspace(workspace) as opened:
        show_entry("Undone", opened.undo().entry)


def redo(workspace: Folder) -> None:
    """Redo the edit that was undone last, unless another edit followed."""
    from opengcd import Workspace

    with report_errors(), Workspace(workspace) as opened:
        show_entry("Redone", opened.redo().entry)


def rollback(
    workspace: Folder,
    version: Annotated[int | None, typer.Argument(help="Number of the version (default: list all versions).")] = None,
) -> None:
    """Switch to another version of the recogniser, or list all versions.

    Images that the version has not learnt return to the review.
    """
    from opengcd import Workspace

    with report_errors(), Workspace(workspace) as opened:
        if version is not None:
            opened.rollback(version)
        for found in opened.models.versions():
            mark = "*" if found.in_use else " "
            adapted = ", network adapted here" if found.report and "adapted" in found.report else ""
            classes = f"{len(found.classes)} classes"
            echo(f"{mark} {found.id:4} {found.at[:19]} phase {found.phase}, {classes}{adapted}")


def rejection(
    workspace: Folder,
    max_known_rejected: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="From now on, reject at most this share of images of known classes, such as 0.05."
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Remove the limit: estimate the threshold from the images that arrive.")
    ] = False,
) -> None:
    """Set the largest share of known images that may be rejected, or show what each limit would reject."""
    from opengcd import Workspace

    if follow and max_known_rejected is not None:
        raise typer.BadParameter("give either --max-known-rejected or --follow, not both")
    with report_errors(), Workspace(workspace) as opened:
        if follow or max_known_rejected is not None:
            opened.models.limit_rejection(max_known_rejected)
        found = opened.models.rejection()
        if not found.choices:
            echo("The preset of this workspace has no threshold to choose.")
        for choice in found.choices:
            mark = "*" if choice.max_known_rejected == found.max_known_rejected else " "
            limit = "follow" if choice.max_known_rejected is None else f"{choice.max_known_rejected:.0%}"
            echo(
                f"{mark} {limit:>6}: rejects {choice.rejected_known:.1%} of known images, "
                f"{choice.rejected_stream:,} of {found.seen:,} images so far"
            )


def _print_until_interrupted(results: Iterable[Result], show: Callable[[Result], None]) -> None:
    """Show results, including unusable images, as they come until the user interrupts."""
    bad = 0
    try:
        for result in results:
            if result.reason:
                bad += 1
                report_bad_file(result.path, result.reason)
            else:
                show(result)
    except KeyboardInterrupt:
        echo("Stopped.", err=True)
    exit_for_bad_files(bad)


def _print_table(with_taxa: bool, with_crops: bool) -> Callable[[Result], None]:
    from opengcd.workspace import readable
    from opengcd.workspace.taxonomies import path_of

    sure = f"{'deepest sure rank':40} " if with_taxa else ""
    echo(f"{'label':24} unknown  {sure}{'most likely classes':48} image")

    def show(result: Result) -> None:
        top = ", ".join(f"{label} {p:.2f}" for label, p in result.top)
        one = result.taxon
        taxon = "" if one is None else f"{path_of(one)} ({one.taxon.rank}, {one.probability:.2f})"
        sure = f"{taxon:40} " if with_taxa else ""
        image = readable(result.path)
        if result.origin is not None:
            left, top_edge, width, height = result.origin.box
            image = f"{readable(result.origin.path)} ({width} x {height} at {left}, {top_edge})"
        echo(f"{result.label:24} {result.unknown:7.2f}  {sure}{top:48} {image}")

    return show


def _print_json(with_taxa: bool, with_crops: bool) -> Callable[[Result], None]:
    def show(result: Result) -> None:
        top = [{"label": label, "p": p} for label, p in result.top]
        line = {"path": result.path, "label": result.label, "unknown": round(result.unknown, 6), "top": top}
        echo(json.dumps(line | _more(result, with_taxa, with_crops)))

    return show


def _print_csv(with_taxa: bool, with_crops: bool) -> Callable[[Result], None]:
    from opengcd.workspace import csv_line

    write_out(csv_line(["path", "label", "unknown", "top", *_more(None, with_taxa, with_crops)]))

    def show(result: Result) -> None:
        top = "; ".join(f"{label} {p:.3f}" for label, p in result.top)
        more = _more(result, with_taxa, with_crops)
        if box := more.get("box"):
            more["box"] = " ".join(map(str, box))
        write_out(csv_line([result.path, result.label, result.unknown, top, *more.values()]))
        sys.stdout.flush()

    return show


def _more(result: Result | None, with_taxa: bool, with_crops: bool) -> dict[str, Any]:
    """Return the columns of the deepest sure rank and of the whole image of a crop; empty values without a result."""
    from opengcd.workspace.taxonomies import columns_of

    columns: dict[str, Any] = columns_of(result and result.taxon) if with_taxa else {}
    if with_crops:
        origin = result and result.origin
        columns |= {"image": origin and origin.path, "box": origin and list(origin.box)}
    return columns


PRINTERS: dict[str, Callable[[bool, bool], Callable[[Result], None]]] = {
    "table": _print_table,
    "jsonl": _print_json,
    "csv": _print_csv,
}
"""For each format, a function that prints the header and returns the function that prints a result.

It is told whether results have the deepest sure rank, which they have with a taxonomy, and whether they may be crops.
"""
