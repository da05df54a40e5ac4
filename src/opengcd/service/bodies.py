"""Refuse JSON bodies that would be expensive to parse.

Parsing holds Python's global lock and so delays all other requests, even from a thread. Counting brackets and commas
bounds the number of values, and takes a hundredth of the time of parsing.
"""

from __future__ import annotations

import json
from typing import Any

from fastapi import HTTPException, Request
from pydantic_core import from_json

from opengcd.service.wire import MOST_ITEMS

FEW = 1000
"""Allowance for the lists, objects and fields of a request; labels may contain brackets and commas, too."""


def check_cost(body: bytes, values: int, lists: int = FEW) -> None:
    """Refuse JSON with more values or lists than a request may have, or with many objects."""
    objects = body.count(b"{") + body.count(b":")
    if body.count(b",") > values + FEW or body.count(b"[") > lists + FEW or objects > FEW:
        raise HTTPException(422, "The body has too many values or is nested too deeply; send less at a time.")


class BoundedRequest(Request):
    """A request whose JSON is refused if it would be expensive to parse."""

    async def json(self) -> Any:
        """Return the body, if it is JSON in UTF-8."""
        body = await self.body()
        check_cost(body, MOST_ITEMS)
        try:
            return from_json(body, allow_inf_nan=False)
        except ValueError as error:
            raise json.JSONDecodeError(str(error), "", 0) from None
