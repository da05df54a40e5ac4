"""The review in the browser, or in folders."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from opengcd.cli.display import command, show_next_step
from opengcd.cli.failures import report_bad_files, report_errors
from opengcd.cli.options import Copy, Folder
from opengcd.cli.output import echo
from opengcd.cli.questions import ask_questions
from opengcd.cli.service import serve


def review(
    workspace: Folder,
    export: Annotated[Path | None, typer.Option(help="Write one folder of images per group into this folder.")] = None,
    import_: Annotated[
        Path | None, typer.Option("--import", help="Read the exported folders back, after you have changed them.")
    ] = None,
    copy: Copy = False,
    ask: Annotated[
        bool,
        typer.Option(
            "--ask", help="Answer questions about groups in the terminal, one key each, the most useful first."
        ),
    ] = False,
) -> None:
    """Review the groups: name those that are classes, and correct them.

    Without an option, the review page opens in the browser. To review in a file manager, export the groups to folders,
    rename the folders, move and delete images, and import the folders.
    """
    from opengcd import Workspace
    from opengcd._internal import terminal
    from opengcd.workspace import readable

    if (export is not None) + (import_ is not None) + ask > 1:
        raise typer.BadParameter("give only one of --export, --import and --ask")
    if ask:
        ask_questions(workspace)
        return
    if export is None and import_ is None:
        serve(workspace, open_page=True)
        return
    with report_errors(), Workspace(workspace) as opened:
        if export is not None:
            with terminal.progress_bar() as progress:
                missing = opened.formats.export_groups(export, copy=copy, progress=progress)
            echo(
                f"{export}: rename each folder to its class, move misplaced images, and delete images that should not "
                f"be learnt. Then run {command('review', workspace, '--import', export)}"
            )
            report_bad_files(missing)
        elif import_ is not None:
            changes = opened.formats.import_groups(import_)
            echo(f"{changes.named} groups named, {changes.moved} images moved, {changes.removed} images removed.")
            for path, reason in changes.ignored:
                echo(f"skipped {readable(path)}: {reason}", err=True)
            show_next_step(opened)
