"""The command line: one thin command per verb."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated, Literal

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
    classifier: Annotated[Literal["svm", "mlp", "xgb"], typer.Option(help="Which classifier to use.")] = "svm",
) -> None:
    """Run the whole loop on handwritten digits: four phases, a simulated reviewer, one HTML page."""
    _require("matplotlib", "report")
    if classifier == "xgb":
        _require("xgboost", "xgb")
    if not out.resolve().parent.is_dir():
        raise typer.BadParameter(f"there is no folder {out.parent}", param_hint="--out")
    from opengcd import terminal
    from opengcd.demo import digits, run_demo, table_rows, write_page

    data = digits(seed)
    with terminal.progress_bar() as progress:
        phases = list(run_demo(data, seed, classifier, progress))
    terminal.print_table("OpenGCD on handwritten digits", *table_rows(phases))
    write_page(out, data, phases, f"opengcd demo --seed {seed} --classifier {classifier}")
    typer.echo(f"Pictures of the discovered groups: {out}")


def _require(package: str, extra: str) -> None:
    if importlib.util.find_spec(package) is None:
        typer.echo(f'This command needs {package}: pip install "opengcd[{extra}]"', err=True)
        raise typer.Exit(1)


def main() -> None:
    """Run the command line."""
    app()
