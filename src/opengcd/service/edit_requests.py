"""Requests for edits: a model for each verb of the review, made from the verb's record."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, create_model, model_validator

from opengcd.service import wire as api
from opengcd.workspace.verb import Kind, Verb, parameters, summary
from opengcd.workspace.verbs import VERBS

TYPES: Mapping[Kind, Any] = {
    Kind.GROUP: api.Id,
    Kind.TARGET: api.Id,
    Kind.ITEMS: api.Items,
    Kind.SEEN: api.Seen,
    Kind.LABEL: api.Label,
    Kind.CLASS: api.Label,
    Kind.PARTS: Annotated[int, Field(ge=2, le=100)],
    Kind.FLAG: bool,
    Kind.PERSON: api.Person,
    Kind.TEXT: api.CommentText,
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


def _meanings(verb: type[Verb]) -> dict[str, str]:
    """Return how the docstring of a verb describes each of its parameters."""
    section = (inspect.getdoc(verb) or "").partition("Parameters\n----------\n")[2]
    found = re.findall(r"^(\S.*?) : .*\n((?: {4}.*\n?)+)", section, re.MULTILINE)
    return {name: " ".join(text.split()) for names, text in found for name in names.split(", ")}


def _request_model(verb: type[Verb]) -> type[EditBase]:
    """Return the model of the requests for a verb."""
    meanings = _meanings(verb)
    given: dict[str, Any] = {"act": (Annotated[Literal[verb.act], Field(description="The verb.")], ...)}
    base = EditBase
    for name, kind, default in parameters(verb):
        if kind is Kind.GROUP_OR_LABEL:
            base = _Targeted
            group = Field(None, description="Number of the group; null if `label` is given.")
            label = Field(None, description="Name of the class or group; null if `group` is given.")
            given |= {"group": (api.Id | None, group), "label": (api.Label | None, label)}
        else:
            optional = TYPES[kind] | None if default is None else TYPES[kind]
            field = Field(... if default is MISSING else default, description=meanings.get(name))
            given[name] = (optional, field)
    return create_model(verb.__name__, __base__=base, __doc__=summary(verb), **given)


def edit_request() -> Any:
    """Return the type of a request for any verb that there is now; ``act`` says which."""
    return Annotated[reduce(or_, map(_request_model, VERBS.values())), Field(discriminator="act")]
