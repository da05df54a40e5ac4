r"""Taxonomies: name an item by the deepest taxon that is sure, where its class is in doubt.

Classes are the leaves of a tree, such as species, which belong to genera, which belong to families. The probability of
a *taxon* is that of all its classes together:

.. math:: P(t \mid x) = \sum_{c \in t} p_c(x).

From the root, the walk goes to the child with the largest probability, again and again; the probabilities along it can
only fall. The answer is the last taxon of the walk whose probability exceeds a threshold :math:`\tau`. The walk itself
does not depend on :math:`\tau`, so a larger one gives a broader answer and never turns a right answer into a wrong one.
Hence :math:`\tau` can be chosen by conformal risk control (Angelopoulos et al. 2022, *Conformal Risk Control*, Eq. 4):
if :math:`w_i` is the probability of the first wrong taxon on the walk of calibration item i, :math:`\tau` is the
smallest number with

.. math:: \frac{\#\{i : w_i > \tau\} + 1}{n + 1} \le \alpha,

and at most a share :math:`\alpha` of new items that are drawn like the calibration items gets a wrong answer.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np

from opengcd._internal.delimited import read_cells

__all__ = ["NO_TAXONOMY", "Taxon", "Taxonomy", "TaxonomyError", "Walks", "risk_threshold", "walk"]

SEPARATOR = "/"
"""Between the taxa of a class whose name is a path, as in ``Corvidae/Cyanocitta/cristata``."""
ROOT, ENDED = -1, -2
"""Where a walk is before its first taxon and after its last one."""


class TaxonomyError(ValueError):
    """A table that does not describe a taxonomy."""


class Taxon(NamedTuple):
    """A node of a taxonomy."""

    name: str
    rank: str
    path: tuple[str, ...]
    """The names from the broadest taxon to this one."""
    is_class: bool
    """Whether it is a class itself, and not a group of classes."""


class Taxonomy:
    """The taxa above each class.

    Parameters
    ----------
    ranks : sequence of str
        Names of the ranks from the broadest one, such as ``["order", "family", "genus"]``, without that of the
        classes.
    lineages : mapping of str to sequence of str
        The taxon of each class at each rank; an empty name means that the class has none at this rank.
    class_rank : str
        The rank of the classes, such as ``"species"``.

    """

    def __init__(self, ranks: Sequence[str], lineages: Mapping[str, Sequence[str]], class_rank: str = "class") -> None:
        self.ranks, self.class_rank = tuple(ranks), class_rank
        if len({*self.ranks, class_rank}) <= len(self.ranks):
            raise TaxonomyError(f"The ranks must differ, but they are {', '.join([*self.ranks, class_rank])}.")
        self.lineages = {name: tuple(taxa) for name, taxa in lineages.items()}
        for name, taxa in self.lineages.items():
            if len(taxa) != len(self.ranks):
                raise TaxonomyError(f"{name} has {len(taxa)} taxa, but there are {len(self.ranks)} ranks.")

    @classmethod
    def read(cls, table: str, classes: Collection[str] = ()) -> Self:
        """Read a table in CSV.

        Parameters
        ----------
        table : str
            Its first line names the columns: the ranks, from the broadest to the classes (``family,genus,species``) or
            the other way round.
        classes : collection of str
            Classes that the table should name, to find out whether they are in its first or its last column. Otherwise
            it is the column with more different names.

        Returns
        -------
        Taxonomy

        Raises
        ------
        TaxonomyError
            If a line has another number of cells, a class has two lines, or a taxon is in two broader ones.

        """
        try:
            lines = [[cell.strip() for cell in line] for line in read_cells(table) if any(line)]
        except csv.Error as error:
            raise TaxonomyError(f"The taxonomy is not CSV: {error}.") from None
        if len(lines) < 2 or len(lines[0]) < 2:
            raise TaxonomyError(
                "A taxonomy needs a first line with the names of its columns, such as family,genus,species, and then a "
                "line for each class."
            )
        header, *rows = lines
        for number, row in enumerate(rows, 2):
            if len(row) != len(header):
                raise TaxonomyError(f"Line {number} has {len(row)} cells, but the first line has {len(header)}.")
        ends = [{row[place] for row in rows} for place in (0, -1)]
        first, last = ((len(names.intersection(classes)), len(names)) for names in ends)
        if first > last:
            header, rows = header[::-1], [row[::-1] for row in rows]
        lineages: dict[str, list[str]] = {}
        for number, (*taxa, name) in enumerate(rows, 2):
            if not name:
                raise TaxonomyError(f"Line {number} has no name in the column {header[-1]}.")
            if name in lineages:
                raise TaxonomyError(f"Line {number}: {name} already has a line.")
            lineages[name] = taxa
        _check_nested(list(lineages.values()))
        return cls(header[:-1], lineages, header[-1])

    def lineage(self, name: str) -> tuple[tuple[str, str], ...]:
        """Return the taxa of a class from the broadest one to itself, each as its rank and its name.

        Parameters
        ----------
        name : str
            A class. If the taxonomy does not know it, its name may be a path, such as
            ``Corvidae/Cyanocitta/cristata``; any other unknown class has no taxon above it.

        Returns
        -------
        tuple of (str, str)

        """
        if name in self.lineages:
            above = [(rank, taxon) for rank, taxon in zip(self.ranks, self.lineages[name], strict=True) if taxon]
            return (*above, (self.class_rank, name))
        *parents, own = (part.strip() for part in name.split(SEPARATOR))
        if not parents or not all((*parents, own)):
            return ((self.class_rank, name),)
        known = self.ranks if len(self.ranks) == len(parents) else [f"level {i}" for i in range(1, len(parents) + 1)]
        return (*zip(known, parents, strict=True), (self.class_rank, own))


NO_TAXONOMY = Taxonomy((), {})
"""Knows only classes whose names are paths."""


class Walks(NamedTuple):
    """The walk of each of n items from the broadest taxon to a class."""

    taxa: list[Taxon]
    """All taxa of the tree."""
    places: np.ndarray
    """(n, depth) The taxa of each walk, as places in ``taxa``; -1 after its end."""
    probabilities: np.ndarray
    """(n, depth) Their probabilities; 0 after the end."""

    def deepest(self, threshold: float | np.ndarray) -> list[tuple[Taxon, float] | None]:
        """Return the last taxon of each walk whose probability exceeds a threshold.

        Parameters
        ----------
        threshold : float or array of shape (n,)
            One for all items, or one for each.

        Returns
        -------
        list of (Taxon, float) or None
            The taxon and its probability; None where not even the broadest one is sure.

        """
        sure = (self.probabilities > np.reshape(threshold, (-1, 1))) & (self.places >= 0)
        return [
            (self.taxa[places[depth - 1]], float(p[depth - 1])) if depth else None
            for places, p, depth in zip(self.places, self.probabilities, sure.sum(1).tolist(), strict=True)
        ]

    def first_wrong(self, truth: Sequence[str], taxonomy: Taxonomy) -> np.ndarray:
        """Return the probability of the first taxon on each walk that is not one of the item's own.

        Parameters
        ----------
        truth : sequence of str
            The true class of each item; it may be a class that is not in the tree.
        taxonomy : Taxonomy
            The taxonomy of the tree, which also knows the true classes.

        Returns
        -------
        array of shape (n,)
            0 where the whole walk is right.

        """
        own = {name: _prefixes(taxonomy.lineage(name)) for name in set(truth)}
        right = {name: np.array([taxon.path in paths for taxon in self.taxa] + [True]) for name, paths in own.items()}
        wrong = np.zeros(len(truth))
        for row, name in enumerate(truth):
            off = np.flatnonzero(~right[name][self.places[row]])
            if len(off):
                wrong[row] = self.probabilities[row, off[0]]
        return wrong


def walk(taxonomy: Taxonomy, classes: Iterable[str], probabilities: np.ndarray, *, to_class: bool = True) -> Walks:
    """Walk down the tree for each item, always to the child with the largest probability.

    Parameters
    ----------
    taxonomy : Taxonomy
    classes : iterable of str
        The C classes.
    probabilities : array of shape (n, C)
        Their probabilities for each item.
    to_class : bool
        Whether the walk may end at a class; if not, it ends at the narrowest taxon above it. An item of a class that is
        not among ``classes`` cannot be right at a class.

    Returns
    -------
    Walks

    """
    taxa, children, members = _tree(taxonomy, list(classes), to_class)
    mass = probabilities @ members.T
    depth = max((len(taxon.path) for taxon in taxa), default=0)
    places, found = np.full((len(mass), depth), -1), np.zeros((len(mass), depth))
    here = np.full(len(mass), ROOT)
    for level in range(depth):
        for parent in np.unique(here).tolist():
            rows, below = np.flatnonzero(here == parent), children.get(parent, [])
            here[rows] = ENDED
            if below:
                best = np.array(below)[mass[rows[:, None], below].argmax(1)]
                places[rows, level], found[rows, level], here[rows] = best, mass[rows, best], best
    return Walks(taxa, places, found)


def risk_threshold(first_wrong: np.ndarray, error: float) -> float:
    """Return the threshold above which at most a share of answers is wrong (conformal risk control).

    Parameters
    ----------
    first_wrong : array of shape (n,)
        From :meth:`Walks.first_wrong`, for items that no classifier was fitted on.
    error : float
        The largest share of items with a wrong answer, between 0 and 1.

    Returns
    -------
    float
        1 if there are too few items to be sure of anything.

    """
    allowed = int(np.floor(error * (len(first_wrong) + 1) + 1e-9)) - 1
    if allowed < 0:
        return 1.0
    largest = np.sort(first_wrong)[::-1]
    return float(largest[allowed]) if allowed < len(largest) else 0.0


def _tree(
    taxonomy: Taxonomy, classes: list[str], to_class: bool
) -> tuple[list[Taxon], dict[int, list[int]], np.ndarray]:
    """Return all taxa, the children of each and of the root, and which classes belong to each taxon."""
    number: dict[tuple[str, ...], int] = {}
    taxa: list[Taxon] = []
    children: dict[int, list[int]] = {}
    members: list[tuple[int, int]] = []
    for column, name in enumerate(classes):
        line = taxonomy.lineage(name)
        parent = ROOT
        path: tuple[str, ...] = ()
        for depth, (rank, taxon) in enumerate(line, 1):
            if depth == len(line) and not to_class:
                break
            path = (*path, taxon)
            if path not in number:
                number[path] = len(taxa)
                taxa.append(Taxon(taxon, rank, path, depth == len(line)))
                children.setdefault(parent, []).append(number[path])
            parent = number[path]
            members.append((parent, column))
    belongs = np.zeros((len(taxa), len(classes)))
    for place, column in members:
        belongs[place, column] = 1.0
    return taxa, children, belongs


def _prefixes(line: tuple[tuple[str, str], ...]) -> set[tuple[str, ...]]:
    names = tuple(taxon for _, taxon in line)
    return {names[:depth] for depth in range(1, len(names) + 1)}


def _check_nested(rows: Iterable[Sequence[str]]) -> None:
    """Raise an error if a taxon lies in two taxa of a broader rank."""
    parents: dict[tuple[int, str], str] = {}
    for row in rows:
        above = ""
        for place, taxon in enumerate(row):
            if taxon and parents.setdefault((place, taxon), above) != above:
                first, second = (parent or "no broader taxon" for parent in (parents[place, taxon], above))
                raise TaxonomyError(f"{taxon} is in {first} on one line and in {second} on another.")
            above = taxon or above
