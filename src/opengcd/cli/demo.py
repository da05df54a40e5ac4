"""The demo: the whole loop on handwritten digits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from opengcd.cli.failures import require
from opengcd.cli.output import echo


def demo(
    out: Annotated[Path, typer.Option(help="Where to write the HTML page.")] = Path("demo.html"),
    seed: Annotated[int, typer.Option(min=0, help="Random seed (class order, split, models).")] = 0,
    preset: Annotated[Literal["best", "paper", "robust"], typer.Option(help="Preset of the recogniser.")] = "best",
    classifier: Annotated[
        Literal["logistic", "svm", "mlp", "xgb"] | None, typer.Option(help="Another classifier than the preset's.")
    ] = None,
) -> None:
    """Run the whole loop on handwritten digits: four phases, a simulated reviewer, one HTML page."""
    require("report", "matplotlib", "jinja2")
    if classifier == "xgb":
        require("xgb", "xgboost")
    if not out.resolve().parent.is_dir():
        raise typer.BadParameter(f"there is no folder {out.parent}", param_hint="--out")
    from opengcd._internal import terminal
    from opengcd.bench.demo import digits, run_demo, table_rows, write_page

    data = digits(seed)
    with terminal.progress_bar() as progress:
        phases = list(run_demo(data, seed, preset, classifier, progress))
    terminal.print_table("OpenGCD on handwritten digits", *table_rows(phases))
    command = f"opengcd demo --seed {seed} --preset {preset}" + (f" --classifier {classifier}" if classifier else "")
    write_page(out, data, phases, command)
    echo(f"Pictures of the discovered groups: {out}")
