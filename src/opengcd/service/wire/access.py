"""Errors, and logging in."""

from __future__ import annotations

from pydantic import BaseModel, Field

from opengcd.service.wire.values import Model, Who


class Problem(BaseModel):
    """Why a request failed."""

    detail: str = Field(description="What happened and what to do, in words for a person to read.")


class ConflictingEdit(Model):
    """The edit by which somebody else changed what a request is about."""

    edit: int = Field(description="The number of the edit.")
    who: str = Field(description="Who made it.")
    verb: str = Field(description="Its verb, such as `name` or `move`.")


class Conflict(Problem):
    """Why a request is not possible in the present state of the workspace."""

    conflict: ConflictingEdit | None = Field(
        None, description="The edit of somebody else that is in the way; null if there is another reason."
    )


class LogIn(Model):
    """A token to sign in with, and optionally the name of the person."""

    token: str = Field(min_length=1, max_length=200, description="A token from `opengcd token`.")
    who: Who | None = Field(None, description="The name that the history shows before that of the token.")


class Session(Model):
    """Who is signed in, and what they may do."""

    who: str = Field(description="The name that the history shows.")
    scopes: list[str] = Field(description="What the token allows: `read`, or `read` and `write`.")
    csrf: str = Field(
        description="To be sent in the header `X-CSRF-Token` of every request other than GET that is authenticated by "
        "the cookie; empty if the request was authenticated by a token."
    )
