"""The two protocols: what a method sees in each phase, and how it is judged (Sec. 4.1)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from opengcd import metrics
from opengcd._internal.progress import Progress, silent
from opengcd._internal.randomness import Seed, derive, generator
from opengcd._internal.splits import split_share
from opengcd.bench.reviewer import Review, simulate_review
from opengcd.discover import CurvePoint, Discovery
from opengcd.recognizer import Recognition

PROTOCOLS = {
    "paper": "official test sets; only discovered rows of the next training set are learnt; random class order",
    "authors": "what the paper's code did: fixed class order, every novel item annotated, then split 83 / 17",
}
PARTS = 10
"""A method that adapts sees the stream in so many parts."""
KEPT_FOR_TRAINING = 0.83
"""Share of the annotated items that protocol ``authors`` learns; the rest becomes a test set."""


class OpenWorldMethod(Protocol):
    """What the protocols ask of a method; ours and every baseline offer it.

    A method that also has ``recognize``, returning ``labels``, ``closed`` and ``unknown_score`` like a
    :class:`opengcd.recognizer.Recognition`, is asked once for what the three calls ``predict``, ``predict_closed`` and
    ``unknown_score`` would say. One with a true ``adapts`` is shown each part of the stream by ``observe`` once it has
    judged it, so that what it learns serves for later parts only.
    What it says in ``settings_`` is kept with the results.
    One whose ``discovers_from`` is ``"stream"`` gets all rows in ``discover`` and, as ``rejected``, which were so.
    """

    unknown_label_: Any

    def fit(self, X: np.ndarray, y: np.ndarray, *, progress: Progress = silent) -> Any:
        """Start from the first known classes."""

    def learn(self, X: np.ndarray, y: np.ndarray, *, progress: Progress = silent) -> Any:
        """Take in newly labelled rows."""

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Name what is known, reject what is not."""

    def predict_closed(self, X: np.ndarray) -> np.ndarray:
        """Name everything."""

    def unknown_score(self, X: np.ndarray) -> np.ndarray:
        """Grow with how unknown a row looks."""

    def discover(self, X: np.ndarray, *, progress: Progress = silent) -> Discovery:
        """Group rejected rows."""


@dataclass(frozen=True)
class Dataset:
    """Labelled features with an official split, and perhaps a class order of its own."""

    name: str
    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    class_names: Sequence[str]
    class_order: np.ndarray | None = None

    @cached_property
    def X(self) -> np.ndarray:
        """The training rows, then the test rows."""
        return np.concatenate([self.x_train, self.x_test])

    @cached_property
    def y(self) -> np.ndarray:
        """Their classes."""
        return np.concatenate([self.y_train, self.y_test])

    def train_rows(self, classes: np.ndarray) -> np.ndarray:
        """Rows of the official training set Tr of some classes."""
        return np.flatnonzero(np.isin(self.y_train, classes))

    def test_rows(self, classes: np.ndarray) -> np.ndarray:
        """Rows of the official test set Ts of some classes."""
        return np.flatnonzero(np.isin(self.y_test, classes)) + len(self.y_train)


@dataclass(frozen=True)
class Stream:
    """The online instances of a phase; ``row`` counts over the training and then the test rows of the dataset."""

    X: np.ndarray
    y: np.ndarray
    row: np.ndarray


class AlphaPoint(NamedTuple):
    """HNA at one alpha of the grid: in the search on labelled data, and in truth on the stream."""

    alpha: float
    searched: float
    stream: float


@dataclass
class PhaseResult:
    """All that is measured in one phase. Shares run from 0 to 1; what a phase does not measure is None."""

    phase: int
    known: int
    accuracy: list[float]
    """On each Ts_i up to this phase, without rejection."""
    accuracy_all: float
    """On their union."""
    forgetting: float = 0.0
    seconds: dict[str, float] = field(default_factory=dict)
    """Of each stage: fit, recognise, discover."""
    peak_mb: dict[str, float | None] = field(default_factory=dict)
    """Largest resident memory of the process in each stage; None where the system does not tell."""
    alpha: float | None = None
    alpha_curve: list[AlphaPoint] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    """What a method that searches for its parameters has found, its ``settings_``."""
    hna: float | None = None
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
    k_curve: list[CurvePoint] = field(default_factory=list)
    hca: float | None = None
    acc: float | None = None
    gcd_parts: metrics.Parts | None = None
    actions: int | None = None
    actions_by_kind: dict[str, int] = field(default_factory=dict)
    named: int | None = None
    """Novel items that the reviewer gave a name."""
    learnt_share: float | None = None
    """Share of what could be learnt that is learnt."""
    missing_classes: int | None = None
    """New classes of which not one sample is learnt."""


@dataclass(frozen=True)
class PhaseDetail:
    """What a phase looked at and found, for pictures."""

    stream: Stream
    examined: np.ndarray
    """Numbers, in the stream, of the rows that discovery was given."""
    discovery: Discovery
    review: Review


def check_protocol(protocol: str, learn: str) -> None:
    """Raise unless there is such a protocol and it has that rule for what is learnt."""
    if protocol not in PROTOCOLS:
        raise ValueError(f"Unknown protocol {protocol!r}; choose from {', '.join(PROTOCOLS)}.")
    if learn not in ("discovered", "all"):
        raise ValueError(f"learn must be 'discovered' or 'all', not {learn!r}.")
    if protocol == "authors" and learn == "all":
        raise ValueError("Protocol 'authors' has its own rule for what is learnt; leave learn='discovered'.")


def run_protocol(
    method: OpenWorldMethod,
    data: Dataset,
    groups: Sequence[np.ndarray],
    *,
    protocol: str = "paper",
    learn: str = "discovered",
    random_state: Seed = None,
    progress: Progress = silent,
) -> Iterator[tuple[PhaseResult, PhaseDetail | None]]:
    """Lead a method through the phases, one class group after another.

    In phase t the known classes are those of the first t groups. Accuracy is measured on their test sets without
    rejection. The stream is these test sets and both official sets of the next group. Rejected rows are grouped and a
    simulated reviewer names the groups.

    Protocol ``paper``: of what the groups hold, only rows of the next *training* set are learnt, and the next test set
    is the official one, so no test row is ever trained on. Classes that were never discovered stay errors: all methods
    are judged on the same rows. ``learn="all"`` gives the method the whole next training set instead, so that discovery
    and learning can be judged apart.

    Protocol ``authors``: every novel row of the stream is annotated, whether it was rejected or not. 83 % of the
    annotated rows, drawn at random, are learnt, and the others are the next test set.

    A method that has ``learns_from = "all"`` or ``"nothing"`` gets the official training set, or nothing, in both
    protocols. One that has ``reviews_one_by_one`` costs an action for each rejected row, and in ``authors`` only its
    rejected rows are annotated, as in the code.
    """
    check_protocol(protocol, learn)
    learn = getattr(method, "learns_from", learn)
    if learn not in ("discovered", "all", "nothing"):
        raise ValueError(f"learns_from of a method must be 'all' or 'nothing', not {learn!r}.")
    tests = [data.test_rows(groups[0])]
    learnt = data.train_rows(groups[0])
    history: list[list[float]] = []
    for t in range(1, len(groups) + 1):
        known = np.concatenate(groups[:t])
        result = PhaseResult(t, len(known), [], 0.0)
        progress("phases", t - 1, len(groups))
        with _measured(result, "fit"):
            if t == 1:
                method.fit(data.X[learnt], data.y[learnt], progress=progress)
            elif len(learnt):
                method.learn(data.X[learnt], data.y[learnt], progress=progress)
        result.accuracy, result.accuracy_all = _closed_accuracy(method, data, tests)
        history.append(result.accuracy)
        result.forgetting = metrics.forgetting(history)
        if t == len(groups):
            progress("phases", t, t)
            yield result, None
            return
        novel = groups[t]
        stream = _stream(data, np.concatenate([*tests, data.train_rows(novel), data.test_rows(novel)]),
                         derive(random_state, t))  # fmt: skip
        detail = _open_phase(method, stream, known, novel, result, progress)
        learnable, test = data.train_rows(novel), data.test_rows(novel)
        learnt = learnable if learn == "all" else learnable[:0]
        if learn == "discovered" and protocol == "paper":
            learnt = np.intersect1d(learnable, stream.row[detail.examined[detail.review.rows]])
        elif learn == "discovered":
            pool = np.flatnonzero(np.isin(stream.y, novel))
            annotated = np.intersect1d(pool, detail.examined) if _one_by_one(method) else pool
            parts = split_share(annotated, KEPT_FOR_TRAINING, generator(derive(random_state, t, 0)))
            learnt, test = (stream.row[part] for part in parts)
            learnable = pool[: round(KEPT_FOR_TRAINING * len(pool))]
        tests.append(test)
        result.learnt_share = len(learnt) / len(learnable)
        result.missing_classes = len(np.setdiff1d(novel, data.y[learnt]))
        yield result, detail


def _open_phase(
    method: OpenWorldMethod,
    stream: Stream,
    known: np.ndarray,
    novel: np.ndarray,
    result: PhaseResult,
    progress: Progress,
) -> PhaseDetail:
    """Recognise, discover and review one stream; write what is measured to ``result``."""
    unknown = method.unknown_label_
    with _measured(result, "recognise"):
        if getattr(method, "adapts", False):
            y_pred, closed, score = _recognise_online(method, stream.X)
        else:
            y_pred, closed, score = _recognise(method, stream.X)
    rejected = np.flatnonzero(y_pred == unknown)
    result.rejected = len(rejected)
    result.osr_parts = metrics.parts(stream.y, y_pred, known, unknown)
    result.hna = metrics.harmonic_mean(result.osr_parts.aks, result.osr_parts.aus)
    result.hna_precision = metrics.hna_precision(stream.y, y_pred, known, unknown)
    result.auroc = metrics.auroc(stream.y, score, known)
    result.alpha, result.settings = getattr(method, "alpha_", None), dict(getattr(method, "settings_", {}))
    search = getattr(method, "alpha_search_", None)
    if search is not None and search.criterion == "HNA":
        on_stream = hna_by_alpha(stream.y, closed, score, known, search.grid)
        points = zip(search.grid.tolist(), search.scores.tolist(), on_stream, strict=True)
        result.alpha_curve = [AlphaPoint(*point) for point in points]
    with _measured(result, "discover"):
        if getattr(method, "discovers_from", "rejected") == "stream":
            examined = np.arange(len(stream.X))
            found = method.discover(stream.X, rejected=y_pred == unknown, progress=progress)  # type: ignore[call-arg]
        else:
            examined, found = rejected, method.discover(stream.X[rejected], progress=progress)
    y_pred = y_pred.copy()
    y_pred[examined] = _apart(found, known, novel)
    result.k, result.k_true, result.k_trusted = found.k, len(known) + len(novel), found.trusted
    result.k_error, result.k_curve = found.k / result.k_true - 1, found.curve
    result.gcd_parts = metrics.parts(stream.y, y_pred, known, unknown)
    result.hca = metrics.harmonic_mean(result.gcd_parts.aks, result.gcd_parts.ans)
    result.acc = metrics.clustering_accuracy(stream.y, y_pred)
    review = simulate_review([group.rows for group in found.groups], stream.y[examined], known.tolist())
    result.actions, result.actions_by_kind, result.named = review.actions, review.by_kind, len(review.rows)
    if _one_by_one(method):
        result.actions, result.actions_by_kind = len(rejected), {"label": len(rejected)}
    return PhaseDetail(stream, examined, found, review)


def hna_by_alpha(
    y: np.ndarray, closed: np.ndarray, uncertainty: np.ndarray, known: np.ndarray, alphas: np.ndarray
) -> list[float]:
    r"""HNA at each alpha: a row is rejected if :math:`u > 1 / (1 + \alpha)`, see Eqs. 1 and 2."""
    right, is_unknown = closed == y, ~np.isin(y, known)
    values = []
    for alpha in alphas:
        rejected = uncertainty > 1 / (1 + alpha)
        aks, aus = (right & ~rejected)[~is_unknown].mean(), rejected[is_unknown].mean()
        values.append(float(metrics.harmonic_mean(aks, aus)))
    return values


def _recognise(method: OpenWorldMethod, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels with rejection, labels without, and the unknown score."""
    kind = type(method)
    calls = ("predict", "predict_closed", "unknown_score")
    # A class that inherits recognize but has, say, a predict of its own means the latter.
    if hasattr(kind, "recognize") and all(issubclass(_home(kind, "recognize"), _home(kind, call)) for call in calls):
        found: Recognition = method.recognize(X)  # type: ignore[attr-defined]
        return found.labels, found.closed, found.unknown_score
    labels, closed, score = (np.asarray(getattr(method, call)(X)) for call in calls)
    for call, values in zip(calls, (labels, closed, score), strict=True):
        _check_shape(values, len(X), call)
    return labels, closed, score


def _recognise_online(method: OpenWorldMethod, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same, part by part, with a method that learns from each part it has judged."""
    parts = []
    for rows in np.array_split(X, PARTS):
        parts.append(_recognise(method, rows))
        method.observe(rows)  # type: ignore[attr-defined]
    labels, closed, score = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return labels, closed, score


def _home(kind: type, name: str) -> type:
    """The class that defines an attribute."""
    return next((base for base in kind.__mro__ if name in vars(base)), object)


def _check_shape(values: np.ndarray, rows: int, call: str) -> None:
    if values.shape != (rows,):
        raise ValueError(f"{call} of the method must return one entry for each of {rows} rows, not {values.shape}.")


def _one_by_one(method: OpenWorldMethod) -> bool:
    return bool(getattr(method, "reviews_one_by_one", False))


def _apart(found: Discovery, known: np.ndarray, novel: np.ndarray) -> np.ndarray:
    """Labels after discovery, with groups numbered so that none can be taken for a class of the dataset."""
    labels = found.labels.copy()
    groups = np.unique(labels[found.novel], return_inverse=True)[1]
    labels[found.novel] = groups + max(int(known.max()), int(novel.max())) + 1
    return labels


def _closed_accuracy(method: OpenWorldMethod, data: Dataset, tests: Sequence[np.ndarray]) -> tuple[list[float], float]:
    rows = np.concatenate(tests)
    closed = np.asarray(method.predict_closed(data.X[rows]))
    _check_shape(closed, len(rows), "predict_closed")
    right = closed == data.y[rows]
    each = np.split(right, np.cumsum([len(test) for test in tests])[:-1])
    return [float(part.mean()) if len(part) else float("nan") for part in each], float(right.mean())


def _stream(data: Dataset, rows: np.ndarray, random_state: Seed) -> Stream:
    rows = generator(random_state).permutation(rows)
    return Stream(data.X[rows], data.y[rows], rows)


@contextmanager
def _measured(result: PhaseResult, stage: str) -> Iterator[None]:
    """Note how long a stage takes, and its peak of resident memory."""
    fresh = _begin_new_peak()
    start = time.perf_counter()
    yield
    result.seconds[stage] = time.perf_counter() - start
    result.peak_mb[stage] = _peak_mb() if fresh else None


def _begin_new_peak() -> bool:
    """Let the system forget the peak of memory so far; only Linux can."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def _peak_mb() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024
