"""Count, mean and pooled covariance of labelled rows: what is remembered of a class beside its exemplars."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np


class ClassStatistics(NamedTuple):
    r"""Counts and means of classes, and the scatter within all of them together, in float64.

    .. math:: S = \sum_c \sum_{i \in c} (x_i - \mu_c) (x_i - \mu_c)^\top

    They need :math:`d` numbers for each class and :math:`d^2` in all. Statistics of two sets of rows give those of both
    together, and those of one without the other, up to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [5.0, 1.0], [5.0, 3.0]])
    >>> statistics = ClassStatistics.of(X, np.array([0, 0, 1, 1]), 2)
    >>> statistics.means.tolist(), statistics.scatter.tolist()
    ([[1.0, 0.0], [5.0, 2.0]], [[2.0, 0.0], [0.0, 2.0]])

    """

    counts: np.ndarray
    """(C,) Number of rows of each class."""
    means: np.ndarray
    """(C, d) Mean of each class; 0 where it has no row."""
    scatter: np.ndarray
    """(d, d) Sum over all rows of the outer product of a row's difference from the mean of its class with itself."""

    @classmethod
    def of(cls, X: np.ndarray, codes: np.ndarray, n_classes: int) -> Self:
        """Return the statistics of rows.

        Parameters
        ----------
        X : array of shape (n, d)
            Feature vectors.
        codes : int array of shape (n,)
            Their classes, numbered from 0.
        n_classes : int
            Number C of classes, some of which may have no row.

        Returns
        -------
        ClassStatistics

        """
        X = X.astype(np.float64)
        counts = np.bincount(codes, minlength=n_classes)
        means = np.zeros((n_classes, X.shape[1]))
        np.add.at(means, codes, X)
        means /= np.maximum(counts, 1)[:, None]
        rest = X - means[codes]
        return cls(counts, means, rest.T @ rest)

    def merged(self, other: ClassStatistics) -> Self:
        r"""Return the statistics of the rows of both; classes have the same numbers.

        The scatter of both grows by :math:`\sum_c \frac{n_c m_c}{n_c + m_c} \delta_c \delta_c^\top`, with
        :math:`\delta_c` the difference of the two means of a class and :math:`n_c, m_c` its counts.

        Parameters
        ----------
        other : ClassStatistics
            Of other rows.

        Returns
        -------
        ClassStatistics

        """
        counts = self.counts + other.counts
        share = other.counts / np.maximum(counts, 1)
        apart = other.means - self.means
        between = apart.T @ ((self.counts * share)[:, None] * apart)
        return type(self)(counts, self.means + share[:, None] * apart, self.scatter + other.scatter + between)

    def without(self, other: ClassStatistics) -> Self:
        """Return the statistics of the rest of the rows: the inverse of :meth:`merged`.

        Parameters
        ----------
        other : ClassStatistics
            Of rows that are among those of these statistics.

        Returns
        -------
        ClassStatistics

        """
        counts = self.counts - other.counts
        share = np.where(counts > 0, other.counts / np.maximum(counts, 1), 0.0)
        means = np.where(counts[:, None] > 0, self.means + share[:, None] * (self.means - other.means), 0.0)
        apart = other.means - means
        weight = counts * other.counts / np.maximum(self.counts, 1)
        # Of a class without rest, nothing is left in the scatter but what the removed rows had among themselves.
        return type(self)(counts, means, self.scatter - other.scatter - apart.T @ (weight[:, None] * apart))

    def of_classes(self, numbers: np.ndarray) -> Self:
        """Return the statistics with other class numbers, or of some classes only.

        The scatter is not known for each class: classes that are left out take with them a share of it in proportion to
        their rows.

        Parameters
        ----------
        numbers : int array of shape (K,)
            Present number of each class; −1 for a class without rows.

        Returns
        -------
        ClassStatistics
            Of K classes.

        """
        there = numbers >= 0
        counts, means = np.where(there, self.counts[numbers], 0), np.where(there[:, None], self.means[numbers], 0.0)
        chosen = type(self)(counts, means, self.scatter)
        return chosen._replace(scatter=self.scatter * (chosen.freedom / self.freedom))

    def covariance(self, shrinkage: float) -> np.ndarray:
        r"""Return the covariance within classes, shrunk towards a multiple of the identity.

        .. math:: \Sigma = (1-\gamma) \frac{S}{n - C} + \gamma \frac{\mathrm{tr} S}{d (n - C)} I

        Parameters
        ----------
        shrinkage : float
            :math:`\gamma`, above 0 and at most 1.

        Returns
        -------
        array of shape (d, d)
            Positive definite; the identity if no row differs from the mean of its class.

        """
        d = len(self.scatter)
        covariance = self.scatter / self.freedom
        level = np.trace(covariance) / d
        if level <= 0:
            return np.eye(d)
        shrunk: np.ndarray = (1 - shrinkage) * covariance + shrinkage * level * np.eye(d)
        return shrunk

    @property
    def freedom(self) -> int:
        """Number of rows less that of classes, at least 1: what the scatter is divided by."""
        return max(1, int(self.counts.sum()) - int((self.counts > 0).sum()))
