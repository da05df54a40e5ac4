"""When two names of classes are the same: case, spaces, hyphens and underscores do not count.

The rule holds wherever a person gives a name: on the page, in the HTTP API, on the command line, in review folders and
in Python. A name that exists already in another spelling means the class or group that has it, and its spelling stays.
A new name is stored as it was typed, without spaces around it.

A workspace may hold two spellings of one name, from earlier versions of OpenGCD or from two folders of labelled images.
Both stay as they are, and a name that is written exactly as one of them means that one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from opengcd._internal.text import same_look

_SEPARATORS = re.compile(r"[\s_\-\u2010-\u2015\u2212]+")


def key(name: str) -> str:
    """Return what is compared of a name: equal for two spellings of it.

    Parameters
    ----------
    name : str

    Returns
    -------
    str
        Without case, spaces, hyphens, underscores and invisible characters. A name of nothing else is its own key.

    Examples
    --------
    >>> key("Blue_Jay") == key("blue jay") == key("blue-jay") == key("BlueJay")
    True

    """
    looks = same_look(name)
    return _SEPARATORS.sub("", looks) or looks


def existing(name: str, names: Iterable[str]) -> str | None:
    """Return the name that another one is a spelling of: itself if it is among them, else the first with its key.

    Parameters
    ----------
    name : str
    names : iterable of str
        The names that exist.

    Returns
    -------
    str or None
        None if the name is new.

    Examples
    --------
    >>> existing("blue jay", ["heron", "Blue_Jay"])
    'Blue_Jay'

    """
    wanted, found = key(name), None
    for one in names:
        if one == name:
            return one
        if found is None and key(one) == wanted:
            found = one
    return found


def same_names(names: Iterable[str]) -> list[list[str]]:
    """Return the names that exist in more than one spelling, together.

    Parameters
    ----------
    names : iterable of str

    Returns
    -------
    list of list of str

    """
    found: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        found.setdefault(key(name), []).append(name)
    return [spellings for spellings in found.values() if len(spellings) > 1]
