"""The command line: one thin command per verb."""

from __future__ import annotations

from typing import Annotated

import typer

from opengcd import __version__

app = typer.Typer(
    name="opengcd",
    help="Open-world recognition: recognise what is known, reject what is not, discover new classes, learn them.",
    no_args_is_help=True,
    add_completion=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"opengcd {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    app()
