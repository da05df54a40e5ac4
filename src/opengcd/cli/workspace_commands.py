"""The commands that work on a workspace."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from opengcd.cli.failures import end_for_bad, errors_in_a_line, list_bad, require, tell_bad
from opengcd.cli.output import echo, write_out

if TYPE_CHECKING:
    from opengcd.workspace import Entry, GroupSize, Result

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the workspace.")]
Copy = Annotated[bool, typer.Option(help="Copy the images instead of linking to them.")]


def init(
    workspace: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the new workspace.")],
    known: Annotated[Path, typer.Option(help="Folder with a folder of images for each known class.")],
    embedder: Annotated[
        str, typer.Option(help="A Hugging Face name or folder, an .onnx file, or pixels for tiny images.")
    ] = "facebook/dino-vitb16",
    pooling: Annotated[
        Literal["cls", "mean", "pooled"], typer.Option(help="How a network's output becomes one vector.")
    ] = "cls",
    precision: Annotated[
        Literal["auto", "half", "full"],
        typer.Option(help="16 bits on a GPU alone, everywhere (faster on new processors), or nowhere."),
    ] = "auto",
    preset: Annotated[str | None, typer.Option(help="Choices of the method, as in the Python interface.")] = None,
    classifier: Annotated[str | None, typer.Option(help="svm, mlp, xgb or logistic.")] = None,
    memory: Annotated[int | None, typer.Option(min=1, help="Number of exemplars kept for all classes.")] = None,
    max_known_rejected: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Reject at most this share of known images (default: follow the stream)."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="All chance.")] = 0,
    database: Annotated[
        str | None, typer.Option(help="A PostgreSQL URL; by default SQLite in the workspace's folder.")
    ] = None,
) -> None:
    """Make a workspace and learn the known classes; if interrupted, the same command goes on."""
    from opengcd import Workspace
    from opengcd._internal import terminal

    given = {
        "preset": preset,
        "classifier": classifier,
        "memory_size": memory,
        "max_known_rejected": max_known_rejected,
    }
    recognizer = {"random_state": seed} | {key: value for key, value in given.items() if value is not None}
    with errors_in_a_line():
        with (
            Workspace.create(
                workspace, embedder, pooling=pooling, precision=precision, recognizer=recognizer, database=database
            ) as made,
            terminal.progress_bar() as progress,
        ):
            bad = made.fit(known, progress=progress)
            status = made.status()
        assert status.version is not None
        echo(f"{workspace}: {status.counts['learnt']} images of {len(status.version.classes)} classes.")
        list_bad(bad)


def recognize(
    workspace: Folder,
    paths: Annotated[list[Path], typer.Argument(metavar="PATHS", help="Images, or folders of images.")],
    watch: Annotated[bool, typer.Option(help="Follow the folders until interrupted.")] = False,
    style: Annotated[Literal["table", "jsonl", "csv"], typer.Option("--format", help="How to print.")] = "table",
) -> None:
    """Name what is known and reject what is not; results are printed as they are stored."""
    from opengcd import Workspace
    from opengcd._internal import terminal

    show = _SHOWN[style]()
    with errors_in_a_line(), Workspace(workspace) as opened:
        if watch:
            _follow(opened.watch(paths), show)
            return
        bad = []
        with terminal.progress_bar() as progress:
            for result in opened.recognize(paths, progress=progress):
                if result.reason:
                    bad.append((result.path, result.reason))
                else:
                    show(result)
        list_bad(bad)


def discover(
    workspace: Folder,
    k: Annotated[int | None, typer.Option(help="Number of classes, known ones included (default: estimated).")] = None,
) -> None:
    """Group what is new; groups that a person has named stay."""
    from opengcd import Workspace
    from opengcd._internal import terminal

    with errors_in_a_line(), Workspace(workspace) as opened:
        with terminal.progress_bar() as progress:
            found = opened.discover(k, progress=progress)
        _show_number(found.k, found.k_interval)
        echo(f"{found.groups} groups among {found.items} images; {found.put_back} were put back into known classes.")
        if found.left_alone:
            echo(f"{found.left_alone} were changed by someone meanwhile, and left as they are.")
        _show_groups(opened.status().groups)
        if not found.trusted:
            echo(f"The number of classes is doubtful: {found.reason}", err=True)


def review(
    workspace: Folder,
    export: Annotated[Path | None, typer.Option(help="Write a folder for each group here.")] = None,
    import_: Annotated[
        Path | None, typer.Option("--import", help="Read the folders back, as a person changed them.")
    ] = None,
    copy: Copy = False,
) -> None:
    """Review groups in the browser; or in a file manager: export, rename folders, move and delete images, import."""
    from opengcd import Workspace
    from opengcd._internal import terminal
    from opengcd.workspace import readable

    if export is not None and import_ is not None:
        raise typer.BadParameter("give either --export or --import")
    if export is None and import_ is None:
        serve(workspace, open_page=True)
        return
    with errors_in_a_line(), Workspace(workspace) as opened:
        if export is not None:
            with terminal.progress_bar() as progress:
                missing = opened.formats.export_groups(export, copy=copy, progress=progress)
            echo(
                f"{export}: give each folder the name of its class, move what is wrong, delete what should not be "
                f"learnt; then opengcd review {workspace} --import {export}"
            )
            list_bad(missing)
        elif import_ is not None:
            changes = opened.formats.import_groups(import_)
            echo(f"{changes.named} named, {changes.moved} moved, {changes.removed} removed.")
            for path, reason in changes.ignored:
                echo(f"passed over {readable(path)}: {reason}", err=True)


def learn(workspace: Folder) -> None:
    """Learn what was reviewed: the next phase begins."""
    from opengcd import Workspace
    from opengcd._internal import terminal

    with errors_in_a_line(), Workspace(workspace) as opened:
        with terminal.progress_bar() as progress:
            version = opened.learn(progress=progress)
        echo(f"Version {version.id}, phase {version.phase}: {len(version.classes)} classes.")


def status(workspace: Folder) -> None:
    """Show what is there, and what to do next."""
    from opengcd import Workspace
    from opengcd.workspace import SOURCES

    with errors_in_a_line(), Workspace(workspace) as opened:
        found = opened.status()
        echo(f"embedder  {found.embedder}")
        if found.version is None:
            echo("no class learnt yet; run opengcd init again to finish")
            return
        echo(f"version   {found.version.id} of {found.versions}, phase {found.version.phase}")
        echo(f"classes   {len(found.version.classes)}: {', '.join(found.version.classes)}")
        if threshold := found.version.threshold:
            _show_threshold(**threshold)
        if found.discovered:
            _show_number(found.discovered["k"], found.discovered.get("k interval"))
        for source, number in found.counts.items():
            if number:
                echo(f"{number:9,} {source}: {SOURCES[source]}")
        if found.failures:
            echo(f"{found.failures:9,} files could not be used")
        _show_groups(found.groups)


def export(
    workspace: Folder,
    style: Annotated[Literal["csv", "json", "coco", "folders"], typer.Option("--format", help="What to write.")],
    out: Annotated[Path | None, typer.Option(help="File, or new folder; by default standard output.")] = None,
    copy: Copy = False,
) -> None:
    """Write all labels, and who says so."""
    from opengcd import Workspace
    from opengcd._internal import terminal

    with errors_in_a_line(), Workspace(workspace) as opened:
        if out is not None:
            with terminal.progress_bar() as progress:
                missing = opened.export(style, out, copy=copy, progress=progress)
            list_bad(missing)
        elif style == "folders":
            raise typer.BadParameter("give a folder for the folders", param_hint="--out")
        else:
            content = opened.formats.export_bytes(style)
            write_out(content if content.endswith(b"\n") else content + b"\n")


def undo(workspace: Folder) -> None:
    """Take back the last edit: of groups, a discovery, a phase, or a rollback."""
    from opengcd import Workspace

    with errors_in_a_line(), Workspace(workspace) as opened:
        _show_entry("Undone", opened.undo().entry)


def redo(workspace: Folder) -> None:
    """Do again what was undone last, unless something else was done since."""
    from opengcd import Workspace

    with errors_in_a_line(), Workspace(workspace) as opened:
        _show_entry("Done again", opened.redo().entry)


def history(workspace: Folder) -> None:
    """Show who did what when, the latest first."""
    from opengcd import Workspace

    with errors_in_a_line(), Workspace(workspace) as opened:
        for entry in opened.history():
            undone = " [undone]" if entry.undone else ""
            echo(f"{entry.id:5} {entry.at[:19]} {entry.who} {entry.verb}: {_facts(entry.details)}{undone}")


def rollback(
    workspace: Folder,
    version: Annotated[int | None, typer.Argument(help="Number of the version; without it, all are listed.")] = None,
) -> None:
    """Use an earlier version of the recogniser; what it has not learnt is under review again."""
    from opengcd import Workspace

    with errors_in_a_line(), Workspace(workspace) as opened:
        if version is not None:
            opened.rollback(version)
        for found in opened.models.versions():
            mark = "*" if found.in_use else " "
            echo(f"{mark} {found.id:4} {found.at[:19]} phase {found.phase}, {len(found.classes)} classes")


def serve(
    workspace: Folder,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 is all of this machine's.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8765,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A name that this machine is reached by, beside localhost.")
    ] = None,
    behind_proxy: Annotated[
        list[str] | None,
        typer.Option(help="Address of a proxy whose X-Forwarded-For and X-Forwarded-Proto are believed."),
    ] = None,
    certificate: Annotated[Path | None, typer.Option(help="For https: the certificate (PEM).")] = None,
    key: Annotated[Path | None, typer.Option(help="For https: its private key (PEM).")] = None,
) -> None:
    """Serve the review page and the HTTP API."""
    for package in ("fastapi", "uvicorn", "multipart"):
        require(package, "service")
    from opengcd import Workspace
    from opengcd.service import Site, run

    site = Site(host, port, allow_host or (), behind_proxy or (), certificate, key)
    with errors_in_a_line(), Workspace(workspace) as opened:
        run(opened, site, open_page=open_page, tell=echo)


def token(
    workspace: Folder,
    scope: Annotated[Literal["read", "write"], typer.Option(help="What its bearer may do.")] = "write",
    name: Annotated[str | None, typer.Option(help="Who will use it (default: you).")] = None,
    show: Annotated[bool, typer.Option("--list", help="List the tokens there are.")] = False,
    revoke: Annotated[int | None, typer.Option(help="Number of a token that nobody shall use any more.")] = None,
) -> None:
    """Make a token for the service, and show it this once; or list and revoke those there are."""
    from opengcd import Workspace

    with errors_in_a_line(), Workspace(workspace) as opened:
        if revoke is not None:
            opened.access.revoke(revoke)
        elif not show:
            echo(opened.access.make(name or opened.who, scope))
            return
        for found in opened.access.tokens():
            echo(f"{found.id:4} {found.at[:19]} {found.scope:5} {found.name}")


def rejection(
    workspace: Folder,
    max_known_rejected: Annotated[
        float | None, typer.Option(min=0, max=1, help="Reject at most this share of known images from now on.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Let the threshold follow the stream again.")] = False,
) -> None:
    """Show how many images are rejected, and would be by other limits; or set the limit."""
    from opengcd import Workspace

    if follow and max_known_rejected is not None:
        raise typer.BadParameter("give either --max-known-rejected or --follow")
    with errors_in_a_line(), Workspace(workspace) as opened:
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
                f"{choice.rejected_stream:,} of {found.seen:,} in the stream"
            )


def check(
    workspace: Folder,
    repair: Annotated[bool, typer.Option(help="Make again what can be made from the images and the rest.")] = False,
) -> None:
    """Verify the whole workspace: database, edit log, vectors, models, uploads, thumbnails."""
    from opengcd import Workspace
    from opengcd._internal import terminal

    with errors_in_a_line(), Workspace(workspace) as opened:
        with terminal.progress_bar() as progress:
            found = opened.check(repair=repair, progress=progress)
        for one in found:
            typer.echo(f"{'repaired' if one.repaired else 'damaged'}: {one.what}: {one.problem}; {one.remedy}")
        if not found:
            typer.echo("Everything is as it was written.")
        if not all(one.repaired for one in found):
            raise typer.Exit(1)


COMMANDS: tuple[Callable[..., Any], ...] = (
    init, recognize, discover, review, learn, status, export, undo, redo, history, rollback, rejection, check, serve,
    token,
)  # fmt: skip


def _show_threshold(source: str, known_rejected: float, known_share: float | None, **_: Any) -> None:
    grounds = {"bound": "by the bound that was set", "labelled": "by labelled images", "stream": "by the stream"}
    share = "" if known_share is None else f"; {known_share:.0%} of the stream seem known"
    echo(f"threshold {grounds[source]}: rejects about {known_rejected:.0%} of known images{share}")


def _show_number(k: int, interval: Sequence[int] | None) -> None:
    likely = f", very likely {interval[0]} to {interval[1]}" if interval and interval[0] < interval[1] else ""
    echo(f"k         {k} classes with the known ones{likely}")


def _show_groups(groups: Iterable[GroupSize]) -> None:
    for group in groups:
        state = "confirmed" if group.confirmed else "named" if group.named and group.kind == "novel" else group.kind
        facts = [state]
        if group.kind == "novel" and group.cohesion is not None:
            facts.append(f"cohesion {group.cohesion:.2f}")
        if group.kind == "novel" and group.probability is not None:
            facts.append(f"a class with probability {group.probability:.2f}")
        if group.doubtful:
            facts.append("doubtful")
        echo(f"{group.size:9,} in group {group.id}, {group.label} ({', '.join(facts)})")


def _follow(results: Iterable[Result], show: Callable[[Result], None]) -> None:
    """Show results until the user ends it, bad images at once."""
    bad = 0
    try:
        for result in results:
            if result.reason:
                bad += 1
                tell_bad(result.path, result.reason)
            else:
                show(result)
    except KeyboardInterrupt:
        echo("Stopped.", err=True)
    end_for_bad(bad)


def _as_lines() -> Callable[[Result], None]:
    from opengcd.workspace import readable

    echo(f"{'label':24} unknown  {'most likely classes':48} image")

    def show(result: Result) -> None:
        top = ", ".join(f"{label} {p:.2f}" for label, p in result.top)
        echo(f"{result.label:24} {result.unknown:7.2f}  {top:48} {readable(result.path)}")

    return show


def _as_json() -> Callable[[Result], None]:
    def show(result: Result) -> None:
        top = [{"label": label, "p": p} for label, p in result.top]
        line = {"path": result.path, "label": result.label, "unknown": round(result.unknown, 6), "top": top}
        echo(json.dumps(line))

    return show


def _as_csv() -> Callable[[Result], None]:
    from opengcd.workspace import csv_line

    write_out(csv_line(["path", "label", "unknown", "top"]))

    def show(result: Result) -> None:
        top = "; ".join(f"{label} {p:.3f}" for label, p in result.top)
        write_out(csv_line([result.path, result.label, result.unknown, top]))
        sys.stdout.flush()

    return show


_SHOWN: dict[str, Callable[[], Callable[[Result], None]]] = {"table": _as_lines, "jsonl": _as_json, "csv": _as_csv}


def _show_entry(title: str, entry: Entry | None) -> None:
    assert entry is not None
    echo(f"{title}: {entry.verb} of {entry.at[:19]} by {entry.who} ({_facts(entry.details)})")


def _facts(details: dict[str, Any]) -> str:
    told = {key: value for key, value in details.items() if key != "curve"}  # dozens of numbers are for a plot
    return ", ".join(f"{key} {', '.join(map(str, v)) if isinstance(v, list) else v}" for key, v in told.items())
