"""The two protocols: what a method is given in each phase, and how it is evaluated (Sec. 4.1)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from opengcd import metrics
from opengcd._internal.progress import Progress, silent
from opengcd._internal.randomness import Seed, derive, generator
from opengcd._internal.splits import split_share
from opengcd.bench.drip import Recognised, discover_early, discover_once, drip_points
from opengcd.bench.image_dataset import DatasetImages
from opengcd.bench.near_copies import NearCopies
from opengcd.bench.open_world_method import OpenWorldMethod, Predictions
from opengcd.bench.questioner import answer_questions
from opengcd.bench.records import AlphaPoint, PhaseResult
from opengcd.bench.reviewer import Review, Split, simulate_review
from opengcd.bench.scenarios import USUAL, Scenario, StreamClasses, find_scenario
from opengcd.discover import Discovery, split_rows

PROTOCOLS = {
    "paper": "official test sets; only discovered rows of the next training set are learnt; random class order",
    "authors": "what the paper's code did: fixed class order, every novel item annotated, then split 83 / 17",
}
PARTS = 10
"""Parts of the stream that a method that adapts is shown one after the other."""
KEPT_FOR_TRAINING = 0.83
"""Share of the annotated items that protocol ``authors`` learns; the rest becomes a test set."""


@dataclass(frozen=True)
class Dataset:
    """Labelled features with an official split, and perhaps a class order of its own.

    Parameters
    ----------
    name : str
        Of the dataset.
    x_train, x_test : array of shape (n, d)
        Features of the official training and test sets.
    y_train, y_test : int array of shape (n,)
        Their classes, as numbers of ``class_names``.
    class_names : sequence of str
    class_order : int array of shape (C,) or None
        The order in which classes come in protocol ``authors``.
    images : DatasetImages or None
        The image of each row of ``X``, for methods that take images.

    """

    name: str
    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    class_names: Sequence[str]
    class_order: np.ndarray | None = None
    images: DatasetImages | None = None

    @cached_property
    def X(self) -> np.ndarray:
        """The training rows, then the test rows."""
        return np.concatenate([self.x_train, self.x_test])

    @cached_property
    def y(self) -> np.ndarray:
        """Their classes."""
        return np.concatenate([self.y_train, self.y_test])

    def train_rows(self, classes: np.ndarray) -> np.ndarray:
        """Return the rows of the official training set Tr of some classes.

        Parameters
        ----------
        classes : int array
            Numbers of classes.

        Returns
        -------
        int array
            Rows of ``X``.

        """
        return np.flatnonzero(np.isin(self.y_train, classes))

    def test_rows(self, classes: np.ndarray) -> np.ndarray:
        """Return the rows of the official test set Ts of some classes.

        Parameters
        ----------
        classes : int array
            Numbers of classes.

        Returns
        -------
        int array
            Rows of ``X``.

        """
        return np.flatnonzero(np.isin(self.y_test, classes)) + len(self.y_train)


@dataclass(frozen=True)
class Stream:
    """The items that arrive in a phase; ``row`` counts over the training and then the test rows of the dataset."""

    X: np.ndarray
    """What the method is given: features, or numbers of images: those in ``row``, and larger ones for near copies."""
    y: np.ndarray
    row: np.ndarray


@dataclass(frozen=True)
class PhaseDetail:
    """The stream of a phase and what was discovered in it, for figures."""

    stream: Stream
    examined: np.ndarray
    """Numbers, in the stream, of the rows that discovery was given."""
    discovery: Discovery
    review: Review


def check_protocol(protocol: str, learn: str) -> None:
    """Raise ValueError unless the protocol exists and allows this choice of what is learnt."""
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
    scenario: str = USUAL,
    random_state: Seed = None,
    progress: Progress = silent,
) -> Iterator[tuple[PhaseResult, PhaseDetail | None]]:
    """Run a method through the phases, one class group after another.

    In phase t the known classes are those of the first t groups. Accuracy is measured on their test sets without
    rejection. The stream is these test sets and both official sets of the next group. Rejected rows are grouped and a
    simulated reviewer names the groups.

    Protocol ``paper``: of what the groups hold, only rows of the next *training* set are learnt, and the next test set
    is the official one, so no test row is ever trained on. Classes that were never discovered stay errors: all methods
    are judged on the same rows. ``learn="all"`` gives the method the whole next training set instead, so that discovery
    and learning can be judged separately.

    Protocol ``authors``: every novel row of the stream is annotated, whether it was rejected or not. 83 % of the
    annotated rows, drawn at random, are learnt, and the others are the next test set.

    A method whose ``learns_from`` is ``"all"`` or ``"nothing"`` gets the official training set, or nothing, in both
    protocols. With ``reviews_one_by_one`` each rejected row costs an action, and in ``authors`` only rejected rows are
    annotated, as in the code.

    Parameters
    ----------
    method : OpenWorldMethod
    data : Dataset
    groups : sequence of int arrays
        The classes that each phase brings, see :func:`class_groups`.
    protocol : {"paper", "authors"}
    learn : {"discovered", "all"}
    scenario : str
        What the streams show, one of ``SCENARIOS``.
    random_state : int, SeedSequence or None
        Seed of the order of the streams, of what a scenario draws, and, in ``authors``, of the split.
    progress : callable
        Called with a stage, the steps done and their total.

    Yields
    ------
    result : PhaseResult
    detail : PhaseDetail or None
        None in the last phase, which has no stream.

    """
    check_protocol(protocol, learn)
    if method.learns_from not in (None, "all", "nothing"):
        raise ValueError(f"learns_from of a method must be None, 'all' or 'nothing', not {method.learns_from!r}.")
    learn = method.learns_from or learn
    shape = find_scenario(scenario, takes_images=method.takes_images)
    groups = [groups[0], *map(shape.shown, groups[1:])]
    inputs = _inputs(method, data)
    tests = [data.test_rows(groups[0])]
    learnt = data.train_rows(groups[0])
    history: list[list[float]] = []
    for t in range(1, len(groups) + 1):
        known = np.concatenate(groups[:t])
        result = PhaseResult(t, len(known), [], 0.0)
        progress("phases", t - 1, len(groups))
        with _measured(result, "fit"):
            if t == 1:
                method.fit(inputs[learnt], data.y[learnt], progress=progress)
            elif len(learnt):
                method.learn(inputs[learnt], data.y[learnt], progress=progress)
        result.accuracy, result.accuracy_all = _closed_accuracy(method, inputs, data.y, tests)
        history.append(result.accuracy)
        result.forgetting = metrics.forgetting(history)
        if t == len(groups):
            progress("phases", t, t)
            result.seconds |= method.spent()
            yield result, None
            return
        novel = groups[t]
        rows = np.concatenate([*tests, data.train_rows(novel), data.test_rows(novel)])
        rows = generator(derive(random_state, t)).permutation(rows)
        rng = generator(derive(random_state, t, 1))
        rows = _shown(shape, rows, StreamClasses(data.y[rows], known, novel), rng)
        stream = (
            _show_images(method, shape, rows, data, rng)
            if method.takes_images
            else _show_features(shape, rows, data, rng)
        )
        detail = _open_phase(method, stream, known, novel, result, progress, shape.drips)
        result.seconds |= method.spent()
        learnable, test = np.intersect1d(data.train_rows(novel), stream.row), data.test_rows(novel)
        learnt = learnable if learn == "all" else learnable[:0]
        if learn == "discovered" and protocol == "paper":
            learnt = np.intersect1d(learnable, stream.row[detail.examined[detail.review.rows]])
        elif learn == "discovered":
            pool = np.flatnonzero(np.isin(stream.y, novel))
            annotated = np.intersect1d(pool, detail.examined) if method.reviews_one_by_one else pool
            parts = split_share(annotated, KEPT_FOR_TRAINING, generator(derive(random_state, t, 0)))
            learnt, test = (stream.row[part] for part in parts)
            learnable = pool[: round(KEPT_FOR_TRAINING * len(pool))]
        tests.append(test)
        result.learnt_share = len(learnt) / len(learnable) if len(learnable) else None
        result.missing_classes = len(np.setdiff1d(novel, data.y[learnt]))
        yield result, detail


def _shown(scenario: Scenario, rows: np.ndarray, classes: StreamClasses, rng: np.random.Generator) -> np.ndarray:
    """Return which rows of the usual stream a scenario shows, in its order."""
    keep = scenario.select(classes, rng)
    rows, classes = rows[keep], classes._replace(y=classes.y[keep])
    return np.asarray(rows[scenario.order(classes, rng)])


def _show_features(scenario: Scenario, rows: np.ndarray, data: Dataset, rng: np.random.Generator) -> Stream:
    X = data.X[rows]
    if scenario.change is not None:
        X, original = scenario.change(X, data.y[rows], rng)
        rows = rows[original]
    return Stream(X, data.y[rows], rows)


def _show_images(
    method: OpenWorldMethod, scenario: Scenario, rows: np.ndarray, data: Dataset, rng: np.random.Generator
) -> Stream:
    """Return the numbers of images; near copies are numbered after those of the dataset, and given to the method."""
    if scenario.view is None:
        return Stream(rows, data.y[rows], rows)
    views, original = scenario.view(data.y[rows], rng)
    rows = rows[original]
    X, copies = rows.copy(), views.any(axis=1)
    X[copies] = len(data.y) + np.arange(copies.sum())
    assert data.images is not None  # a method that takes images was given them
    method.add_copies(NearCopies(data.images.crops, rows[copies], views[copies]))
    return Stream(X, data.y[rows], rows)


def _open_phase(
    method: OpenWorldMethod,
    stream: Stream,
    known: np.ndarray,
    novel: np.ndarray,
    result: PhaseResult,
    progress: Progress,
    drips: int = 1,
) -> PhaseDetail:
    """Recognise, discover and review one stream; write what is measured to ``result``."""
    unknown = method.unknown_label_
    with _measured(result, "recognise"):
        y_pred, closed, score = (_recognise_online if method.adapts else _recognise)(method, stream.X)
    rejected = y_pred == unknown
    result.rejected = int(rejected.sum())
    result.osr_parts = metrics.parts(stream.y, y_pred, known, unknown)
    result.hna = metrics.harmonic_mean(result.osr_parts.aks, result.osr_parts.aus)
    result.best_hna = metrics.best_hna(stream.y, closed, score, known)
    result.hna_precision = metrics.hna_precision(stream.y, y_pred, known, unknown)
    result.auroc = metrics.auroc(stream.y, score, known)
    settings, result.alpha, search = method.fitted_parameters()
    result.settings = dict(settings)
    if search is not None and search.criterion == "HNA":
        on_stream = hna_by_alpha(stream.y, closed, score, known, search.grid)
        points = zip(search.grid.tolist(), search.scores.tolist(), on_stream, strict=True)
        result.alpha_curve = [AlphaPoint(*point) for point in points]
    recognised = Recognised(stream.X, stream.y, rejected)
    earlier, confirmed = discover_early(method, recognised, known, drips, progress)
    with _measured(result, "discover"):
        last = discover_once(method, recognised, confirmed, progress)
    result.drips = drip_points([*earlier, last], stream.y, known, unknown)
    examined, found = last.examined, last.found
    y_pred = y_pred.copy()
    y_pred[examined] = _renumbered(found, known, novel)
    result.k, result.k_true, result.k_trusted = found.k, len(known) + len(novel), found.trusted
    result.k_interval = None if found.k_interval is None else list(found.k_interval)
    result.k_error, result.k_curve = found.k / result.k_true - 1, found.curve
    result.gcd_parts = metrics.parts(stream.y, y_pred, known, unknown)
    result.hca = metrics.harmonic_mean(result.gcd_parts.aks, result.gcd_parts.ans)
    result.acc = metrics.clustering_accuracy(stream.y, y_pred)
    groups, truth = [group.rows for group in found.groups], stream.y[examined]
    review = simulate_review(groups, truth, known.tolist())
    result.actions, result.actions_by_kind, result.named = review.actions, review.by_kind, len(review.rows)
    if method.reviews_one_by_one:
        result.actions, result.actions_by_kind = result.rejected, {"label": result.rejected}
        split = None
    elif split := _splitting(method, stream.X[examined]):
        result.actions_with_splits = simulate_review(groups, truth, known.tolist(), split).actions
    if groups and (rows := method.question_rows(stream.X[examined])):
        asked = answer_questions(groups, rows, truth)
        after = simulate_review(asked.groups, truth, known.tolist())
        result.questions, result.named_with_questions = dict(asked.asked), len(after.rows)
        result.actions_with_questions = asked.asked.total() + after.actions
        if split:
            both = simulate_review(asked.groups, truth, known.tolist(), split)
            result.actions_with_both = asked.asked.total() + both.actions
    return PhaseDetail(stream, examined, found, review)


def _splitting(method: OpenWorldMethod, X: np.ndarray) -> Split | None:
    """Return how the reviewer splits groups of the rows that were examined, as on the review page."""
    Z = method.in_metric(X) if len(X) else None
    if Z is None:
        return None
    return lambda rows, n: [rows[part.rows] for part in split_rows(Z[rows], n, random_state=0)]


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


def _recognise(method: OpenWorldMethod, X: np.ndarray) -> Predictions:
    predictions = Predictions(*map(np.asarray, method.recognize(X)))
    for name, values in predictions._asdict().items():
        _check_shape(values, len(X), f"{name} of recognize")
    return predictions


def _recognise_online(method: OpenWorldMethod, X: np.ndarray) -> Predictions:
    """Recognise part by part and show the method each part afterwards, so that it adapts for later parts only."""
    parts = []
    for rows in np.array_split(X, PARTS):
        parts.append(_recognise(method, rows))
        method.observe(rows)
    return Predictions(*map(np.concatenate, zip(*parts, strict=True)))


def _check_shape(values: np.ndarray, rows: int, name: str) -> None:
    if values.shape != (rows,):
        raise ValueError(f"{name} must hold one entry for each of the {rows} rows, not {values.shape}.")


def _renumbered(found: Discovery, known: np.ndarray, novel: np.ndarray) -> np.ndarray:
    """Return the labels after discovery, with groups numbered beyond all classes of the dataset."""
    labels = found.labels.copy()
    groups = np.unique(labels[found.novel], return_inverse=True)[1]
    labels[found.novel] = groups + int(np.concatenate([known, novel]).max()) + 1
    return labels


def _inputs(method: OpenWorldMethod, data: Dataset) -> np.ndarray:
    """Return what the method is given of each row: its features, or its number if the method takes images."""
    if not method.takes_images:
        return data.X
    if data.images is None:
        raise ValueError(f"This method takes images, but there are none of {data.name!r}; give --raw and --embedder.")
    method.open_images(data.images)
    return np.arange(len(data.y))


def _closed_accuracy(
    method: OpenWorldMethod, inputs: np.ndarray, y: np.ndarray, tests: Sequence[np.ndarray]
) -> tuple[list[float], float]:
    rows = np.concatenate(tests)
    closed = np.asarray(method.predict_closed(inputs[rows]))
    _check_shape(closed, len(rows), "what predict_closed returns")
    right = closed == y[rows]
    each = np.split(right, np.cumsum([len(test) for test in tests])[:-1])
    return [float(part.mean()) if len(part) else float("nan") for part in each], float(right.mean())


@contextmanager
def _measured(result: PhaseResult, stage: str) -> Iterator[None]:
    """Record the duration of a stage and its peak of resident memory."""
    fresh = begin_new_peak()
    start = time.perf_counter()
    yield
    result.seconds[stage] = time.perf_counter() - start
    result.peak_mb[stage] = _peak_mb() if fresh else None


def begin_new_peak() -> bool:
    """Reset the system's record of peak memory; only Linux can."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def _peak_mb() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024
