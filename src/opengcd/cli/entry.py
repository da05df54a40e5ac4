"""The command line: one thin command per verb, in one module per group of commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from opengcd.cli.adaptation import adapt
from opengcd.cli.bench import bench
from opengcd.cli.demo import demo
from opengcd.cli.edits import edit
from opengcd.cli.loop import discover, learn, recognize, redo, rejection, rollback, undo
from opengcd.cli.output import echo
from opengcd.cli.project import check, export, history, init, status
from opengcd.cli.review import review
from opengcd.cli.service import serve, token
from opengcd.cli.taxonomy import taxonomy
from opengcd.cli.teaching import teach

app = typer.Typer(
    name="opengcd",
    help="Open-world recognition: recognise images of known classes, reject the others, discover the new classes among "
    "them, and learn these.\n\n"
    "A workspace is a folder that stores a project. One phase of work is: recognize, discover, review, learn. `opengcd "
    "demo` shows all of it on a small dataset.",
    no_args_is_help=True,
    add_completion=False,
)
COMMANDS: tuple[Callable[..., Any], ...] = (
    init, recognize, discover, review, teach, learn, adapt, status, export, undo, redo, history, rollback, rejection,
    taxonomy, check, serve, token, demo,
)  # fmt: skip
"""In the order of the help."""


def _print_version(wanted: bool) -> None:
    if wanted:
        from opengcd import __version__

        echo(f"opengcd {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


for command in COMMANDS:
    app.command()(command)
app.add_typer(edit, name="edit")
app.add_typer(bench, name="bench")


def main() -> None:
    """Run the command line."""
    app()
