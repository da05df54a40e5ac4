"""Probabilities of labelled rows by classifiers that were fitted without them, or without their whole class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from opengcd._internal.class_statistics import ClassStatistics
from opengcd._internal.randomness import generator
from opengcd._internal.run import Run
from opengcd._internal.splits import assign_folds, renumber
from opengcd.classify.inference import fit_classifier, infer
from opengcd.classify.rows import Labelled

FOLDS = 5


class HeldOut(NamedTuple):
    """Rows and their probabilities."""

    rows: np.ndarray
    """(m,) Which labelled rows these are, in increasing order."""
    probabilities: np.ndarray
    """(m, C) One column per known class; 0 for a class that the classifier was fitted without."""


def hold_out_rows(labelled: Labelled, classifier: Any, run: Run) -> HeldOut:
    """Cross-validate: each row is judged by a classifier that was fitted without it.

    Parameters
    ----------
    labelled : Labelled
    classifier : str or estimator
        As for :func:`fit_classifier`.
    run : Run
        Seed, device and progress.

    Returns
    -------
    HeldOut
        Without rows that are the only one of their class.

    """
    fold = assign_folds(labelled.codes, lambda n: min(FOLDS, n) if n > 1 else 0, generator(run.seed))
    masks = [fold == number for number in range(FOLDS)]
    return _judge(labelled, classifier, run, [(out, ~out) for out in masks if out.any()])


def hold_out_classes(labelled: Labelled, classifier: Any, run: Run) -> HeldOut:
    """Judge each row by a classifier that was fitted without its class, as an item of a new class would be.

    Parameters
    ----------
    labelled : Labelled
    classifier : str or estimator
        As for :func:`fit_classifier`.
    run : Run
        Seed, device and progress.

    Returns
    -------
    HeldOut
        Without any row if fewer than four classes are known: two must stay known when others are hidden.

    """
    n_classes = len(labelled.classes)
    folds = np.array_split(generator(run.seed).permutation(n_classes), min(FOLDS, n_classes // 2))
    masks = [np.isin(labelled.codes, hidden) for hidden in folds] if n_classes >= 4 else []
    return _judge(labelled, classifier, run, [(out, ~out) for out in masks])


def _judge(labelled: Labelled, classifier: Any, run: Run, splits: Iterable[tuple[np.ndarray, np.ndarray]]) -> HeldOut:
    """Judge some rows by a classifier fitted on others, for each split."""
    splits = list(splits)
    n, n_classes = len(labelled.codes), len(labelled.classes)
    found, probabilities = np.zeros(n, dtype=bool), np.zeros((n, n_classes))
    for number, (out, fitting) in enumerate(splits):
        run.progress("judging held-out images", number, len(splits))
        X, codes = labelled.X[fitting], labelled.codes[fitting]
        known = np.unique(codes)
        codes = renumber(n_classes, known)[codes]
        statistics = None if labelled.statistics is None else ClassStatistics.of(X, codes, len(known))
        model = fit_classifier(classifier, X, codes, run.at(number).seed, run.device, statistics)
        probabilities[np.ix_(np.flatnonzero(out), known)] = infer(model, labelled.X[out]).probabilities
        found |= out
    run.progress("judging held-out images", len(splits), max(1, len(splits)))
    rows = np.flatnonzero(found)
    return HeldOut(rows, probabilities[rows])
