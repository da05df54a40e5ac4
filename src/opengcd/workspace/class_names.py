"""The present names of classes that a person has renamed.

Models, training labels and predictions keep the name under which a class was learnt, here called its label. They are
never rewritten: a table maps labels to present names, and what reads labels applies it. So one row renames a class in
all versions at once, and an undo of that row undoes it in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select

from opengcd.workspace.log import Edit
from opengcd.workspace.schema import class_names, models


class Labels(NamedTuple):
    """The labels and present names of the classes of all versions."""

    names: dict[str, str]
    """The present names of classes that were renamed, by label."""
    taken: dict[str, str]
    """The label of every class of any version, by its present name."""

    @property
    def known(self) -> set[str]:
        """The labels of all classes of any version."""
        return set(self.taken.values())

    def label(self, name: str) -> str:
        """Return the label of a class; a class that no version knows gets one that no other class has.

        Parameters
        ----------
        name : str
            Its present name.

        Returns
        -------
        str

        """
        if name in self.taken:
            return self.taken[name]
        used = {*self.taken, *self.taken.values()}
        return next(one for one in (name, *(f"{name} ({n})" for n in range(2, len(used) + 3))) if one not in used)


def read(connection: Connection) -> dict[str, str]:
    """Return the present names of the classes that were renamed, by label."""
    return {row.label: row.name for row in connection.execute(select(class_names))}


def read_all(connection: Connection) -> Labels:
    """Return the labels and present names of the classes of all versions."""
    names = read(connection)
    labels = {label for classes in connection.scalars(select(models.c.classes)) for label in classes}
    return Labels(names, {names.get(label, label): label for label in sorted(labels)})


def write(edit: Edit, names: dict[str, str]) -> None:
    """Store the present names of classes, by label.

    Parameters
    ----------
    edit : Edit
    names : dict of str to str

    """
    connection = edit.connection
    edit.touch(class_names, names)
    for label, name in names.items():
        connection.execute(delete(class_names).where(class_names.c.label == label))
        if name != label:
            connection.execute(insert(class_names).values(label=label, name=name))


def present(names: dict[str, str], labels: Iterable[str]) -> list[str]:
    """Return the present names of labels."""
    return [names.get(label, label) for label in labels]
