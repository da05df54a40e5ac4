"""The interface of a discovery strategy, which finds new classes in a stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from opengcd._internal.class_statistics import ClassStatistics
from opengcd._internal.part import Part
from opengcd._internal.run import Run
from opengcd._internal.validation import encode
from opengcd.classify import Labelled, Stream
from opengcd.discover.discovery import Discovery, with_confirmed
from opengcd.osr import Rejection


class ClassCount(NamedTuple):
    """How many classes to find: known and new ones together."""

    k: int | None = None
    """The number; None if it is to be estimated."""
    most: int = 500
    """Upper limit of an estimate."""


class Confirmed(NamedTuple):
    """Labels that a person gave to rows of the stream, for a second round of discovery."""

    labels: np.ndarray
    """(n,) One label per row of the stream."""
    given: np.ndarray
    """(n,) Whether the label was given by a person; the others have no meaning."""
    refit: Callable[[Labelled], tuple[Labelled, Rejection]]
    """Refits the recogniser's classifier and rejection on labelled rows."""


class DiscoveryStrategy(Part, ABC):
    """Base class of strategies that discover new classes.

    To plug in your own, implement :meth:`discover`. A strategy has settings only. A model folder stores the name and
    the settings of your strategy, and you pass the strategy to
    :meth:`OpenWorldRecognizer.load <opengcd.OpenWorldRecognizer.load>` again.
    """

    refits: bool = False
    """Whether classifier and rejection are refitted with the confirmed rows before a second round."""

    @abstractmethod
    def discover(
        self, labelled: Labelled, stream: Stream, rejection: Rejection, count: ClassCount, run: Run
    ) -> Discovery:
        """Group the rows of a stream; rows that look like a known class get its label.

        Parameters
        ----------
        labelled : Labelled
            The exemplars of the known classes, and the classifier fitted on them.
        stream : Stream
            The rows to group, and which of them were rejected.
        rejection : Rejection
            As it was fitted in this phase.
        count : ClassCount
            The number of classes, if it is given, and its upper limit.
        run : Run
            Seed of the phase, device, progress callback.

        Returns
        -------
        Discovery

        """

    @property
    def takes(self) -> str:
        """The rows it works best on: the whole ``"stream"``, or ``"rejected"`` rows only."""
        return "rejected"

    def check(self, rejection: Rejection) -> None:
        """Raise ``ValueError`` if the settings are invalid, or this rejection lacks what the strategy needs.

        Parameters
        ----------
        rejection : Rejection
            The rejection of the same preset; it need not be fitted.

        """

    def discover_again(
        self,
        labelled: Labelled,
        stream: Stream,
        rejection: Rejection,
        confirmed: Confirmed,
        count: ClassCount,
        run: Run,
    ) -> Discovery:
        """Discover again after a person has labelled some rows, which are then labelled rows and keep their label.

        Parameters
        ----------
        labelled, stream, rejection, run
            As in :meth:`discover`; the stream includes the rows with a confirmed label.
        confirmed : Confirmed
            The labels, and the function that refits classifier and rejection with them.
        count : ClassCount
            The number of classes, those of the confirmed labels included.

        Returns
        -------
        Discovery
            Of all rows of the stream, in the same order.

        """
        given, rest = np.flatnonzero(confirmed.given), np.flatnonzero(~confirmed.given)
        if not len(given):
            return self.discover(labelled, stream, rejection, count, run)
        labels = confirmed.labels[given]
        new = np.setdiff1d(labels, labelled.classes)
        known = with_rows(labelled, stream.X[given], labels, new)
        rejected = stream.rejected[rest]
        if self.refits:
            known, rejection = confirmed.refit(known)
            fresh = known.stream(stream.X[rest], rejected)
            if len(rest):
                rejection.observe(fresh.X, fresh.probabilities)
            if not stream.rejected.all():
                # Rows of a confirmed class were rejected while it was new; they must not start a new group.
                rejected = rejected & rejection.judge(fresh.X, fresh.probabilities).rejected
        found = self.discover(known, known.stream(stream.X[rest], rejected), rejection, count, run)
        return with_confirmed(found, rest, rejection.transform(stream.X), confirmed.labels, new)


def with_rows(labelled: Labelled, X: np.ndarray, y: np.ndarray, new: np.ndarray) -> Labelled:
    """Add rows with labels ``y``, which may be of ``new`` classes, to labelled rows."""
    classes, rows = np.concatenate([labelled.classes, new]), np.concatenate([labelled.X, X])
    statistics = labelled.statistics
    if statistics is not None:
        numbers = np.append(np.arange(len(labelled.classes)), np.full(len(new), -1))
        statistics = statistics.of_classes(numbers).merged(ClassStatistics.of(X, encode(y, classes), len(classes)))
    return replace(
        labelled,
        X=rows,
        codes=np.concatenate([labelled.codes, encode(y, classes)]),
        classes=classes,
        # A new class is expected to be as large as the others, even if few of its rows are confirmed so far.
        seen=np.concatenate([labelled.seen, np.full(len(new), labelled.seen.mean())]),
        kept=1.0 if labelled.kept == 1 else len(rows) / (int(labelled.seen.sum()) + len(y)),
        trained=None if labelled.trained is None else np.append(labelled.trained, np.zeros(len(y), dtype=bool)),
        found=None if labelled.found is None else np.append(labelled.found, np.ones(len(y), dtype=bool)),
        statistics=statistics,
    )
