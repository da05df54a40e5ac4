"""The review in the browser, or in folders."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from opengcd.cli.failures import report_bad_files, report_errors
from opengcd.cli.options import Copy, Folder
from opengcd.cli.output import echo
from opengcd.cli.questions import ask_questions
from opengcd.cli.service import serve


def review(
    workspace: Folder,
    export: Annotated[Path | None, typer.Option(help="Write a folder for each group here.")] = None,
    import_: Annotated[
        Path | None, typer.Option("--import", help="Import the folders after a person has changed them.")
    ] = None,
    copy: Copy = False,
    ask: Annotated[
        bool,
        typer.Option("--ask", help="Answer the most useful questions about groups in the terminal, one key each."),
    ] = False,
) -> None:
    """Review groups in the browser; or in a file manager: export, rename folders, move and delete images, import."""
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
                f"{export}: rename each folder to its class, move misplaced images, delete images that should not be "
                f"learnt; then run opengcd review {workspace} --import {export}"
            )
            report_bad_files(missing)
        elif import_ is not None:
            changes = opened.formats.import_groups(import_)
            echo(f"{changes.named} named, {changes.moved} moved, {changes.removed} removed.")
            for path, reason in changes.ignored:
                echo(f"skipped {readable(path)}: {reason}", err=True)
