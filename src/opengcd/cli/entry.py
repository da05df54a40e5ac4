"""The command line: one thin command per verb, in one module per group of commands."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from opengcd.cli.adaptation import adapt
from opengcd.cli.bench import bench
from opengcd.cli.demo import demo
from opengcd.cli.edits import edit
from opengcd.cli.failures import explained
from opengcd.cli.home import app as home
from opengcd.cli.home import open_home
from opengcd.cli.loop import discover, learn, recognize, redo, rejection, rollback, undo
from opengcd.cli.output import echo, echo_lines
from opengcd.cli.project import check, export, history, init, status
from opengcd.cli.review import review
from opengcd.cli.service import serve, token
from opengcd.cli.taxonomy import taxonomy
from opengcd.cli.teaching import suspects, teach

app = typer.Typer(
    name="opengcd",
    help="Open-world recognition: recognise images of known classes, reject the others, discover the new classes among "
    "them, and learn these.\n\n"
    "A workspace is a folder that stores a project. One phase of work is: recognize, discover, review, learn. `opengcd "
    "demo` shows all of it on a small dataset. Without a command, `opengcd` opens all projects in the browser, like "
    "`opengcd app`.",
    invoke_without_command=True,
    add_completion=False,
)
COMMANDS: tuple[Callable[..., Any], ...] = (
    home, init, recognize, discover, review, teach, learn, suspects, adapt, status, export, undo, redo, history,
    rollback, rejection, taxonomy, check, serve, token, demo,
)  # fmt: skip
"""In the order of the help."""


def _print_version(wanted: bool) -> None:
    if wanted:
        from opengcd import __version__

        echo(f"opengcd {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is not None:
        return
    if sys.stdin.isatty() and sys.stdout.isatty():
        open_home()
    else:  # a script has no use for a server
        echo_lines(context.get_help())


for command in COMMANDS:
    app.command(command.__name__)(command)
app.add_typer(edit, name="edit")
app.add_typer(bench, name="bench")


def main() -> None:
    """Run the command line."""
    try:
        app()
    except OSError as error:  # of a command that does not report errors itself
        echo(f"Error: {explained(error)}", err=True)
        sys.exit(1)
