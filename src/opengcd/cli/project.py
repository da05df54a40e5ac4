"""Commands for a workspace as a whole: create, show, verify and export it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from opengcd.cli.adaptation import adapt_on_the_way
from opengcd.cli.display import (
    as_text,
    show_agreement,
    show_class_number,
    show_groups,
    show_measured,
    show_next_step,
    show_same_names,
    show_threshold,
)
from opengcd.cli.failures import report_bad_files, report_errors, report_skipped
from opengcd.cli.options import Adapt, Boxes, BoxLabels, Copy, Folder, Fps, MinConfidence
from opengcd.cli.output import echo, write_out


def init(
    workspace: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the new workspace.")],
    known: Annotated[
        Path,
        typer.Option(
            help="Folder with one folder of labelled images per known class, named after the class; or a list of "
            "images with labels (.csv, .jsonl, COCO's .json)."
        ),
    ],
    embedder: Annotated[
        str,
        typer.Option(
            help="Network that computes the embedding of each image, a vector: its name on the Hugging Face hub, a "
            "local folder, or an .onnx file; or pixels, which needs no network, and is for demos and tests only: it "
            "compares colours, not what an image shows; or vectors, if you have vectors instead of images."
        ),
    ] = "facebook/dino-vitb16",
    pooling: Annotated[
        Literal["cls", "mean", "pooled"],
        typer.Option(
            help="Which output of the network is the embedding: its class token (cls), the mean over all patches "
            "(mean), or what it returns for a whole image (pooled)."
        ),
    ] = "cls",
    precision: Annotated[
        Literal["auto", "half", "full"],
        typer.Option(help="16-bit arithmetic on GPUs only (auto), on all devices (half), or never (full)."),
    ] = "auto",
    preset: Annotated[
        str | None, typer.Option(help="Methods of all steps: best, paper, robust or authors (default: best).")
    ] = None,
    classifier: Annotated[
        str | None, typer.Option(help="Classifier to use instead of the preset's: svm, mlp, xgb or logistic.")
    ] = None,
    memory: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Largest number of exemplars: labelled images that are kept, and learnt from in every phase (default: "
            "20,000, or all known images if there are more).",
        ),
    ] = None,
    max_known_rejected: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Reject at most this share of images of known classes, such as 0.05 (default: the threshold is "
            "estimated from the images that arrive).",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random number generator.")] = 0,
    database: Annotated[
        str | None, typer.Option(help="PostgreSQL URL (default: an SQLite file in the workspace).")
    ] = None,
    boxes: Boxes = None,
    min_confidence: MinConfidence = 0.2,
    box_labels: BoxLabels = False,
    fps: Fps = 1.0,
    adapt: Adapt = False,
) -> None:
    """Make a workspace and learn the known classes.

    If the command fails or is interrupted, run it again to continue, with other settings if you like.
    """
    from opengcd import Workspace
    from opengcd._internal import terminal
    from opengcd.adapt import check_trainable
    from opengcd.embed import Pixels
    from opengcd.embed.pixels import FOR_TESTS

    given = {
        "preset": preset,
        "classifier": classifier,
        "memory_size": memory,
        "max_known_rejected": max_known_rejected,
    }
    recognizer = {"random_state": seed} | {key: value for key, value in given.items() if value is not None}
    with report_errors():
        if adapt:
            check_trainable(embedder)  # before the images are read
        with Workspace.create(
            workspace, embedder, pooling=pooling, precision=precision, recognizer=recognizer, database=database
        ) as made:
            skipped = list[str]()
            with terminal.progress_bar() as progress:
                bad = made.fit(
                    known,
                    boxes=boxes,
                    min_confidence=min_confidence,
                    box_labels=box_labels,
                    fps=fps,
                    progress=progress,
                    on_skipped=skipped.append,
                )
            status = made.status()
            assert status.version is not None
            echo(f"{workspace}: {status.counts['learnt']} images of {len(status.version.classes)} classes.")
            if embedder == Pixels.name:
                echo(f"The embedder pixels is {FOR_TESTS}. For photographs choose a network by --embedder.", err=True)
            if adapt:
                adapt_on_the_way(made)
            show_next_step(made)
        report_skipped(skipped)
        report_bad_files(bad)


def status(workspace: Folder) -> None:
    """Show the classes, images and groups, and the estimated number of classes."""
    from opengcd import Workspace
    from opengcd.embed import Pixels
    from opengcd.embed.pixels import FOR_TESTS
    from opengcd.workspace import SOURCES, DiscoverDetails

    with report_errors(), Workspace(workspace) as opened:
        found = opened.status()
        toy = f" ({FOR_TESTS})" if found.embedder == Pixels.name else ""
        adapted = f", adapted to these images: {found.network}" if found.network else ""
        echo(f"embedder  {found.embedder}{toy}{adapted}")
        if found.version is None:
            echo("No class has been learnt yet.")
            show_next_step(opened)
            return
        echo(f"version   {found.version.id} of {found.versions}, phase {found.version.phase}")
        echo(f"classes   {len(found.version.classes)}: {', '.join(found.version.classes)}")
        if threshold := found.version.threshold:
            show_threshold(**threshold)
        show_measured(opened.held_out.report())
        if found.discovered:
            discovered = DiscoverDetails(**found.discovered)
            show_class_number(discovered.k, discovered.k_interval)
        for source, number in found.counts.items():
            if number:
                echo(f"{number:9,} {source}: {SOURCES[source]}")
        if found.failures:
            echo(f"{found.failures:9,} files could not be used")
        if found.without_crop:
            echo(f"no crop   {', '.join(f'{number:,} {label}' for label, number in found.without_crop.items())}")
        show_groups(found.groups)
        show_same_names(workspace, found.version.classes, found.groups)
        show_next_step(opened)


def _one_of(name: str) -> Callable[[str], str]:
    """Return a check that a value is a key of a table of the workspace; importing it takes a second."""

    def check(value: str) -> str:
        from opengcd import workspace

        table: Mapping[str, object] = getattr(workspace, name)
        if value not in table:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(table)}.")
        return value

    return check


def _list_formats(wanted: bool) -> None:
    if wanted:
        from opengcd.workspace import FORMATS

        width = max(map(len, FORMATS))
        for format in FORMATS.values():
            echo(f"{format.name:{width}}  {format.title}: {format.about}")
        raise typer.Exit


def export(
    workspace: Folder,
    style: Annotated[
        str,
        typer.Option(
            "--format", metavar="FORMAT", callback=_one_of("FORMATS"), help="Format of the export; see --formats."
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="New file or folder (default: standard output).")] = None,
    images: Annotated[
        str,
        typer.Option(
            metavar="[all|reviewed|new]",
            callback=_one_of("IMAGES"),
            help="Export all images, those that a person has reviewed, or those of new classes.",
        ),
    ] = "all",
    copy: Copy = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file, or the folder of an export.")] = False,
    deployments: Annotated[
        Path | None,
        typer.Option(help="CSV table of where and when cameras were, for camtrap-dp, darwin-core and inaturalist."),
    ] = None,
    metadata: Annotated[
        Path | None, typer.Option(help="JSON file with fields of the datapackage.json of camtrap-dp.")
    ] = None,
    formats: Annotated[
        bool, typer.Option("--formats", callback=_list_formats, is_eager=True, help="List the formats, and exit.")
    ] = False,
) -> None:
    """Export the label of every image, and where the label comes from, in the format of another tool."""
    from opengcd import Workspace
    from opengcd._internal import terminal
    from opengcd.workspace import FORMATS

    if out is None and not FORMATS[style].is_text:
        what = "folder" if FORMATS[style].is_folder else "file"
        raise typer.BadParameter(f"name a new {what} to write to", param_hint="--out")
    if out is None and (deployments or metadata):
        raise typer.BadParameter("name a new file to write to", param_hint="--out")
    with report_errors(), Workspace(workspace) as opened:
        if out is None:
            content = opened.formats.export_bytes(style, images=images)
            write_out(content if content.endswith(b"\n") else content + b"\n")
            return
        with terminal.progress_bar() as progress:
            left_out = opened.export(
                style,
                out,
                images=images,
                copy=copy,
                overwrite=overwrite,
                deployments=deployments,
                metadata=None if metadata is None else _read_metadata(metadata),
                progress=progress,
            )
        report_bad_files(left_out)


def _read_metadata(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_bytes())
    except ValueError as error:
        raise ValueError(f"{file} is not JSON: {error}.") from None
    if not isinstance(found, dict):
        raise ValueError(f"{file} must hold one JSON object.")
    return found


def history(
    workspace: Folder,
    agreement: Annotated[
        bool, typer.Option("--agreement", help="Show how often each two people gave the same images the same name.")
    ] = False,
) -> None:
    """Show who did what and when, the latest edit first."""
    from opengcd import Workspace

    with report_errors(), Workspace(workspace) as opened:
        if agreement:
            show_agreement(opened.views.agreement())
            return
        for entry in opened.history():
            undone = " [undone]" if entry.undone else ""
            echo(f"{entry.id:5} {entry.at[:19]} {entry.who} {entry.verb}: {as_text(entry.details)}{undone}")


def check(
    workspace: Folder,
    repair: Annotated[bool, typer.Option(help="Repair what can be computed from the images and other files.")] = False,
) -> None:
    """Verify all data of the workspace, and say what is damaged and what to do."""
    from opengcd import Workspace
    from opengcd._internal import terminal

    with report_errors(), Workspace(workspace) as opened:
        with terminal.progress_bar() as progress:
            found = opened.check(repair=repair, progress=progress)
        for one in found:
            typer.echo(f"{'repaired' if one.repaired else 'damaged'}: {one.what}: {one.problem}; {one.remedy}")
        if not found:
            typer.echo("No damage found.")
        if not all(one.repaired for one in found):
            raise typer.Exit(1)
