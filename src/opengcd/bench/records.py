"""The records of the benchmark, and how they are written as JSON and read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, NamedTuple, Self
from urllib.parse import quote

from opengcd import metrics
from opengcd.bench.scenarios import USUAL
from opengcd.discover import CurvePoint

CLOSE = 0.2
"""A number of new classes is close enough to be trusted if its error is at most this share of them."""


class Setting(NamedTuple):
    """Protocol, learning mode, memory size and scenario; results are comparable only within one setting."""

    protocol: str
    learn: str
    memory: int | None
    scenario: str = USUAL

    def __str__(self) -> str:
        words = [f"protocol {self.protocol}"]
        words += [f"scenario {self.scenario}"] * (self.scenario != USUAL)
        words += ["the whole next training set is learnt"] * (self.learn == "all")
        words += [f"{self.memory} exemplars"] * (self.memory is not None)
        return ", ".join(words)


@dataclass(frozen=True)
class Cell:
    """One method on one dataset with one seed under one setting."""

    dataset: str
    method: str
    seed: int
    protocol: str = "paper"
    learn: str = "discovered"
    memory: int | None = None
    """Number of exemplars; None is the paper's number for the dataset."""
    scenario: str = USUAL
    """What the streams show."""

    def __str__(self) -> str:
        words = [self.dataset, self.method]
        words += [f"scenario {self.scenario}"] * (self.scenario != USUAL)
        words += [self.protocol] * (self.protocol != "paper") + ["learns all"] * (self.learn == "all")
        words += [f"memory {self.memory}"] * (self.memory is not None)
        return " ".join([*words, "seed", str(self.seed)])

    @property
    def file(self) -> str:
        """The name of its file."""
        memory = "full" if self.memory is None else self.memory
        scenario = [] if self.scenario == USUAL else [self.scenario]  # files of the usual stream keep their names
        parts = (self.dataset, self.method, *scenario, self.protocol, self.learn, memory, self.seed)
        return "--".join(quote(str(part), safe="") for part in parts) + ".json"

    @property
    def setting(self) -> Setting:
        """The setting it is run under."""
        return Setting(self.protocol, self.learn, self.memory, self.scenario)


class AlphaPoint(NamedTuple):
    """HNA at one alpha of the grid: in the search on labelled data, and on the stream."""

    alpha: float
    searched: float
    stream: float


class DripPoint(NamedTuple):
    """One of several discoveries in a stream."""

    seen: int
    """Items so far."""
    true: int
    """New classes among them."""
    found: int
    """New classes found."""
    steady: float | None
    """Adjusted Rand index with the groups of the discovery before, on the items that are in groups in both."""
    confirmed: int = 0
    """New classes of which the reviewer had confirmed a group before this discovery."""
    whole: int = 0
    """Of these, the ones whose confirmed items are all in one group, and in it no item confirmed as another class."""


@dataclass
class PhaseResult:
    """All measurements of one phase. Shares range from 0 to 1; what a phase does not measure is None."""

    phase: int
    known: int
    """Number of known classes."""
    accuracy: list[float]
    """On each test set Ts_i up to this phase, without rejection."""
    accuracy_all: float
    """The same on the union of these test sets."""
    forgetting: float = 0.0
    seconds: dict[str, float] = field(default_factory=dict)
    """The duration of each stage (fit, recognise, discover), and of steps within them that a method names."""
    peak_mb: dict[str, float | None] = field(default_factory=dict)
    """Largest resident memory of the process in each stage; None where the system does not report it."""
    alpha: float | None = None
    alpha_curve: list[AlphaPoint] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    """Parameters that a method found by itself, see :class:`opengcd.bench.FittedParameters`."""
    hna: float | None = None
    best_hna: float | None = None
    """At the best threshold in hindsight, see :func:`opengcd.metrics.best_hna`; None also in older files."""
    hna_precision: float | None = None
    """What the paper's code printed as HNA; see :func:`opengcd.metrics.hna_precision`."""
    auroc: float | None = None
    rejected: int | None = None
    osr_parts: metrics.Parts | None = None
    k: int | None = None
    k_true: int | None = None
    k_error: float | None = None
    """(k - k_true) / k_true."""
    k_trusted: bool | None = None
    k_interval: list[int] | None = None
    """90 % interval of k, both ends included; None if the method gives none, and in older files."""
    k_curve: list[CurvePoint] = field(default_factory=list)
    drips: list[DripPoint] = field(default_factory=list)
    """If discovery was repeated, each time."""
    hca: float | None = None
    acc: float | None = None
    gcd_parts: metrics.Parts | None = None
    actions: int | None = None
    actions_by_kind: dict[str, int] = field(default_factory=dict)
    actions_with_splits: int | None = None
    """Of a reviewer who also splits groups that hold many items of several classes; None in older files."""
    named: int | None = None
    """Novel items that the reviewer gave a name."""
    questions: dict[str, int] = field(default_factory=dict)
    """Questions about groups that were worth asking, by kind."""
    actions_with_questions: int | None = None
    """Of an annotator who answers these first, the answers included; None in older files."""
    actions_with_both: int | None = None
    """Of an annotator who answers these first and then also splits groups; None in older files."""
    named_with_questions: int | None = None
    """Novel items that were named after the questions."""
    learnt_share: float | None = None
    """Share of what could be learnt that is learnt."""
    missing_classes: int | None = None
    """New classes of which not one sample is learnt."""

    @property
    def new_k_error(self) -> float | None:
        """The error of k as a share of the number of new classes: (k - k_true) / (k_true - known)."""
        if self.k is None or self.k_true is None or self.k_true == self.known:
            return None
        return (self.k - self.k_true) / (self.k_true - self.known)

    @property
    def steady(self) -> float | None:
        """Mean agreement of the groups of successive discoveries; None without any."""
        agreements = [point.steady for point in self.drips if point.steady is not None]
        return sum(agreements) / len(agreements) if agreements else None

    @property
    def confirmed_whole(self) -> float | None:
        """Share of the confirmed groups that stayed whole in later discoveries; None if none was confirmed."""
        confirmed = sum(point.confirmed for point in self.drips)
        return sum(point.whole for point in self.drips) / confirmed if confirmed else None

    @property
    def k_covered(self) -> bool | None:
        """Whether the true number of classes lies in the interval of k."""
        if self.k_interval is None or self.k_true is None:
            return None
        return self.k_interval[0] <= self.k_true <= self.k_interval[1]

    @property
    def trust_right(self) -> bool | None:
        """Whether k was trusted exactly if the number of new classes is off by at most 20 %, or by one."""
        if self.k is None or self.k_true is None or self.k_trusted is None:
            return None
        close = abs(self.k - self.k_true) <= max(1.0, CLOSE * (self.k_true - self.known))
        return close == self.k_trusted

    def to_json(self) -> dict[str, Any]:
        """Return what a result file holds of the phase."""
        parts = {"osr_parts": self.osr_parts, "gcd_parts": self.gcd_parts}
        return asdict(self) | {name: None if part is None else part._asdict() for name, part in parts.items()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the phase that :meth:`to_json` was called on.

        Parameters
        ----------
        values : mapping
            The content of a result file for the phase; fields missing in older files get their defaults.

        Returns
        -------
        PhaseResult

        """
        phase = cls(**_of_fields(cls, values))
        phase.alpha_curve = [AlphaPoint(*point) for point in phase.alpha_curve]
        phase.k_curve = [CurvePoint(*point) for point in phase.k_curve]
        phase.drips = [DripPoint(*point) for point in phase.drips]
        phase.osr_parts, phase.gcd_parts = _parts(values.get("osr_parts")), _parts(values.get("gcd_parts"))
        return phase


@dataclass(frozen=True)
class CodeVersion:
    """Which code computed a result."""

    version: str
    """The version of the package."""
    commit: str | None = None
    """Of the checkout that the package was imported from, with ``+changes`` if its files differ from the commit; None
    for an installed package."""

    def __str__(self) -> str:
        if self.commit is None:
            return f"opengcd {self.version}"
        commit, plus, changes = self.commit.partition("+")
        return f"opengcd {self.version} at commit {commit[:12]}{plus}{changes}"


@dataclass(frozen=True)
class Environment:
    """What else the last digits of a result may depend on; None where older files do not say it."""

    packages: dict[str, str] = field(default_factory=dict)
    """Their versions."""
    python: str | None = None
    system: str | None = None
    device: str | None = None
    threads: int | None = None

    def to_json(self) -> dict[str, str | int]:
        """Return what a result file holds: names of packages and of what else is known, with their values."""
        others = {"python": self.python, "system": self.system, "device": self.device, "threads": self.threads}
        return self.packages | {name: value for name, value in others.items() if value is not None}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the environment that :meth:`to_json` was called on.

        Parameters
        ----------
        values : mapping
            From a result file.

        Returns
        -------
        Environment

        """
        others = _of_fields(cls, values)
        return cls({name: value for name, value in values.items() if name not in others}, **others)

    def __str__(self) -> str:
        values = self.to_json()
        return ", ".join(f"{name} {values[name]}" for name in sorted(values))


@dataclass(frozen=True)
class ImageSource:
    """The images that a method was given, and the network that it started from."""

    network: str = field(compare=False)
    """Its name, without its folders."""
    network_fingerprint: str
    images: str
    """Digest of the pixels."""


@dataclass(frozen=True)
class CellResult:
    """A finished cell: what was run, with what, and what was measured."""

    cell: Cell
    features: str
    """Digest of the feature file."""
    environment: Environment
    seconds: float
    final_average_accuracy: float
    """Mean accuracy over the test sets after the last phase."""
    phases: list[PhaseResult]
    code: CodeVersion | None = None
    """None in files from before it was recorded."""
    images: ImageSource | None = None
    """None for a method that takes features."""

    @property
    def computed_by(self) -> str:
        """The code in words."""
        return "a commit that was not recorded" if self.code is None else str(self.code)

    def to_json(self) -> dict[str, Any]:
        """Return what a result file holds."""
        return {
            "cell": asdict(self.cell),
            "features": self.features,
            "images": None if self.images is None else asdict(self.images),
            "code": None if self.code is None else asdict(self.code),
            "environment": self.environment.to_json(),
            "seconds": self.seconds,
            "final_average_accuracy": self.final_average_accuracy,
            "phases": [phase.to_json() for phase in self.phases],
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the result that :meth:`to_json` was called on.

        Parameters
        ----------
        values : mapping
            The content of a result file. Files of earlier versions have no ``code`` and no ``images``, and lack some
            fields of a phase.

        Returns
        -------
        CellResult

        Raises
        ------
        KeyError, TypeError, ValueError, AttributeError
            If this is not the content of a result file.

        """
        code, images = values.get("code"), values.get("images")
        return cls(
            cell=Cell(**values["cell"]),
            features=values["features"],
            environment=Environment.from_json(values["environment"]),
            seconds=float(values["seconds"]),
            final_average_accuracy=float(values["final_average_accuracy"]),
            phases=[PhaseResult.from_json(phase) for phase in values["phases"]],
            code=None if code is None else CodeVersion(**_of_fields(CodeVersion, code)),
            images=None if images is None else ImageSource(**_of_fields(ImageSource, images)),
        )


def _of_fields(kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the values that a record has a field for; a later version may write more."""
    return {field.name: values[field.name] for field in fields(kind) if field.name in values}


def _parts(values: Mapping[str, float] | None) -> metrics.Parts | None:
    return None if values is None else metrics.Parts(**values)
