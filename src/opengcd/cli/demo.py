"""The demo: the whole loop on handwritten digits."""

from __future__ import annotations

import os
import shutil
import sys
import webbrowser
from pathlib import Path
from typing import Annotated, Literal

import typer

from opengcd.cli.failures import require
from opengcd.cli.output import echo

NEXT = {
    "demo --seed 1": "other digits first",
    "init my-project --known FOLDER --embedder pixels": "your own images, in FOLDER/CLASS/",
    "bench list": "methods and streams of the benchmark",
    "--help": "all commands",
}
"""What to try after the demo: arguments of ``opengcd``, and what they show."""


def demo(
    out: Annotated[Path, typer.Option(help="Where to write the HTML page.")] = Path("demo.html"),
    seed: Annotated[int, typer.Option(min=0, help="Random seed (class order, split, models).")] = 0,
    preset: Annotated[Literal["best", "paper", "robust"], typer.Option(help="Preset of the recogniser.")] = "best",
    classifier: Annotated[
        Literal["logistic", "svm", "mlp", "xgb"] | None,
        typer.Option(help="A classifier to use instead of the preset's."),
    ] = None,
    open_page: Annotated[
        bool | None,
        typer.Option(
            "--open/--no-open",
            help="Open the page in a browser, or not (default: open it from a terminal on a desktop).",
        ),
    ] = None,
) -> None:
    """Run the whole loop on handwritten digits: four phases, a simulated reviewer, one HTML page."""
    require("report", "matplotlib", "jinja2")
    if classifier == "xgb":
        require("xgb", "xgboost")
    if not out.resolve().parent.is_dir():
        raise typer.BadParameter(f"there is no folder {out.parent}", param_hint="--out")
    if out.is_dir():
        raise typer.BadParameter("this is a folder; name a file in it", param_hint="--out")
    from opengcd._internal import terminal
    from opengcd.bench.demo import digits, run_demo, table_rows, write_page

    data = digits(seed)
    with terminal.progress_bar() as progress:
        phases = list(run_demo(data, seed, preset, classifier, progress))
    terminal.print_table("OpenGCD on handwritten digits", *table_rows(phases))
    command = f"opengcd demo --seed {seed} --preset {preset}" + (f" --classifier {classifier}" if classifier else "")
    write_page(out, data, phases, command)
    address = out.resolve().as_uri()
    echo(f"The page with pictures of the discovered groups: {address}")
    echo("")
    echo("What to try next:")
    program = _program()
    width = max(map(len, NEXT))
    for arguments, shown in NEXT.items():
        echo(f"  {program} {arguments:{width}}  {shown}")
    if _at_a_desktop() if open_page is None else open_page:
        webbrowser.open(address)


def _program() -> str:
    """Return what starts this program in the reader's shell: its path, where its environment is not active."""
    installed = Path(sys.executable).with_name("opengcd")
    found = shutil.which("opengcd")
    if found is not None and Path(found).with_suffix("") == installed:
        return "opengcd"
    return str(installed.relative_to(Path.cwd()) if installed.is_relative_to(Path.cwd()) else installed)


def _at_a_desktop() -> bool:
    """Return whether a person at a desktop called this; elsewhere a browser opens in the terminal, or not at all."""
    display = sys.platform in ("win32", "darwin") or {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys()
    return sys.stdout.isatty() and bool(display) and not {"CI", "SSH_CONNECTION"} & os.environ.keys()
