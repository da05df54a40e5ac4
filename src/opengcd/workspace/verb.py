"""The base class of the verbs of the review, and the kinds of their parameters."""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from functools import cache
from typing import Annotated, Any, ClassVar, NamedTuple, get_args, get_origin, get_type_hints

from sqlalchemy import Connection

from opengcd.workspace import stacks
from opengcd.workspace.conflicts import Concerns
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.log import Edit
from opengcd.workspace.subclusters import Subclusters


class Kind(Enum):
    """The meaning of a parameter of a verb; the service and the command line have a type for each kind."""

    GROUP = "the number of a group"
    TARGET = "the number of the group to move images to"
    ITEMS = "the numbers of images"
    SEEN = "the numbers of the images that the person has looked at"
    LABEL = "the name of a class"
    CLASS = "the name of a known class"
    GROUP_OR_LABEL = "the number of a group, or the name of a class or group"
    PARTS = "the number of parts"
    FLAG = "yes or no"
    PERSON = "the name of a person"
    TEXT = "a text"


GroupId = Annotated[int, Kind.GROUP]
TargetId = Annotated[int, Kind.TARGET]
ItemIds = Annotated[Sequence[int], Kind.ITEMS]
SeenIds = Annotated[Sequence[int], Kind.SEEN]
Label = Annotated[str, Kind.LABEL]
KnownClass = Annotated[str, Kind.CLASS]
GroupOrLabel = Annotated[int | str, Kind.GROUP_OR_LABEL]
Parts = Annotated[int, Kind.PARTS]
Flag = Annotated[bool, Kind.FLAG]
Person = Annotated[str, Kind.PERSON]
Text = Annotated[str, Kind.TEXT]


class Parameter(NamedTuple):
    """A parameter of a verb."""

    name: str
    kind: Kind
    default: Any
    """:data:`dataclasses.MISSING` where a value must be given; None where it may be left out."""


@cache  # each edit asks several times, and evaluating annotations is slow
def parameters(verb: type[Verb]) -> tuple[Parameter, ...]:
    """Return the parameters of a verb, except ``on``."""
    hints = get_type_hints(verb, include_extras=True)
    return tuple(Parameter(one.name, _kind(hints[one.name]), one.default) for one in fields(verb) if one.name != "on")


def summary(verb: type[Verb]) -> str:
    """Return the first paragraph of a verb's docstring, which commands and request models show."""
    return (inspect.getdoc(verb) or "").partition("\n\n")[0]


def descriptions(verb: type[Verb]) -> dict[str, str]:
    """Return the description of each parameter in a verb's docstring, which commands show."""
    found = re.findall(r"^(\w+) : .*\n((?:    .*\n?)+)", inspect.getdoc(verb) or "", re.MULTILINE)
    return {name: " ".join(text.split()).replace("``", "") for name, text in found}


def _kind(hint: Any) -> Kind:
    """Return the kind that an annotation names; it may be part of a union with None."""
    options = [hint] if get_origin(hint) is Annotated else get_args(hint)
    (kind,) = (option.__metadata__[0] for option in options if get_origin(option) is Annotated)
    return kind


@dataclass(frozen=True)
class Verb(ABC):
    """An action of a person on groups, which becomes one edit."""

    act: ClassVar[str]
    """Its name, in the history and in the API."""
    on: int | None = field(default=None, kw_only=True)
    """The last edit that the person has seen: if someone has changed the same groups or images since, it is refused.

    With None, this is not checked.
    """

    def __post_init__(self) -> None:
        if not all(self._given(Kind.ITEMS)):
            raise WorkspaceError("No image was chosen; give the numbers of one or more.")

    def concerns(self) -> Concerns:
        """Return the items and groups that the verb concerns, by the kinds of its parameters."""
        items = [item for chosen in self._given(Kind.ITEMS) for item in chosen]
        named = [target for target in self._given(Kind.GROUP_OR_LABEL) if isinstance(target, int)]
        targets = [*self._given(Kind.TARGET), *named]
        return Concerns(items, self._given(Kind.GROUP), targets, classes=self._given(Kind.CLASS))

    def with_copies(self, connection: Connection) -> Verb:
        """Return the same verb for the whole stacks of its items: near copies are named and moved together."""
        named = [one.name for one in parameters(type(self)) if one.kind is Kind.ITEMS]
        whole: dict[str, Any] = {name: stacks.with_copies(connection, getattr(self, name)) for name in named}
        return replace(self, **whole)

    def prepare(self, subclusters: Subclusters) -> Verb:
        """Compute what takes long, before the transaction; return the verb to apply."""
        return self

    @abstractmethod
    def apply(self, edit: Edit) -> int | None:
        """Make the change, and store the details for the history in ``edit.details``; return the resulting group."""

    def _given(self, kind: Kind) -> list[Any]:
        """Return the values of the parameters of a kind."""
        return [getattr(self, one.name) for one in parameters(type(self)) if one.kind is kind]
