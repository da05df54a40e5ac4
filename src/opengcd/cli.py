"""The command line: one thin command per verb."""

from __future__ import annotations

from pathlib import Path
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


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where to write the HTML page.")] = Path("demo.html"),
    seed: Annotated[int, typer.Option(min=0, help="Class order, split and all other chance.")] = 0,
    classifier: Annotated[str, typer.Option(help="svm, mlp or xgb.")] = "svm",
) -> None:
    """Run the whole loop on handwritten digits: four phases, a simulated reviewer, one HTML page."""
    from opengcd import terminal
    from opengcd.demo import digits, run_demo, table_rows, write_page

    data = digits(seed)
    with terminal.progress_bar() as progress:
        phases = list(run_demo(data, seed, classifier, progress))
    terminal.print_table("OpenGCD on handwritten digits", *table_rows(phases))
    write_page(out, data, phases, f"opengcd demo --seed {seed} --classifier {classifier}")
    typer.echo(f"Pictures of the discovered groups: {out}")


def main() -> None:
    """Run the command line."""
    app()
