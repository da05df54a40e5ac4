"""The paper's protocol: what a method sees in each phase, and how it is judged (Sec. 4.1)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from opengcd import metrics
from opengcd.discover import Discovery
from opengcd.progress import Progress, silent
from opengcd.randomness import Seed, derive, generator
from opengcd.review import Review, simulate_review


class OpenWorldMethod(Protocol):
    """What the protocol asks of a method; ours and every baseline offer it."""

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
    """Labelled features with an official split."""

    name: str
    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    class_names: Sequence[str]


@dataclass(frozen=True)
class Stream:
    """The online instances of a phase; ``row`` counts over the training and then the test rows of the dataset."""

    X: np.ndarray
    y: np.ndarray
    row: np.ndarray
    from_training: np.ndarray


@dataclass
class PhaseResult:
    """All that is measured in one phase. Shares run from 0 to 1; what a phase does not measure is None."""

    phase: int
    known: int
    accuracy: list[float]
    """On each Ts_i up to this phase, without rejection."""
    accuracy_all: float
    """On their union."""
    seconds: dict[str, float] = field(default_factory=dict)
    hna: float | None = None
    hna_precision: float | None = None
    auroc: float | None = None
    rejected: int | None = None
    osr_parts: metrics.Parts | None = None
    k: int | None = None
    k_true: int | None = None
    k_trusted: bool | None = None
    hca: float | None = None
    acc: float | None = None
    gcd_parts: metrics.Parts | None = None
    actions: int | None = None
    learnt_share: float | None = None
    """Share of the next training set that is learnt."""
    missing_classes: int | None = None
    """New classes of which not one sample is learnt."""


@dataclass(frozen=True)
class PhaseDetail:
    """What a phase looked at and found, for pictures."""

    stream: Stream
    rejected: np.ndarray
    """Numbers of the rejected rows in the stream."""
    discovery: Discovery
    review: Review


def class_groups(n_classes: int, sizes: Sequence[int], random_state: Seed) -> list[np.ndarray]:
    """Deal the classes at random to the phases."""
    if sum(sizes) > n_classes:
        raise ValueError(f"The phases need {sum(sizes)} classes, but the dataset has {n_classes}.")
    order = generator(random_state).permutation(n_classes)
    return np.split(order[: sum(sizes)], np.cumsum(sizes)[:-1])


def run_protocol(
    method: OpenWorldMethod,
    data: Dataset,
    groups: Sequence[np.ndarray],
    *,
    learn: str = "discovered",
    random_state: Seed = None,
    progress: Progress = silent,
) -> Iterator[tuple[PhaseResult, PhaseDetail | None]]:
    """Lead a method through the phases, one class group after another.

    In phase t the known classes are those of the first t groups. Accuracy is measured on their official test sets
    without rejection. The stream is these test sets and both sets of the next group. Rejected rows are grouped and a
    simulated reviewer names the groups. Of what the groups hold, only rows of the next *training* set are learnt, so
    no test row is ever trained on. Classes that were never discovered stay errors: all methods are judged on the same
    rows.

    ``learn="all"`` gives the method the whole next training set instead, so that discovery and learning can be judged
    apart; a method that has ``learns_from = "all"`` always gets it. One that has ``reviews_one_by_one`` costs an action
    for each rejected item.
    """
    if learn not in ("discovered", "all"):
        raise ValueError(f"learn must be 'discovered' or 'all', not {learn!r}.")
    learn = getattr(method, "learns_from", learn)
    learnt: tuple[np.ndarray, np.ndarray] | None = None
    for t in range(1, len(groups) + 1):
        known = np.concatenate(groups[:t])
        clock: dict[str, float] = {}
        progress("phases", t - 1, len(groups))
        with _timed(clock, "fit"):
            if t == 1:
                rows = np.isin(data.y_train, known)
                method.fit(data.x_train[rows], data.y_train[rows], progress=progress)
            elif learnt is not None and len(learnt[0]):
                method.learn(*learnt, progress=progress)
        result = PhaseResult(t, len(known), *_closed_accuracy(method, data, groups[:t]), seconds=clock)
        if t == len(groups):
            yield result, None
            return
        stream = _stream(data, known, groups[t], derive(random_state, t))
        detail = _open_phase(method, stream, known, groups[t], result, progress)
        trainable = detail.rejected[detail.review.rows]
        trainable = trainable[stream.from_training[trainable] & np.isin(stream.y[trainable], groups[t])]
        learnt = stream.X[trainable], stream.y[trainable]
        everything = np.isin(data.y_train, groups[t])
        if learn == "all":
            learnt = data.x_train[everything], data.y_train[everything]
        result.learnt_share = len(learnt[1]) / int(everything.sum())
        result.missing_classes = len(np.setdiff1d(groups[t], learnt[1]))
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
    with _timed(result.seconds, "recognise"):
        y_pred = method.predict(stream.X)
    rejected = np.flatnonzero(y_pred == unknown)
    result.rejected = len(rejected)
    result.osr_parts = metrics.parts(stream.y, y_pred, known, unknown)
    result.hna = metrics.harmonic_mean(result.osr_parts.aks, result.osr_parts.aus)
    result.hna_precision = metrics.hna_precision(stream.y, y_pred, known, unknown)
    result.auroc = metrics.auroc(stream.y, method.unknown_score(stream.X), known)
    with _timed(result.seconds, "discover"):
        found = method.discover(stream.X[rejected], progress=progress)
    y_pred = y_pred.copy()
    y_pred[rejected] = _apart(found, known, novel)
    result.k, result.k_true, result.k_trusted = found.k, len(known) + len(novel), found.trusted
    result.gcd_parts = metrics.parts(stream.y, y_pred, known, unknown)
    result.hca = metrics.harmonic_mean(result.gcd_parts.aks, result.gcd_parts.ans)
    result.acc = metrics.clustering_accuracy(stream.y, y_pred)
    review = simulate_review([group.rows for group in found.groups], stream.y[rejected], known.tolist())
    result.actions = len(rejected) if getattr(method, "reviews_one_by_one", False) else review.actions
    return PhaseDetail(stream, rejected, found, review)


def _apart(found: Discovery, known: np.ndarray, novel: np.ndarray) -> np.ndarray:
    """Labels after discovery, with groups numbered so that none can be taken for a class of the dataset."""
    labels = found.labels.copy()
    labels[found.novel] += max(int(known.max()), int(novel.max())) + 1
    return labels


def _closed_accuracy(method: OpenWorldMethod, data: Dataset, groups: Sequence[np.ndarray]) -> tuple[list[float], float]:
    each = [np.flatnonzero(np.isin(data.y_test, group)) for group in groups]
    rows = np.concatenate(each)
    right = method.predict_closed(data.x_test[rows]) == data.y_test[rows]
    return [float(part.mean()) for part in np.split(right, np.cumsum([len(r) for r in each])[:-1])], float(right.mean())


def _stream(data: Dataset, known: np.ndarray, novel: np.ndarray, random_state: Seed) -> Stream:
    test = np.flatnonzero(np.isin(data.y_test, np.concatenate([known, novel])))
    train = np.flatnonzero(np.isin(data.y_train, novel))
    X = np.concatenate([data.x_train[train], data.x_test[test]])
    y = np.concatenate([data.y_train[train], data.y_test[test]])
    row = np.concatenate([train, test + len(data.y_train)])
    order = generator(random_state).permutation(len(y))
    return Stream(X[order], y[order], row[order], (row < len(data.y_train))[order])


@contextmanager
def _timed(clock: dict[str, float], stage: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    clock[stage] = time.perf_counter() - start
