"""The paper's metrics and their parts, on labels of any type.

The two main metrics are harmonic means, so that neither part can make up for the other:

- HNA, harmonic normalised accuracy, measures recognition: of AKS, the share of items of known classes with the right
  label, and AUS, the share of items of unknown classes that were rejected (:func:`hna`).
- HCA, harmonic clustering accuracy, measures discovery: of AKS, and ANS, the share of items of new classes whose group
  is the one matched to their class (:func:`hca`).

``known`` are the classes that the recogniser has learnt; an item with any other true label counts as unknown. A share
of no items (if none is known, or none is unknown) is NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from opengcd import UNKNOWN
from opengcd._internal.validation import UNKNOWN_STR, check_features

__all__ = [
    "Parts",
    "accuracy",
    "auroc",
    "best_hna",
    "clustering_accuracy",
    "final_average_accuracy",
    "forgetting",
    "harmonic_mean",
    "hca",
    "hna",
    "hna_precision",
    "parts",
    "silhouette",
]


class Parts(NamedTuple):
    """The three shares that HNA and HCA are made of."""

    aks: float
    """Accuracy of known classes: the share of known items whose label is right."""
    aus: float
    """Accuracy of unknown classes: the share of unknown items that were rejected."""
    ans: float
    """Accuracy of new classes: the share of unknown items whose group is the one matched to their class."""


def accuracy(y_true: Any, y_pred: Any) -> float:
    r"""Share of items whose label is right (Eq. 6).

    .. math:: \mathrm{Acc} = \frac1M \sum_{i=1}^M 1\{y_i = \hat y_i\}

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels, integers or strings.
    y_pred : array-like of shape (n,)
        Predicted labels.

    Returns
    -------
    float

    """
    y_true, y_pred = _pair(y_true, y_pred)
    return _mean(y_true == y_pred)


def clustering_accuracy(y_true: Any, clusters: Any) -> float:
    r"""Share of right items under the best one-to-one matching of clusters to classes (Eq. 4).

    .. math:: \mathrm{ACC} = \max_g \frac1L \sum_{i=1}^L 1\{y_i = g(\hat y_i)\}

    The Hungarian algorithm finds :math:`g`; items of clusters left without a class are errors.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels, integers or strings.
    clusters : array-like of shape (n,)
        The cluster of each item.

    Returns
    -------
    float

    """
    y_true, clusters = _pair(y_true, clusters)
    return _matched(y_true, clusters) / len(y_true) if len(y_true) else float("nan")


def parts(y_true: Any, y_pred: Any, known: Iterable[Any], unknown: Any = -1) -> Parts:
    """AKS, AUS and ANS of predictions after rejection or after discovery.

    For ANS every predicted label outside ``known`` (``unknown`` too) names a novel group; groups are
    matched to novel classes, and novel items taken for known ones are errors.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels, integers or strings.
    y_pred : array-like of shape (n,)
        Predicted labels.
    known : iterable
        The known classes; a true label outside them counts as unknown.
    unknown : int or str
        The label of rejected items; with string labels, the default means ``"unknown"``.

    Returns
    -------
    Parts

    """
    y_true, y_pred = _pair(y_true, y_pred)
    known = list(known)
    is_known = _is_known(y_true, known)
    novel = ~is_known
    grouped = novel & ~_is_known(y_pred, known)
    return Parts(
        aks=_mean((y_true == y_pred)[is_known]),
        aus=_mean(y_pred[novel] == _unknown(y_pred, unknown)),
        ans=_matched(y_true[grouped], y_pred[grouped]) / int(novel.sum()) if novel.any() else float("nan"),
    )


def hna(y_true: Any, y_pred: Any, known: Iterable[Any], unknown: Any = -1) -> float:
    r"""Harmonic normalised accuracy of open-set recognition (Eq. 7).

    .. math:: \mathrm{HNA} = \frac{2}{1/\mathrm{AKS} + 1/\mathrm{AUS}}, \quad 0 \text{ if a part is } 0

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels, integers or strings.
    y_pred : array-like of shape (n,)
        Predicted labels.
    known : iterable
        The known classes; a true label outside them counts as unknown.
    unknown : int or str
        The label of rejected items; with string labels, the default means ``"unknown"``.

    Returns
    -------
    float

    """
    p = parts(y_true, y_pred, known, unknown)
    return harmonic_mean(p.aks, p.aus)


def best_hna(y_true: Any, closed: Any, unknown_score: Any, known: Iterable[Any]) -> float:
    """Largest HNA that one threshold of the unknown score could have reached, judged in hindsight.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels, integers or strings.
    closed : array-like of shape (n,)
        The known class that each item gets if it is not rejected.
    unknown_score : array-like of shape (n,)
        Items with a score above the threshold are rejected.
    known : iterable
        The known classes; a true label outside them counts as unknown.

    Returns
    -------
    float
        NaN if there is no known or no unknown item.

    Examples
    --------
    >>> best_hna([0, 1, 2, 2], [0, 1, 0, 1], [0.1, 0.5, 0.4, 0.8], known=[0, 1])  # reject what is above 0.5
    0.6666666666666666

    """
    y_true, closed = _pair(y_true, closed)
    score = _pair(y_true, unknown_score)[1]
    is_known = _is_known(y_true, known)
    if is_known.all() or not is_known.any():
        return float("nan")
    order = np.argsort(score)
    # The threshold lies below all scores, or at one of them; equal scores are on the same side of it.
    last = np.append(np.flatnonzero(np.diff(score[order])), len(score) - 1)
    right, novel = (np.append(0, np.cumsum(mask[order])[last]) for mask in (is_known & (y_true == closed), ~is_known))
    return float(harmonic_means(right / is_known.sum(), 1 - novel / novel[-1]).max())


def hca(y_true: Any, y_pred: Any, known: Iterable[Any]) -> float:
    r"""Harmonic clustering accuracy of category discovery (Eq. 8).

    .. math:: \mathrm{HCA} = \frac{2}{1/\mathrm{AKS} + 1/\mathrm{ANS}}, \quad 0 \text{ if a part is } 0

    Unlike :func:`clustering_accuracy` it never lets a known class be matched to a group (Appendix B).

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels, integers or strings.
    y_pred : array-like of shape (n,)
        Labels after discovery: known classes, and any other value for the novel groups.
    known : iterable
        The known classes; a true label outside them counts as unknown.

    Returns
    -------
    float

    """
    p = parts(y_true, y_pred, known)
    return harmonic_mean(p.aks, p.ans)


def hna_precision(y_true: Any, y_pred: Any, known: Iterable[Any], unknown: Any = -1) -> float:
    """The number that the authors' code printed as HNA: the harmonic mean of two *precisions*.

    Their call swaps truth and prediction, so the subsets are formed from the predictions: the right share
    of accepted items, and the truly unknown share of rejected ones (each 0 where there is no such item).
    Only for comparison with the paper's tables.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels, integers or strings.
    y_pred : array-like of shape (n,)
        Predicted labels.
    known : iterable
        The known classes; a true label outside them counts as unknown.
    unknown : int or str
        The label of rejected items; with string labels, the default means ``"unknown"``.

    Returns
    -------
    float

    """
    y_true, y_pred = _pair(y_true, y_pred)
    is_known = _is_known(y_true, known)
    rejected = y_pred == _unknown(y_pred, unknown)
    right_of_accepted = (y_true == y_pred)[~rejected].sum() / max(1, (~rejected).sum())
    unknown_of_rejected = (~is_known)[rejected].sum() / max(1, rejected.sum())
    return harmonic_mean(float(right_of_accepted), float(unknown_of_rejected))


def auroc(y_true: Any, unknown_score: Any, known: Iterable[Any]) -> float:
    """Area under the ROC curve: how often an unknown item scores higher than a known one (ties count half).

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True labels, integers or strings.
    unknown_score : array-like of shape (n,)
        The larger, the more likely an item is of no known class.
    known : iterable
        The known classes; a true label outside them counts as unknown.

    Returns
    -------
    float

    """
    from sklearn.metrics import roc_auc_score

    y_true, score = _pair(y_true, unknown_score)
    is_unknown = ~_is_known(y_true, known)
    if is_unknown.all() or not is_unknown.any():
        return float("nan")
    return float(roc_auc_score(is_unknown, score))


def forgetting(history: Sequence[Sequence[float]]) -> float:
    r"""Mean drop of each earlier test set from its best accuracy to its last (Chaudhry et al. 2018).

    .. math:: F_T = \frac1{T-1} \sum_{i<T} \Big( \max_{i \le t<T} a_{t,i} - a_{T,i} \Big)

    It is 0 after a single phase.

    Parameters
    ----------
    history : sequence of sequences of float
        ``history[t][i]`` is the accuracy on test set ``i`` after phase ``t``; row ``t`` has ``t + 1`` entries.

    Returns
    -------
    float

    """
    rows = _history(history)
    last = len(rows) - 1
    drops = [max(rows[t][i] for t in range(i, last)) - rows[last][i] for i in range(last)]
    return float(np.mean(drops)) if drops else 0.0


def final_average_accuracy(history: Sequence[Sequence[float]]) -> float:
    r"""Mean accuracy over all test sets after the last phase: :math:`\frac1T \sum_i a_{T,i}`.

    Parameters
    ----------
    history : sequence of sequences of float
        As for :func:`forgetting`; only the last row counts.

    Returns
    -------
    float

    """
    return float(np.mean(_history(history)[-1]))


def silhouette(X: Any, labels: Any, *, device: str = "auto") -> float:
    r"""Mean silhouette coefficient (Eq. 5, read as a mean; see ``docs/explanation/method.md``).

    .. math:: \mathrm{SC} = \frac1n \sum_i \frac{b_i - a_i}{\max(a_i, b_i)}

    with :math:`a_i` the mean distance to the rest of the own cluster and :math:`b_i` the smallest mean distance to
    another cluster. Exact; distances are formed in blocks, so memory stays bounded whatever the number of rows.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows.
    labels : array-like of shape (n,)
        The cluster of each row; between 2 and n - 1 clusters.
    device : str
        ``"auto"``, ``"cpu"`` or ``"cuda"``.

    Returns
    -------
    float

    """
    from opengcd._internal import kernels

    X = check_features(X, min_rows=2)
    labels = _as_labels(labels, "labels")
    if len(labels) != len(X):
        raise ValueError(f"labels has {len(labels)} entries for {len(X)} rows.")
    clusters, codes = np.unique(labels, return_inverse=True)
    if not 2 <= len(clusters) <= len(X) - 1:
        raise ValueError(f"The silhouette needs between 2 and {len(X) - 1} clusters, but labels has {len(clusters)}.")
    return float(kernels.silhouette_values(X, codes, device=device).mean())


def harmonic_mean(a: float, b: float) -> float:
    """Return 2ab / (a + b); NaN if a or b is NaN, else 0 if a or b is 0.

    Parameters
    ----------
    a, b : float
        Shares, from 0 to 1.

    Returns
    -------
    float

    """
    total = a + b
    return 0.0 if total == 0 else 2 * a * b / total


def harmonic_means(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return :func:`harmonic_mean` of each pair of shares; both arrays hold numbers from 0 to 1."""
    total = a + b
    means: np.ndarray = np.where(total > 0, 2 * a * b / np.where(total > 0, total, 1), 0)
    return means


def contingency(y_true: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Return the number of items of each cluster (row) and class (column), both in sorted order."""
    classes, rows = np.unique(y_true, return_inverse=True)
    groups, columns = np.unique(clusters, return_inverse=True)
    counts = np.zeros((len(groups), len(classes)), dtype=np.int64)
    np.add.at(counts, (columns, rows), 1)
    return counts


def _matched(y_true: np.ndarray, clusters: np.ndarray) -> int:
    """Count the items that the best one-to-one matching of clusters to classes gets right."""
    if not len(y_true):
        return 0
    counts = contingency(y_true, clusters)
    return int(counts[linear_sum_assignment(counts, maximize=True)].sum())


def _is_known(labels: np.ndarray, known: Iterable[Any]) -> np.ndarray:
    classes = _as_labels(list(known), "known")
    if len(classes) and (classes.dtype.kind in "UO") != (labels.dtype.kind in "UO"):
        raise ValueError(
            f"Labels of type {labels.dtype} cannot be compared with known classes of type {classes.dtype}."
        )
    return np.isin(labels, classes)


def _unknown(labels: np.ndarray, unknown: Any) -> Any:
    """The label of rejected items: beside strings the default is "unknown", as the recogniser has it."""
    return UNKNOWN_STR if labels.dtype.kind in "UO" and unknown == UNKNOWN else unknown


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _as_labels(values: Any, name: str) -> np.ndarray:
    values = np.asarray(values)
    if values.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, but has shape {values.shape}.")
    return values


def _pair(y_true: Any, y_pred: Any) -> tuple[np.ndarray, np.ndarray]:
    y_true, y_pred = _as_labels(y_true, "y_true"), _as_labels(y_pred, "y_pred")
    if len(y_true) != len(y_pred):
        raise ValueError(f"The two label arrays have different lengths: {len(y_true)} and {len(y_pred)}.")
    return y_true, y_pred


def _history(history: Sequence[Sequence[float]]) -> Sequence[Sequence[float]]:
    if not len(history) or any(len(row) < t + 1 for t, row in enumerate(history)):
        raise ValueError("history must have one row per phase; row t needs the accuracies on test sets 0..t.")
    return history
