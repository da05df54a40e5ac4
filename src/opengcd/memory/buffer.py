"""The exemplar memory: a fixed number of labelled rows, shared evenly by the classes, and statistics of all rows."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from opengcd._internal.class_statistics import ClassStatistics
from opengcd._internal.model_folder import ModelFileError
from opengcd._internal.part import State
from opengcd._internal.randomness import Seed, derive, seed_from_json, seed_sequence, seed_to_json
from opengcd._internal.validation import check_features, check_integer, check_labels, check_mask, encode
from opengcd.memory.selectors import Selector, select_each, selector_properties


class ExemplarMemory:
    r"""The exemplars: at most ``size`` labelled rows, balanced over the classes (Sec. 3.2).

    They are kept from phase to phase, so that known classes are not forgotten while new ones are learnt.

    Every class gets :math:`|M_r| / |C|` rows. The remainder of that division, and the places that a class with too few
    rows does not use, are given to the other classes one row at a time, so that the memory is as full as possible.

    Parameters
    ----------
    size : int or None
        Total number of rows; None means the number of rows in the first update (the paper's :math:`N_0`).
    selector : str or callable
        See :func:`select_exemplars`.
    rank_once : bool
        Whether the exemplars of a class without new rows are only truncated in later phases, and not selected again:
        selecting from a selection loses information about the class. For selectors that rank rows by
        importance: herding, greedy, kcenter, and functions with a true attribute ``nested``.
    random_state, device
        Passed to the selector.
    keep_statistics : bool
        Whether the statistics of all rows of a class so far are kept, not only those of its exemplars.

    Attributes
    ----------
    X, y : arrays
        The exemplars, sorted by class; within a class, the most important first.
    trained : bool array
        Whether the network that computed a row of ``X`` was trained on its label: thresholds are calibrated on others.
    found : bool array
        Whether a row of ``X`` was found by discovery. Rows of its class that were missed are harder to recognise.
    seen : dict
        Number of labelled rows of each class so far.
    ranked : set
        Classes whose exemplars were selected; they are in the selector's order.
    kept : array
        The rows that the last update kept: indices into the old exemplars followed by the new rows. Use them to keep
        other data beside the exemplars. They are not saved.
    statistics : ClassStatistics or None
        Of all labelled rows so far, the exemplars among them, with classes numbered in sorted order; None if they are
        not kept.

    """

    def __init__(
        self,
        size: int | None = None,
        selector: Selector = "ds3",
        random_state: Seed = None,
        device: str = "auto",
        rank_once: bool = False,
        keep_statistics: bool = False,
    ) -> None:
        self.size = None if size is None else check_integer(size, "memory_size")
        self.selector = selector
        self.device = device
        self.rank_once = rank_once
        self.keep_statistics = keep_statistics
        self.statistics: ClassStatistics | None = None
        self.seed = seed_sequence(random_state)
        self.updates = 0
        self.X = np.empty((0, 0), dtype=np.float32)
        self.y = np.empty(0, dtype=np.int64)
        self.trained, self.found = np.empty(0, dtype=bool), np.empty(0, dtype=bool)
        self.seen: dict[Any, int] = {}
        self.ranked: set[Any] = set()
        self.kept = np.empty(0, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.X)

    def update(self, X: Any, y: Any, trained: np.ndarray | None = None, found: np.ndarray | None = None) -> np.ndarray:
        """Merge new labelled rows with the exemplars, and select the exemplars of every class again.

        Parameters
        ----------
        X, y : array
            Labelled rows and their labels; none, if the memory has some already.
        trained : bool array of shape (n,) or None
            Which of them the network that computed them was trained on; None: none.
        found : bool array of shape (n,) or None
            Which of them were found by discovery; None: none.

        Returns
        -------
        array of int
            Indices of the rows kept, into the old exemplars followed by ``X``.

        """
        X = check_features(X, width=self.X.shape[1] if len(self) else None, min_rows=0 if len(self) else 1)
        y = check_labels(y, len(X), like=self.y)
        trained, found = (np.zeros(len(X), dtype=bool) if mask is None else mask for mask in (trained, found))
        statistics = self._statistics_with(X, y) if self.keep_statistics else None
        new_labels = y
        seen = Counter(self.seen) + Counter(y.tolist())
        if len(self):
            X, y = np.concatenate([self.X, X]), np.concatenate([self.y, y])
            trained, found = np.concatenate([self.trained, trained]), np.concatenate([self.found, found])
        size = len(X) if self.size is None else self.size
        classes, codes = np.unique(y, return_inverse=True)
        rows = [np.flatnonzero(codes == c) for c in range(len(classes))]
        quotas = allot(size, [len(r) for r in rows])
        seed = derive(self.seed, self.updates)
        rngs = [np.random.default_rng(derive(seed, c)) for c in range(len(classes))]
        names = classes.tolist()
        nested = self.rank_once and selector_properties(self.selector).nested
        kept_in_order = self.ranked.difference(new_labels.tolist()) if nested else set()
        # A class with no more candidates than its quota keeps them in their order.
        candidates = [r[:q] if name in kept_in_order else r for name, r, q in zip(names, rows, quotas, strict=True)]
        picks = select_each([X[r] for r in candidates], quotas, self.selector, rngs, self.device)
        cut = {name for name, r, quota in zip(names, rows, quotas, strict=True) if quota < len(r)}
        kept = np.concatenate([r[p] for r, p in zip(rows, picks, strict=True)])
        self.X, self.y, self.trained, self.found = X[kept], y[kept], trained[kept], found[kept]
        self.size, self.seen, self.statistics = size, dict(seen), statistics
        self.ranked = kept_in_order | cut
        self.updates += 1
        self.kept = kept
        return kept

    def _statistics_with(self, X: np.ndarray, y: np.ndarray) -> ClassStatistics:
        """Return the statistics of all rows so far and of new ones."""
        known = np.unique(self.y)
        classes = np.unique(np.concatenate([known, y])) if len(self) else np.unique(y)
        new = ClassStatistics.of(X, encode(y, classes), len(classes))
        if not len(self):
            return new
        numbers = np.full(len(classes), -1)
        numbers[encode(known, classes)] = np.arange(len(known))
        return (self.statistics or self._of_exemplars()).of_classes(numbers).merged(new)

    def _of_exemplars(self) -> ClassStatistics:
        """Return the statistics of the exemplars, for use when no others were kept or those do not apply."""
        classes, codes = np.unique(self.y, return_inverse=True)
        return ClassStatistics.of(self.X, codes, len(classes))

    def statistics_of(self, classes: np.ndarray) -> ClassStatistics | None:
        """Return the statistics of all rows so far, with classes numbered in another order; None if none are kept.

        Parameters
        ----------
        classes : array of shape (C,)
            All known classes.

        Returns
        -------
        ClassStatistics or None

        """
        return None if self.statistics is None else self.statistics.of_classes(encode(classes, np.unique(self.y)))

    def with_features(self, X: np.ndarray, trained: np.ndarray) -> Self:
        """Return the memory with features of another network.

        Statistics of the old features do not apply to the new ones: those of the exemplars alone take their place.

        Parameters
        ----------
        X : array of shape (n, d)
            New features of the exemplars.
        trained : bool array of shape (n,)
            Which of them that network was trained on.

        Returns
        -------
        ExemplarMemory

        """
        memory = copy.copy(self)
        memory.X, memory.trained = X, trained
        memory.statistics = memory._of_exemplars() if self.keep_statistics else None
        return memory

    def without(self, rows: np.ndarray) -> Self:
        """Return the memory without some exemplars, as if it had never seen them.

        Parameters
        ----------
        rows : bool array of shape (n,)
            The exemplars to forget. A class of which none is left is forgotten.

        Returns
        -------
        ExemplarMemory

        """
        memory, keep = copy.copy(self), ~rows
        memory.X, memory.y, memory.trained, memory.found = (a[keep] for a in (self.X, self.y, self.trained, self.found))
        gone, left = Counter(self.y[rows].tolist()), np.unique(memory.y)
        memory.seen = {label: self.seen[label] - gone[label] for label in left.tolist()}
        memory.ranked = self.ranked & set(left.tolist())
        if self.statistics is not None:
            known = np.unique(self.y)
            forgotten = ClassStatistics.of(self.X[rows], encode(self.y[rows], known), len(known))
            memory.statistics = self.statistics.without(forgotten).of_classes(encode(left, known))
        memory.kept = np.flatnonzero(keep)
        return memory

    def keep_only(self, rows: Any) -> None:
        """Drop all exemplars but some, for example because their images are gone.

        Parameters
        ----------
        rows : array of bool of shape (n,)
            Which exemplars stay; at least one of each class must.

        """
        rows = check_mask(rows, len(self), "rows")
        lost = np.setdiff1d(self.y, self.y[rows])
        if len(lost):
            raise ValueError(f"No exemplar of the class {lost[0]} would stay; keep at least one of each class.")
        self.X, self.y, self.trained, self.found = (a[rows] for a in (self.X, self.y, self.trained, self.found))
        self.kept = np.flatnonzero(rows)

    def state(self, classes: np.ndarray) -> State:
        """Return what is saved of the memory.

        Parameters
        ----------
        classes : array of shape (C,)
            All known classes, in the model's order.

        Returns
        -------
        State

        """
        header = {
            "size": self.size,
            "updates": self.updates,
            "seen": [self.seen[c] for c in classes.tolist()],
            "ranked": [c in self.ranked for c in classes.tolist()],
            "rank_once": self.rank_once,
            "seed": seed_to_json(self.seed),
        }
        arrays = {"memory.X": self.X, "memory.codes": encode(self.y, classes)}
        marks = {"memory.trained": self.trained, "memory.found": self.found}
        arrays |= {name: marked for name, marked in marks.items() if marked.any()}
        statistics = self.statistics_of(classes)
        if statistics is not None:
            arrays |= {f"memory.{name}": value for name, value in statistics._asdict().items()}
        return State(header, arrays)

    @classmethod
    def restore(cls, state: State, classes: np.ndarray, selector: Selector, device: str) -> Self:
        """Return a memory from its :meth:`state`.

        Parameters
        ----------
        state : State
            Its arrays may also hold those of other parts.
        classes : array of shape (C,)
            All known classes, in the model's order.
        selector : str or callable
            See :func:`select_exemplars`; it is not saved.
        device : str
            Torch device of the selector.

        Returns
        -------
        ExemplarMemory

        Raises
        ------
        ModelFileError
            If exemplars and classes do not fit together.

        """
        stored, codes = state.header, state.arrays["memory.codes"]
        X = check_features(state.arrays["memory.X"], name="memory.X")
        complete = set(codes.ravel().tolist()) == set(range(len(np.unique(classes)))) == set(range(len(classes)))
        if codes.shape != (len(X),) or codes.dtype != np.int64 or not complete:
            raise ModelFileError("The model is damaged: exemplars and classes do not fit together.")
        size, seed = check_integer(stored["size"], "memory.size"), seed_from_json(stored["seed"])
        memory = cls(size, selector, seed, device, bool(stored["rank_once"]))
        memory.X, memory.y = X, classes[codes]
        memory.trained, memory.found = (_marked(state, f"memory.{name}", len(X)) for name in ("trained", "found"))
        memory.updates = check_integer(stored["updates"], "memory.updates")
        seen = [check_integer(number, "memory.seen") for number in stored["seen"]]
        memory.seen = dict(zip(classes.tolist(), seen, strict=True))
        memory.ranked = {c for c, ranked in zip(classes.tolist(), stored["ranked"], strict=True) if ranked}
        statistics = restored_statistics(state.arrays, X.shape[1], len(classes))
        if statistics is not None:
            memory.keep_statistics = True
            memory.statistics = statistics.of_classes(encode(np.unique(classes), classes))
        return memory


def _marked(state: State, name: str, n: int) -> np.ndarray:
    """Return which exemplars have a mark; none in models of earlier versions without marks."""
    marked = state.arrays.get(name, np.zeros(n, dtype=bool))
    if marked.shape != (n,) or marked.dtype != bool:
        raise ModelFileError(f"The model is damaged: {name} does not fit the exemplars.")
    return marked


def restored_statistics(arrays: Mapping[str, np.ndarray], n_features: int, n_classes: int) -> ClassStatistics | None:
    """Return the statistics that a model folder holds; None if it has none, as those of earlier versions.

    Parameters
    ----------
    arrays : mapping of arrays
        Of the model.
    n_features, n_classes : int
        Of the model.

    Returns
    -------
    ClassStatistics or None

    Raises
    ------
    ModelFileError
        If they do not fit the model.

    """
    names = [f"memory.{name}" for name in ClassStatistics._fields]
    if not any(name in arrays for name in names):
        return None
    stored = ClassStatistics(*(arrays[name] for name in names))
    expected = ((n_classes,), (n_classes, n_features), (n_features, n_features))
    if (
        tuple(array.shape for array in stored) != expected
        or stored.counts.dtype != np.int64
        or stored.counts.min() < 1
        or not all(array.dtype == np.float64 and np.isfinite(array).all() for array in stored[1:])
    ):
        raise ModelFileError("The model is damaged: the statistics of its classes do not fit the model.")
    return stored


def allot(size: int, available: list[int]) -> list[int]:
    """Distribute ``size`` exemplars over classes as evenly as their numbers of available rows allow.

    Parameters
    ----------
    size : int
        Number of exemplars, at least one per class.
    available : list of int
        Number of rows of each class.

    Returns
    -------
    list of int
        Number of exemplars of each class.

    Examples
    --------
    >>> allot(10, [9, 9, 9])
    [4, 3, 3]
    >>> allot(10, [1, 9, 9])
    [1, 5, 4]

    """
    if size < len(available):
        raise ValueError(
            f"A memory of {size} rows cannot hold {len(available)} classes; set memory_size to at least "
            f"{len(available)}; twenty times as many is better."
        )
    quotas = [0] * len(available)
    open_ = [c for c, n in enumerate(available) if n]
    left = size
    while open_ and left >= len(open_):
        share = left // len(open_)
        for c in open_:
            given = min(share, available[c] - quotas[c])
            quotas[c] += given
            left -= given
        open_ = [c for c in open_ if quotas[c] < available[c]]
    for c in open_[:left]:
        quotas[c] += 1
    return quotas
