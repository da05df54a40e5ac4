"""What the records of all parts have in common: their base classes, and types of their fields."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, FailFast, Field, WithJsonSchema

from opengcd.workspace import check_label, check_name, comments, people

MOST_ITEMS = 200_000
"""Items in one edit."""

MOST_VECTORS = 10_000
"""Vectors in JSON; more are sent in numpy's format."""


def refuse_booleans(value: Any) -> Any:
    """Refuse true and false, which Python takes for 1 and 0."""
    if isinstance(value, bool):
        raise ValueError("not a number")
    return value


Id = Annotated[int, Field(ge=1, le=2**31 - 1), BeforeValidator(refuse_booleans)]
"""The number of an item, a group, a version or a job."""

EditId = Annotated[
    int,
    Field(
        ge=0,
        le=2**31 - 1,
        description="The last edit that you have seen, from the field `edit` of an answer. The request is refused if "
        "someone has changed since then what it is about.",
    ),
    BeforeValidator(refuse_booleans),
]

_HIDDEN = r"\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
"""Characters that no name may hold, as the document says it; see :data:`opengcd._internal.text.MISLEADING`."""

_VISIBLE = {"pattern": rf"^[^{_HIDDEN}]*[^{_HIDDEN}\s][^{_HIDDEN}]*$"}

Label = Annotated[
    str,
    Field(
        min_length=1,
        max_length=200,
        description="The name of a class.",
        json_schema_extra=_VISIBLE,
    ),
    AfterValidator(check_label),
]

Person = Annotated[
    str,
    Field(min_length=1, max_length=people.LONGEST, description="The name of a person.", json_schema_extra=_VISIBLE),
    AfterValidator(people.check_person),
]

CommentText = Annotated[
    str,
    Field(min_length=1, max_length=comments.LONGEST, description="One line.", json_schema_extra=_VISIBLE),
    AfterValidator(comments.check_comment),
]

Who = Annotated[
    str,
    Field(
        max_length=100,
        description="The name that the history shows before that of the token.",
        json_schema_extra={"pattern": rf"^[^{_HIDDEN}()]*$"},
    ),
    AfterValidator(check_name),
]

LARGEST_NUMBER = 1e15
"""In a vector: the squares of a million of these have a sum that 32 bits can hold."""

Number = Annotated[float, Field(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER, allow_inf_nan=False)]

Items = Annotated[list[Id], Field(min_length=1, max_length=MOST_ITEMS), FailFast()]

Seen = Annotated[list[Id], Field(max_length=MOST_ITEMS)]


def pair(first: str, second: str) -> WithJsonSchema:
    """Return how the document describes a pair.

    ``prefixItems`` would say it, but schemathesis 4.32 cannot read it in answers. So the types of the two are in an
    extension too, from which the types of the page are made.
    """
    kinds = [{"type": kind} for kind in (first, second)]
    items = {"anyOf": kinds} if first != second else kinds[0]
    return WithJsonSchema({"type": "array", "items": items, "minItems": 2, "maxItems": 2, "x-prefixItems": kinds})


Top = list[Annotated[tuple[str, float], pair("string", "number")]]
"""Pairs of a class and its probability."""

ABOUT_TOP = "The most likely known classes, each with its probability, the most likely first."

ABOUT_UNKNOWN = "The probability that the image is of no known class."

ABOUT_EDIT = "The last edit that this shows. Send it as `on` with what you do next."

ABOUT_AT = "When, in UTC, as in 2026-05-01T06:30:12+00:00."

ABOUT_STEPS = "Seconds that each step took, by its name."


class Model(BaseModel):
    """A record of the API. Unknown fields are refused, so that a misspelt one is not passed over.

    What the workspace returns is converted by ``model_validate``, which reads the attributes of the same names.
    """

    model_config = ConfigDict(extra="forbid", from_attributes=True)


class Nothing(Model):
    """An empty object."""


class OnEdit(Model):
    """A request that names the last edit that the person has seen."""

    on: EditId
