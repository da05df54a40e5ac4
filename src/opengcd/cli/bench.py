"""The commands of the benchmark: the paper's protocol, its tables and its figures."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from opengcd._internal.progress import Progress
from opengcd.cli.failures import report_errors, require
from opengcd.cli.output import echo, echo_lines, write_out

if TYPE_CHECKING:
    from opengcd.bench import CellResult

bench = typer.Typer(
    help="Run the benchmark: methods on datasets by the paper's protocol, and tables and figures of the results.",
    no_args_is_help=True,
)


@bench.command("list")
def bench_list(
    features: Annotated[Path | None, typer.Option(help="Also list the feature files in this folder.")] = None,
) -> None:
    """List the methods and scenarios, and the datasets of a folder."""
    from opengcd.bench import SCENARIOS, available, method_names

    with report_errors():
        datasets = available(features) if features is not None else []
    names = method_names()
    for name, text in names.items():
        echo(f"{name:{max(map(len, names))}}  {text}")
    for name, scenario in SCENARIOS.items():
        echo(f"scenario {name:{max(map(len, SCENARIOS))}}  {scenario.text}")
    for name in datasets:
        echo(f"dataset {name}")


@bench.command("run")
def bench_run(
    datasets: Annotated[str, typer.Option(help="Names of feature files, separated by commas.")],
    methods: Annotated[str, typer.Option(help="Names of methods, or module:Class for your own, separated by commas.")],
    out: Annotated[
        Path,
        typer.Option(
            help="Folder of results; a cell (one method, dataset and seed) that is already there is not run again."
        ),
    ],
    features: Annotated[
        Path | None,
        typer.Option(help="Folder of feature files (npz). Default with --raw: one per embedder, beside --out."),
    ] = None,
    seeds: Annotated[str, typer.Option(help="Seeds, such as 0-4 or 0,2,5.")] = "0",
    protocol: Annotated[
        Literal["paper", "authors"],
        typer.Option(help="The protocol of the paper's text (paper), or of its code (authors)."),
    ] = "paper",
    learn: Annotated[
        Literal["discovered", "all"],
        typer.Option(help="Learn the discovered groups only (discovered), or the whole next training set (all)."),
    ] = "discovered",
    scenario: Annotated[
        str,
        typer.Option(
            help="Names of scenarios, separated by commas: which images the stream shows; bench list explains them."
        ),
    ] = "usual",
    raw: Annotated[
        Path | None, typer.Option(help="Folder of raw datasets (CIFAR, CUB), to make missing feature files from.")
    ] = None,
    embedder: Annotated[
        str,
        typer.Option(
            "--embedder",
            "--network",
            help="Embedder for raw images, and the network to adapt: a Hugging Face name or folder, or pixels.",
        ),
    ] = "facebook/dino-vitb16",
    memory: Annotated[str, typer.Option(help="Numbers of exemplars, separated by commas (default: the paper's).")] = "",
    jobs: Annotated[
        int, typer.Option(min=1, help="Number of cells to run at the same time, each in its own process.")
    ] = 1,
    threads: Annotated[
        int,
        typer.Option(min=1, help="Threads per process; the last digits of results depend on it, but not on --jobs."),
    ] = 1,
) -> None:
    """Run every method on every dataset with every seed.

    A second run computes only what is missing.
    """
    from opengcd._internal import terminal
    from opengcd.bench import (
        code_version,
        load_dataset,
        make_cells,
        note_other_code,
        parse_numbers,
        run_cells,
        takes_images,
    )

    sys.path.insert(0, os.getcwd())  # so that module:Class finds a module of the user's own
    failed = 0
    with report_errors():
        memories = parse_numbers(memory, "memory sizes") if memory else [None]
        names = _split(datasets)
        cells = make_cells(
            names, _split(methods), parse_numbers(seeds, "seeds"), protocol, learn, memories, _split(scenario)
        )
        with terminal.progress_bar() as progress:
            if raw is not None:
                with_images = any(takes_images(cell.method) for cell in cells)
                features = _prepare(raw, names, embedder, features, out, with_images, progress)
            if features is None:
                raise ValueError("Give --features, a folder of feature files, or --raw, a folder of images.")
            for name in names:
                load_dataset(features, name)
            if note := note_other_code(out, code_version()):
                echo(note, err=True)
            for outcome in run_cells(
                cells, features, out, network=embedder, jobs=jobs, threads=threads, progress=progress
            ):
                echo(f"{outcome.cell}: {outcome.error or 'done'}", err=bool(outcome.error))
                if outcome.trace:
                    echo_lines(outcome.trace.removesuffix("\n"), err=True)
                failed += bool(outcome.error)
    if failed:
        echo(f"{failed} of {len(cells)} cells failed; run the same command to try them again.", err=True)
        raise typer.Exit(1)


def _prepare(
    raw: Path, names: list[str], embedder: str, features: Path | None, out: Path, images: bool, progress: Progress
) -> Path:
    """Embed raw datasets that have no feature file, and decode images if they are needed; return the folder.

    All datasets are checked before the first one is embedded.
    """
    from opengcd.adapt import check_trainable
    from opengcd.bench import available, has_images, make_features, make_images, read_raw
    from opengcd.embed import load_embedder

    @cache
    def load() -> Any:
        if embedder != "pixels":
            require("embed", "transformers")
        return load_embedder(embedder)

    if images:
        check_trainable(embedder)
    folder = out.with_name(f"{out.name}-features") / load().fingerprint[:16] if features is None else features
    folder.mkdir(parents=True, exist_ok=True)
    to_embed = [name for name in names if name not in available(folder)]
    to_decode = [name for name in names if images and not has_images(folder, name)]
    for name in dict.fromkeys([*to_embed, *to_decode]):
        read_raw(raw, name)
    for name in to_embed:
        echo(f"{make_features(raw, name, load(), folder, progress)}: made with {embedder}")
    for name in to_decode:
        echo(f"{make_images(raw, name, load(), folder, progress)}: made for {embedder}")
    return folder


@bench.command("table")
def bench_table(
    results: Annotated[Path, typer.Argument(help="Folder of results.")],
    style: Annotated[
        Literal["terminal", "markdown", "latex", "csv"], typer.Option("--format", help="Format of the output.")
    ] = "terminal",
    into: Annotated[
        Path | None,
        typer.Option(
            help="Write the tables into this Markdown file, or into all in this folder, between begin and end markers."
        ),
    ] = None,
    section: Annotated[str, typer.Option(help="With --into: the section whose markers are filled.")] = "",
) -> None:
    """Print mean ± standard deviation over seeds in the paper's layout, with the paper's numbers for comparison."""
    from opengcd import bench

    with report_errors():
        found = _finished(results)
        if into is not None:
            _fill_documents(into, results, found, section)
            return
    if style == "csv":
        write_out(bench.tidy_csv(found).encode())
        return
    _print_tables(found, style)


def _fill_documents(into: Path, results: Path, found: list[CellResult], section: str) -> None:
    from opengcd import bench
    from opengcd._internal.durable_files import replace_file

    documents = sorted(into.glob("*.md")) if into.is_dir() else [into]
    if not documents:
        raise ValueError(f"There is no Markdown file in {into}.")
    old = [document.read_text(encoding="utf-8") for document in documents]
    texts = bench.blocks(found, Path(os.path.relpath(results, documents[0].parent)).as_posix())
    new = [bench.fill(text, texts, section) for text in old]  # all of them, before any is written
    for document, before, after in zip(documents, old, new, strict=True):
        if after != before:
            replace_file(document, after.encode())


def _print_tables(found: list[CellResult], style: str) -> None:
    from opengcd import bench
    from opengcd._internal import terminal

    if style == "latex":
        for setting in bench.settings_of(found):
            echo_lines(bench.latex(found, setting) + "\n")
        return

    def show(tables: Iterable[bench.Table]) -> None:
        for table in tables:
            if style == "markdown":
                echo_lines(bench.markdown(table) + "\n")
            else:
                terminal.print_table(table.title, table.header, table.texts(terminal.BOLD))

    for setting in bench.settings_of(found):
        echo_lines(f"\n{setting}\n\n{bench.commands(found, setting)}\n\n{bench.environments(found, setting)}\n")
        show(table for makers in bench.KINDS.values() for make in makers for table in make(found, setting))
    show(bench.scenario_tables(found))
    echo_lines(f"\n{bench.NOTE}")


@bench.command("figures")
def bench_figures(
    results: Annotated[Path, typer.Argument(help="Folder of results.")],
    out: Annotated[Path, typer.Option(help="Folder for the pictures and report.html.")] = Path("figures"),
    style: Annotated[Literal["svg", "png", "pdf"], typer.Option("--format", help="Format of the pictures.")] = "svg",
    methods: Annotated[str | None, typer.Option(help="Only these methods, separated by commas.")] = None,
    only: Annotated[
        str | None, typer.Option(help="Only these pictures, separated by commas, such as phases-paper-discovered.")
    ] = None,
) -> None:
    """Draw the results, and write one self-contained HTML page of tables and pictures (not with --only)."""
    require("report", "matplotlib", "jinja2")
    from opengcd.bench import pictures, write_report

    with report_errors():
        found = _finished(results)
        if methods is not None:
            found = [result for result in found if result.cell.method in _split(methods)]
            if not found:
                raise ValueError(
                    f"{results} contains no finished cell of {methods}; opengcd bench table lists what it contains."
                )
        drawn = list(pictures(found))
        if only is not None:
            drawn = [picture for picture in drawn if picture.name in _split(only)]
            if missing := set(_split(only)) - {picture.name for picture in drawn}:
                raise ValueError(f"There is no picture called {', '.join(sorted(missing))}.")
        out.mkdir(parents=True, exist_ok=True)
    for name, _, figure in drawn:
        figure.savefig(out / f"{name}.{style}", dpi=120)
    if only is None:
        write_report(out / "report.html", found, drawn)
    echo(f"Wrote {len(drawn)} pictures{' and report.html' * (only is None)} to {out}.")


def _finished(results: Path) -> list[CellResult]:
    from opengcd.bench import read_results

    found = read_results(results)
    if not found:
        raise ValueError(f"{results} contains no finished cell yet; opengcd bench run computes some.")
    return found


def _split(names: str) -> list[str]:
    return [name.strip() for name in names.split(",")]
