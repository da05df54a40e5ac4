"""Requests for edits: a model for each verb of the review, made from the verb's record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import reduce
from operator import or_
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, Field, create_model, model_validator

from opengcd.service import wire as api
from opengcd.workspace.verbs import VERBS, Parameter, Verb

TYPES: Mapping[Parameter, Any] = {
    Parameter.GROUP: api.Id,
    Parameter.ITEMS: api.Items,
    Parameter.LABEL: api.Label,
    Parameter.PARTS: Annotated[int, Field(ge=2, le=100)],
}
"""How each kind of parameter is checked; :class:`_Targeted` has the one that is left."""


class EditBase(api.Model):
    """What all requests for edits have."""

    on: api.EditId

    def verb(self) -> Verb:
        """Return the verb that was asked for, with its parameters."""
        record = VERBS[self.act]  # type: ignore[attr-defined]
        return record(**{field.name: self._value(field.name) for field in fields(record)})

    def _value(self, name: str) -> Any:
        return getattr(self, name)


class _Targeted(EditBase):
    """A request with a target in either ``group`` or ``label``, which is the parameter ``group`` of the verb."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["group"], "properties": {"group": {"type": "integer"}, "label": {"type": "null"}}},
                {"required": ["label"], "properties": {"label": {"type": "string"}, "group": {"type": "null"}}},
            ]
        }
    )

    @model_validator(mode="after")
    def _has_one_target(self) -> _Targeted:
        if (super()._value("group") is None) == (super()._value("label") is None):
            raise ValueError("Give either group or label.")
        return self

    def _value(self, name: str) -> Any:
        found = super()._value(name)
        return super()._value("label") if name == "group" and found is None else found


def _request_model(verb: type[Verb]) -> type[EditBase]:
    """Return the model of the requests for a verb."""
    hints = get_type_hints(verb, include_extras=True)
    given: dict[str, Any] = {"act": (Literal[verb.act], ...)}
    base = EditBase
    for field in fields(verb):
        if field.name == "on":
            continue
        if _kind(hints[field.name]) is Parameter.GROUP_OR_LABEL:
            base = _Targeted
            given |= {"group": (api.Id | None, None), "label": (api.Label | None, None)}
        else:
            given[field.name] = (_type(hints[field.name]), ... if field.default is MISSING else field.default)
    return create_model(verb.__name__, __base__=base, __doc__=verb.__doc__, **given)


def _kind(hint: Any) -> Parameter | None:
    return hint.__metadata__[0] if get_origin(hint) is Annotated else None


def _type(hint: Any) -> Any:
    """Return the type of a parameter with the limits of the API."""
    if (kind := _kind(hint)) is not None:
        return TYPES[kind]
    if get_origin(hint) in (Union, UnionType):
        return reduce(or_, map(_type, get_args(hint)))
    return hint


if TYPE_CHECKING:
    EditRequest = EditBase
else:
    EditRequest = Annotated[reduce(or_, map(_request_model, VERBS.values())), Field(discriminator="act")]
