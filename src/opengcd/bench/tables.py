"""Results as tables: mean ± standard deviation over seeds, in the paper's layout, beside the paper's numbers."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from shlex import quote
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from opengcd.bench.published import published
from opengcd.bench.records import CellResult, PhaseResult, Setting
from opengcd.bench.scenarios import SCENARIOS, USUAL

ABLATIONS = ("csr", "il-e", "owr-ue")
BOLD = "**"
NOT_RECORDED = "–"
"""Stands for a number that was measured but not stored by earlier versions."""
NOTE = (
    "Percent, except k and the actions; mean ± standard deviation over seeds; in parentheses what the paper printed; "
    "the best of each phase in bold. Where numbers differ from the paper's, there are three reasons besides chance: "
    "features from another backbone than its DINO ViT-B/16; HNA, which the paper's code computed from two precisions "
    "instead of two recalls (HNA′ is that quantity and stands beside the paper's number, HNA is what its text defines; "
    "how the baselines' HNA was computed is not known); and the test rows, which in protocol paper are the official "
    "test sets and in the paper's code were not (docs/reference/benchmark.md)."
)

Runs = dict[int, dict[str, list[PhaseResult]]]
"""By phase and method, one phase per seed."""
Measured = TypeVar("Measured", PhaseResult, CellResult)


class Entry(NamedTuple):
    """A number of a table."""

    mean: float
    sd: float | None
    seeds: int
    digits: int = 1
    published: float | None = None
    best: bool = False

    def text(self, bold: str = BOLD) -> str:
        """``**mean ± sd** (published)``."""
        own = f"{self.mean:.{self.digits}f}" + ("" if self.sd is None else f" ± {self.sd:.{self.digits}f}")
        own = f"{bold}{own}{bold}" if self.best else own
        return own if self.published is None else f"{own} ({self.published:g})"


class Table(NamedTuple):
    """A title, a header, and rows of text or numbers; an empty string stands for what is not measured."""

    title: str
    header: list[str]
    rows: list[list[str | Entry]]

    def texts(self, bold: str = BOLD) -> list[list[str]]:
        """Return the rows as text.

        Parameters
        ----------
        bold : str
            How the best entry of a column is marked; it stands before and after the number.

        Returns
        -------
        list of list of str

        """
        return [[cell if isinstance(cell, str) else cell.text(bold) for cell in row] for row in self.rows]


class Column(NamedTuple, Generic[Measured]):
    """A column: how its number is read off what was measured, in the unit shown."""

    title: str
    read: Callable[[Measured], float | None]
    published: str = ""
    """What ``published.csv`` calls it."""
    merit: Callable[[Measured], float | None] | None = None
    """The larger, the better; None for a column that has no best."""
    digits: int = 1
    beside: Callable[[Measured], float | None] | None = None
    """A measure that was recorded earlier than this one, if this one was added later."""


Reader = Callable[[PhaseResult], float | None]
PhaseColumn = Column[PhaseResult]


def _percent(read: Reader) -> Reader:
    return lambda phase: None if (value := read(phase)) is None else 100 * value


def _larger(title: str, read: Reader, published: str = "") -> PhaseColumn:
    return Column(title, read, published, read)


def _smaller(title: str, read: Reader, digits: int = 1) -> PhaseColumn:
    return Column(title, read, "", lambda phase: None if (value := read(phase)) is None else -value, digits)


def _accuracy_on(i: int) -> Reader:
    return lambda phase: phase.accuracy[i] if i < len(phase.accuracy) else None


def _ratio(numerator: int | None, denominator: int | None) -> float | None:
    return numerator / denominator if numerator is not None and denominator else None


PAPER_COLUMNS = [
    *(_larger(f"Ts{i + 1}", _percent(_accuracy_on(i)), f"acc_ts{i + 1}") for i in range(4)),
    _larger("Acc", _percent(lambda phase: phase.accuracy_all), "acc_all"),
    _larger("HNA", _percent(lambda phase: phase.hna)),
    _larger("HNA′", _percent(lambda phase: phase.hna_precision), "hna"),
    Column("k true", lambda phase: phase.k_true, digits=0),
    Column("k", lambda phase: phase.k, "est_k"),
    _smaller("k off", _percent(lambda phase: None if phase.k_error is None else abs(phase.k_error))),
    _larger("HCA", _percent(lambda phase: phase.hca), "hca"),
]
K_COLUMNS = ("k true", "k", "k off", "new k off", "k in interval", "trust right")
"""Without discovery there is no k to estimate."""
DETAIL_COLUMNS: list[PhaseColumn] = [
    Column("lg α", lambda phase: np.log10(phase.alpha) if phase.alpha else None),
    _larger("best HNA", _percent(lambda phase: phase.best_hna))._replace(beside=lambda phase: phase.hna),
    _larger("AUROC", _percent(lambda phase: phase.auroc)),
    _larger("AKS", _percent(lambda phase: phase.osr_parts and phase.osr_parts.aks)),
    _larger("AUS", _percent(lambda phase: phase.osr_parts and phase.osr_parts.aus)),
    _larger("AKS after", _percent(lambda phase: phase.gcd_parts and phase.gcd_parts.aks)),
    _larger("ANS", _percent(lambda phase: phase.gcd_parts and phase.gcd_parts.ans)),
    _larger("ACC", _percent(lambda phase: phase.acc)),
    _smaller("new k off", _percent(lambda phase: None if phase.new_k_error is None else abs(phase.new_k_error))),
    _larger("k in interval", _percent(lambda phase: phase.k_covered)),
    _larger("trust right", _percent(lambda phase: phase.trust_right)),
    _larger("steady", _percent(lambda phase: phase.steady)),
    _larger("confirmed whole", _percent(lambda phase: phase.confirmed_whole)),
    _smaller("forgetting", _percent(lambda phase: phase.forgetting)),
    _larger("learnt", _percent(lambda phase: phase.learnt_share)),
    _smaller("classes missed", lambda phase: phase.missing_classes),
    Column("rejected", lambda phase: phase.rejected, digits=0),
    Column("actions per item", lambda phase: _ratio(phase.actions, phase.rejected), digits=2),
    _smaller("actions per name", lambda phase: _ratio(phase.actions, phase.named), digits=2),
    _smaller("with splits", lambda phase: _ratio(phase.actions_with_splits, phase.named), digits=2),
    _smaller(
        "with questions", lambda phase: _ratio(phase.actions_with_questions, phase.named_with_questions), digits=2
    ),
    _smaller("with both", lambda phase: _ratio(phase.actions_with_both, phase.named_with_questions), digits=2),
    Column("named with questions", lambda phase: _ratio(phase.named_with_questions, phase.named), digits=2),
]


def _cost_columns(stages: Sequence[str], steps: Sequence[str]) -> list[PhaseColumn]:
    timed = [*stages, *steps]
    seconds = [Column(f"{stage}, s", lambda phase, s=stage: phase.seconds.get(s), digits=0) for stage in timed]  # type: ignore[misc]
    memory = [Column(f"{stage}, MB", lambda phase, s=stage: phase.peak_mb.get(s), digits=0) for stage in stages]  # type: ignore[misc]
    return seconds + memory


COST_COLUMNS = _cost_columns(("fit", "recognise", "discover"), ("adapt", "embed"))
RUN_COLUMNS: list[Column[CellResult]] = [
    Column("minutes", lambda result: result.seconds / 60),
    Column("mean of the last accuracies", lambda result: 100 * result.final_average_accuracy),
    Column("last forgetting", lambda result: 100 * result.phases[-1].forgetting),
]
"""Columns of whole runs."""


def settings_of(results: Sequence[CellResult]) -> list[Setting]:
    """Return the settings that results were made under, the paper's own first.

    Parameters
    ----------
    results : sequence of CellResult

    Returns
    -------
    list of Setting

    """
    found = {result.cell.setting for result in results}
    return sorted(found, key=_order_of_setting)


def _order_of_setting(setting: Setting) -> tuple[Any, ...]:
    protocol, learn, memory, scenario = setting
    places = list(SCENARIOS)
    place = places.index(scenario) if scenario in places else len(places)
    return protocol != "paper", learn == "all", memory is not None, memory or 0, place, scenario


def by_dataset(results: Sequence[CellResult], setting: Setting) -> dict[str, Runs]:
    """Return the phases measured under a setting, by dataset, phase and method, in the order of the seeds."""
    found: dict[str, Runs] = {}
    ordered = sorted(_under(results, setting), key=lambda r: (r.cell.dataset, r.cell.method, r.cell.seed))
    for result in ordered:
        runs = found.setdefault(result.cell.dataset, {})
        for phase in result.phases:
            runs.setdefault(phase.phase, {}).setdefault(result.cell.method, []).append(phase)
    return found


def paper_tables(results: Sequence[CellResult], setting: Setting) -> list[Table]:
    """Return the paper's Table 1 (methods) and Table 2 (ablation) for each dataset that has results."""
    tables = []
    for dataset, runs in by_dataset(results, setting).items():
        methods = methods_of(runs)
        ablations = [method for method in methods if is_ablation(method)]
        classifiers = {method.rpartition("-")[2] for method in ablations}
        full = [m for m in methods if _family(m) == "opengcd" and m.rpartition("-")[2] in classifiers]
        others = [method for method in methods if method not in ablations]
        if others:
            tables.append(_table(f"{dataset}: methods", setting, dataset, runs, others, PAPER_COLUMNS))
        if ablations:
            columns = [column for column in PAPER_COLUMNS if column.title not in K_COLUMNS]
            tables.append(_table(f"{dataset}: ablation", setting, dataset, runs, [*ablations, *full], columns))
    return tables


def detail_tables(results: Sequence[CellResult], setting: Setting) -> list[Table]:
    """Return a table for each dataset of what the paper's layout leaves out: parts, alpha, forgetting, effort."""
    return _tables_of_all(results, setting, "behind the numbers", DETAIL_COLUMNS)


def cost_tables(results: Sequence[CellResult], setting: Setting) -> list[Table]:
    """Return a table for each dataset of the seconds and the peak memory of each stage."""
    return _tables_of_all(results, setting, "time and memory", COST_COLUMNS)


BY_TITLE = {column.title: column for column in (*PAPER_COLUMNS, *DETAIL_COLUMNS)}
"""The columns of single phases."""


def phase_tables(
    results: Sequence[CellResult], setting: Setting, titles: Sequence[str], *, ablations: bool
) -> list[Table]:
    """Return narrow tables, one for each dataset and column: a row for each method, a column for each phase.

    Parameters
    ----------
    results : sequence of CellResult
    setting : Setting
    titles : sequence of str
        Titles of columns of the wide tables; a column that no phase has is left out.
    ablations : bool
        Whether variants of the paper's method have rows, too.

    Returns
    -------
    list of Table

    """
    tables = []
    for dataset, runs in by_dataset(results, setting).items():
        methods = [method for method in methods_of(runs) if ablations or not is_ablation(method)]
        for column in (BY_TITLE[title] for title in titles):
            plain = column._replace(published="")
            entries = {
                phase: _entries(
                    setting, dataset, phase, {m: runs[phase][m] for m in methods if m in runs[phase]}, [plain]
                )
                for phase in sorted(runs)
            }
            phases = [p for p, of in entries.items() if any(isinstance(row[0], Entry) for row in of.values())]
            rows: list[list[str | Entry]] = []
            for method in methods:
                row = [entries[phase].get(method, [""])[0] for phase in phases]
                if any(isinstance(cell, Entry) for cell in row):
                    rows.append([method, str(_seeds(runs, method)), *row])
            if rows:
                header = ["method", "seeds", *(f"phase {phase}" for phase in phases)]
                tables.append(Table(f"{dataset}: {column.title}{_true_numbers(column, runs)}", header, rows))
    return tables


def _true_numbers(column: PhaseColumn, runs: Runs) -> str:
    """Return the true numbers of classes as part of the title of a table of estimates."""
    if column.title != "k":
        return ""
    of_phases = (chain.from_iterable(by_method.values()) for _, by_method in sorted(runs.items()))
    true = [{phase.k_true for phase in phases if phase.k_true is not None} for phases in of_phases]
    return f" (true: {', '.join(str(k) for found in true for k in sorted(found))})"


SUMMARY_TITLES = ("HNA", "HCA")


def summary_table(results: Sequence[CellResult], setting: Setting) -> Table:
    """Return one small table: HNA and HCA in the mean over phases and seeds, and the accuracy after the last phase.

    Parameters
    ----------
    results : sequence of CellResult
    setting : Setting

    Returns
    -------
    Table
        A row for each method that was run on every dataset with several seeds, or with one if none was run with
        several; without ablations.

    """
    found = by_dataset(results, setting)
    seeds = {m: min(_seeds(runs, m) for runs in found.values()) for runs in found.values() for m in methods_of(runs)}
    # A single seed does not stand beside the mean of several.
    least = 2 if max(seeds.values()) > 1 else 1
    methods = [m for m in sorted(seeds, key=_rank) if seeds[m] >= least and not is_ablation(m)]
    header, columns = ["method"], []
    for dataset, runs in found.items():
        for title in (*SUMMARY_TITLES, "Acc"):
            header.append(f"{dataset} {title}")
            column = BY_TITLE[title]._replace(published="")
            of_phases = runs.values() if title in SUMMARY_TITLES else [runs[max(runs)]]
            together = {m: [phase for by_method in of_phases for phase in by_method.get(m, [])] for m in methods}
            columns.append(_entries(setting, dataset, 0, together, [column]))
    rows = [[m, *(_without_deviation(column[m][0]) for column in columns)] for m in methods]
    return Table("HNA and HCA: mean over phases and seeds; Acc: after the last phase", header, rows)


def _without_deviation(cell: str | Entry) -> str | Entry:
    return cell if isinstance(cell, str) else cell._replace(sd=None)


SCENARIO_COLUMNS: list[PhaseColumn] = [
    BY_TITLE["HNA"],
    BY_TITLE["HCA"],
    Column("new classes", lambda phase: phase.k_true and phase.k_true - phase.known),
    Column("found", lambda phase: phase.k and phase.k - phase.known),
    *(BY_TITLE[title] for title in ("new k off", "k in interval", "trust right", "rejected", "actions per name")),
]


def scenario_tables(results: Sequence[CellResult]) -> list[Table]:
    """Compare the scenarios: one table per dataset and method, the mean over phases and seeds in each row.

    Parameters
    ----------
    results : sequence of CellResult

    Returns
    -------
    list of Table
        None of a dataset and method that was run with a single scenario.

    """
    tables = []
    settings = [
        s for s in settings_of(results) if s.memory is None and (s.protocol, s.learn) == ("paper", "discovered")
    ]
    for dataset, method in dict.fromkeys((r.cell.dataset, r.cell.method) for r in results):
        rows: list[list[str | Entry]] = []
        for setting in settings:
            phases = [
                phase
                for result in _under(results, setting)
                if (result.cell.dataset, result.cell.method) == (dataset, method)
                for phase in result.phases
                if phase.k is not None
            ]
            if phases:
                rows.append([setting.scenario, *(_entry(phases, column, None) for column in SCENARIO_COLUMNS)])
        if len(rows) > 1:
            header = ["scenario", *(column.title for column in SCENARIO_COLUMNS)]
            tables.append(Table(f"{dataset}: {method}, all phases and seeds of each scenario", header, rows))
    return tables


def commands(results: Sequence[CellResult], setting: Setting) -> str:
    """Return the commands that make the results of a setting.

    Parameters
    ----------
    results : sequence of CellResult
        Those of other settings are ignored.
    setting : Setting

    Returns
    -------
    str
        One command per line: one for each dataset, number of threads, network (if images were given) and set of seeds.

    """
    # Methods that take features were given those of the network that others started from.
    networks = {result.features: result.images.network for result in results if result.images is not None}
    seeds_of: dict[tuple[str, int, str, str], set[int]] = {}
    for result in _under(results, setting):
        threads, network = result.environment.threads or 1, networks.get(result.features, "")
        seeds_of.setdefault((result.cell.dataset, threads, network, result.cell.method), set()).add(result.cell.seed)
    groups: dict[tuple[str, int, str, tuple[int, ...]], list[str]] = {}
    for (dataset, threads, network, method), of_method in seeds_of.items():
        groups.setdefault((dataset, threads, network, tuple(sorted(of_method))), []).append(method)
    lines: list[str] = []
    for (dataset, threads, network, its_seeds), its_methods in sorted(groups.items()):
        seeds = list(its_seeds)
        consecutive = len(seeds) > 1 and seeds == list(range(seeds[0], seeds[-1] + 1))
        shown = f"{seeds[0]}-{seeds[-1]}" if consecutive else ",".join(map(str, seeds))
        methods = ",".join(sorted(its_methods, key=_rank))
        line = f"opengcd bench run --datasets {quote(dataset)} --methods {quote(methods)} --seeds {shown}"
        line += f" --protocol {setting.protocol}"
        line += f" --scenario {setting.scenario}" if setting.scenario != USUAL else ""
        line += " --learn all" if setting.learn == "all" else ""
        line += f" --memory {setting.memory}" if setting.memory is not None else ""
        line += f" --threads {threads}" if threads != 1 else ""
        source = f"--raw raw --embedder {quote(network)}" if network else "--features features"
        lines.append(f"{line} {source} --out results")
    return "\n".join(lines)


def environments(results: Sequence[CellResult], setting: Setting) -> str:
    """Say with which versions and by which code the results of a setting were computed.

    Parameters
    ----------
    results : sequence of CellResult
        Those of other settings are ignored.
    setting : Setting

    Returns
    -------
    str
        One line for each environment, and one for the code.

    """
    found = _under(results, setting)
    by_environment: dict[str, list[CellResult]] = {}
    for result in found:
        by_environment.setdefault(str(result.environment), []).append(result)
    if len(by_environment) == 1:
        lines = [f"Computed with {next(iter(by_environment))}."]
    else:
        lines = [
            f"{len(cells)} cell{'s' * (len(cells) != 1)} ({', '.join(sorted({r.cell.method for r in cells}))}) "
            f"computed with {environment}."
            for environment, cells in by_environment.items()
        ]
    by_code = Counter(result.computed_by for result in found)
    parts = [code if len(by_code) == 1 else f"{code} ({n} cell{'s' * (n != 1)})" for code, n in sorted(by_code.items())]
    lines.append(f"Computed by {', '.join(parts)}.")
    return "\n".join(lines)


def run_tables(results: Sequence[CellResult], setting: Setting) -> list[Table]:
    """Return a table for each dataset of whole runs: minutes, and accuracy and forgetting after the last phase."""
    tables = []
    for dataset, runs in by_dataset(results, setting).items():
        rows: list[list[str | Entry]] = []
        for method in methods_of(runs):
            whole = [r for r in _under(results, setting) if (r.cell.dataset, r.cell.method) == (dataset, method)]
            rows.append([method, str(len(whole)), *(_entry(whole, column, None) for column in RUN_COLUMNS)])
        header = ["method", "seeds", *(column.title for column in RUN_COLUMNS)]
        tables.append(Table(f"{dataset}: whole runs", header, rows))
    return tables


def markdown(table: Table) -> str:
    """Return a table in Markdown.

    Parameters
    ----------
    table : Table

    Returns
    -------
    str

    """
    lines = [table.header, ["---"] * len(table.header), *table.texts()]
    return f"**{table.title}**\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines)


def latex(results: Sequence[CellResult], setting: Setting) -> str:
    """Return the results of a setting as a LaTeX table in the paper's layout, the datasets side by side.

    Parameters
    ----------
    results : sequence of CellResult
        Those of other settings are ignored.
    setting : Setting

    Returns
    -------
    str
        A ``tabular`` that needs booktabs and xcolor.

    """
    found = by_dataset(results, setting)
    columns = [column for column in PAPER_COLUMNS if column.title not in ("k true", "k off")]
    width = len(columns)
    titles = " & ".join(_escape(column.title) for column in columns)
    lines = [
        *(f"% {line}" for line in (NOTE, *commands(results, setting).splitlines())),
        rf"\begin{{tabular}}{{ll{'r' * width * len(found)}}}",
        r"\toprule",
        "& " + " ".join(rf"& \multicolumn{{{width}}}{{c}}{{\bf {_escape(name)}}}" for name in found) + r"\\",
        "Phase & Method" + f" & {titles}" * len(found) + r"\\",
    ]
    methods = sorted({method for runs in found.values() for method in methods_of(runs)}, key=_rank)
    for phase in sorted({phase for runs in found.values() for phase in runs}):
        lines.append(r"\midrule")
        rows = {name: _entries(setting, name, phase, runs.get(phase, {}), columns) for name, runs in found.items()}
        for method in methods:
            cells = [cell for of_dataset in rows.values() for cell in of_dataset.get(method, [""] * width)]
            shown = " & ".join(cell if isinstance(cell, str) else _latex_entry(cell) for cell in cells)
            lines.append(rf"{phase} & {_escape(method)} & {shown}\\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def tidy_csv(results: Sequence[CellResult]) -> str:
    """Return all numbers as CSV, one per line.

    Parameters
    ----------
    results : sequence of CellResult

    Returns
    -------
    str
        A header, then for each number what it is, mean, standard deviation, number of seeds, and the paper's number.

    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*Setting._fields, "dataset", "phase", "method", "metric", "mean", "sd", "seeds", "paper"])
    columns = [*PAPER_COLUMNS, *DETAIL_COLUMNS, *COST_COLUMNS]
    for setting in settings_of(results):
        for dataset, runs in by_dataset(results, setting).items():
            for phase, by_method in runs.items():
                for method, entries in _entries(setting, dataset, phase, by_method, columns).items():
                    for column, entry in zip(columns, entries, strict=True):
                        if isinstance(entry, Entry):
                            what = [*setting, dataset, phase, method, column.title]
                            writer.writerow([*what, entry.mean, entry.sd, entry.seeds, entry.published])
    return stream.getvalue()


Maker = Callable[[Sequence[CellResult], Setting], list[Table]]
KINDS: dict[str, list[Maker]] = {
    "tables": [paper_tables],
    "details": [detail_tables],
    "cost": [run_tables, cost_tables],
}
"""The tables of a setting, by kind."""


def methods_of(runs: Runs) -> list[str]:
    """Return the methods that have results, in the paper's order: other methods, the ablations, the full method."""
    return sorted({method for by_method in runs.values() for method in by_method}, key=_rank)


def is_ablation(method: str) -> bool:
    """Say whether a method is one of the paper's ablations: its own method with a part left out."""
    return _family(method) in ABLATIONS


def _under(results: Sequence[CellResult], setting: Setting) -> list[CellResult]:
    return [result for result in results if result.cell.setting == setting]


def _tables_of_all(
    results: Sequence[CellResult], setting: Setting, title: str, columns: list[PhaseColumn]
) -> list[Table]:
    found = by_dataset(results, setting)
    return [_table(f"{name}: {title}", setting, name, runs, methods_of(runs), columns) for name, runs in found.items()]


def _table(
    title: str, setting: Setting, dataset: str, runs: Runs, methods: Sequence[str], columns: list[PhaseColumn]
) -> Table:
    rows: list[list[str | Entry]] = []
    for phase, by_method in sorted(runs.items()):
        found = _entries(setting, dataset, phase, {m: by_method[m] for m in methods if m in by_method}, columns)
        rows += [[str(phase), method, *entries] for method, entries in found.items()]
    used = [0, 1, *(i + 2 for i in range(len(columns)) if any(isinstance(row[i + 2], Entry) for row in rows))]
    header = ["phase", "method", *(column.title for column in columns)]
    number = "/".join(
        sorted({str(len(by_method[m])) for by_method in runs.values() for m in methods if m in by_method})
    )
    title = f"{title} ({number} seed{'' if number == '1' else 's'})"
    return Table(title, [header[i] for i in used], [[row[i] for i in used] for row in rows])


def _entries(
    setting: Setting,
    dataset: str,
    phase: int,
    by_method: Mapping[str, Sequence[PhaseResult]],
    columns: Sequence[PhaseColumn],
) -> dict[str, list[str | Entry]]:
    """Return the row of each method, with the best entry of each column marked."""

    def entry(method: str, column: PhaseColumn) -> str | Entry:
        if column.title in K_COLUMNS and is_ablation(method):
            return ""
        # The paper's tables are for its own size of the memory.
        as_printed = setting.memory is None and setting.scenario == USUAL
        beside = published(method, dataset, phase, column.published) if as_printed else None
        return _entry(by_method[method], column, beside)

    rows = {method: [entry(method, column) for column in columns] for method in by_method}
    # A single seed that was lucky is not better than the mean of several.
    several = {method: runs for method, runs in by_method.items() if len(runs) > 1} or by_method
    for i, column in enumerate(columns):
        if column.merit is None or len(rows) < 2:
            continue
        merits = {method: numbers(map(column.merit, runs)) for method, runs in several.items()}
        means = {method: round(float(np.mean(values)), column.digits) for method, values in merits.items() if values}
        for method, row in rows.items():
            cell = row[i]
            if isinstance(cell, Entry) and method in means and means[method] == max(means.values()):  # equal as printed
                row[i] = cell._replace(best=True)
    return rows


def _entry(runs: Sequence[Measured], column: Column[Measured], beside: float | None) -> str | Entry:
    values = numbers(map(column.read, runs))
    if not values:
        return NOT_RECORDED if column.beside is not None and numbers(map(column.beside, runs)) else ""
    return Entry(float(np.mean(values)), deviation(values), len(values), column.digits, beside)


def deviation(values: Sequence[float]) -> float | None:
    """Return the standard deviation over seeds; None for a single seed."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def numbers(values: Iterable[float | None]) -> list[float]:
    """Return the values that are neither None nor NaN."""
    return [float(value) for value in values if value is not None and not np.isnan(value)]


def _seeds(runs: Runs, method: str) -> int:
    return max(len(by_method.get(method, [])) for by_method in runs.values())


def _family(method: str) -> str:
    return method.rpartition("-")[0]


def _rank(method: str) -> tuple[int, str]:
    order = [*ABLATIONS, "opengcd"]
    return (1 + order.index(_family(method)) if _family(method) in order else 0), method


def _escape(text: str) -> str:
    return re.sub(r"([_%&#])", r"\\\1", text).replace("′", "$'$").replace("α", r"$\alpha$")


def _latex_entry(entry: Entry) -> str:
    own = rf"\textbf{{{entry.mean:.1f}}}" if entry.best else f"{entry.mean:.1f}"
    own += "" if entry.sd is None else rf"{{\tiny$\pm${entry.sd:.1f}}}"
    return own if entry.published is None else rf"{own} {{\color{{gray}}\tiny {entry.published:g}}}"
