"""Who may use the service of a workspace: tokens, and browsers that have logged in by one.

A secret is 256 random bits, so one pass of SHA-256 hides it; the database holds nothing that could be used to log in.
"""

from __future__ import annotations

import hashlib
import secrets
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, delete, func, insert, or_, select

from opengcd.workspace._database import Database
from opengcd.workspace._errors import MissingError, WorkspaceError
from opengcd.workspace._log import now
from opengcd.workspace._schema import metadata, sessions, tokens

SCOPES = {"read": ("read",), "write": ("read", "write")}
"""What a token of each scope may do."""
SESSION_DAYS = 30


class Token(NamedTuple):
    """A token, without its secret."""

    id: int
    name: str
    scope: str
    at: str
    expires: str | None


class Grant(NamedTuple):
    """What someone who has shown a secret may do."""

    token: int
    who: str
    scopes: tuple[str, ...]


class Access:
    """The tokens of a workspace."""

    def __init__(self, database: Database) -> None:
        self._database = _temporary_copy(database) if database.read_only else database

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def make(self, name: str, scope: str = "write", *, once_within: timedelta | None = None) -> str:
        """Return the secret of a new token, which is shown to nobody else; one for a single log-in soon expires."""
        if scope not in SCOPES:
            raise WorkspaceError(f"Unknown scope {scope!r}; choose from {', '.join(SCOPES)}.")
        if not name.strip():
            raise WorkspaceError("A token needs the name of who will use it.")
        secret = secrets.token_urlsafe(32)
        row: dict[str, Any] = {"hash": _hash(secret), "name": name.strip(), "scope": scope, "at": now()}
        row |= {"expires": once_within and _in(once_within), "once": once_within is not None}
        with self._database.writing() as connection:
            used = tokens.c.once & ~_valid() & tokens.c.id.not_in(select(sessions.c.token_id))
            connection.execute(delete(tokens).where(used))
            connection.execute(insert(tokens).values(row))
        return secret

    def tokens(self) -> list[Token]:
        """Return the tokens that can be used again and again, the oldest first."""
        with self._database.reading() as connection:
            query = select(tokens).where(~tokens.c.once).order_by(tokens.c.id)
            return [Token(row.id, row.name, row.scope, row.at, row.expires) for row in connection.execute(query)]

    def revoke(self, token: int) -> None:
        """Make a token useless, and log out everyone who came by it."""
        with self._database.writing() as connection:
            connection.execute(delete(sessions).where(sessions.c.token_id == token))
            if not connection.execute(delete(tokens).where(tokens.c.id == token)).rowcount:
                raise MissingError(f"There is no token {token}; `opengcd token DIR --list` shows those there are.")

    def by_token(self, secret: str) -> Grant | None:
        """Return what the bearer of a token may do; None if it is none, or good for one log-in only."""
        with self._database.reading() as connection:
            row = connection.execute(
                select(tokens).where(tokens.c.hash == _hash(secret), ~tokens.c.once, _valid())
            ).one_or_none()
        return None if row is None else Grant(row.id, row.name, SCOPES[row.scope])

    def log_in(self, secret: str, who: str | None = None) -> tuple[str, Grant] | None:
        """Begin a session by a token; return its secret, and what it may do."""
        with self._database.writing() as connection:
            connection.execute(delete(sessions).where(sessions.c.expires <= now()))
            row = connection.execute(select(tokens).where(tokens.c.hash == _hash(secret), _valid())).one_or_none()
            if row is None:
                return None
            if row.once:  # used up; the session goes on
                connection.execute(tokens.update().where(tokens.c.id == row.id).values(expires=now()))
            session = secrets.token_urlsafe(32)
            grant = Grant(row.id, (who or "").strip() or row.name, SCOPES[row.scope])
            connection.execute(
                insert(sessions).values(
                    hash=_hash(session), token_id=row.id, who=grant.who, expires=_in(timedelta(days=SESSION_DAYS))
                )
            )
        return session, grant

    def by_session(self, secret: str) -> Grant | None:
        """Return what a session may do; None if there is none."""
        query = select(sessions.c.token_id, sessions.c.who, tokens.c.scope).join(tokens)
        with self._database.reading() as connection:
            row = connection.execute(
                query.where(sessions.c.hash == _hash(secret), sessions.c.expires > now())
            ).one_or_none()
        return None if row is None else Grant(row.token_id, row.who, SCOPES[row.scope])

    def log_out(self, secret: str) -> None:
        """End a session."""
        with self._database.writing() as connection:
            connection.execute(delete(sessions).where(sessions.c.hash == _hash(secret)))

    def __len__(self) -> int:
        with self._database.reading() as connection:
            return connection.scalar(select(func.count()).select_from(tokens).where(~tokens.c.once)) or 0


def _temporary_copy(database: Database) -> Database:
    """Return a copy of the tokens, for a workspace that cannot be written to: log-ins last as long as it is open."""
    with database.reading() as connection:
        rows = [dict(row) for row in connection.execute(select(tokens)).mappings()]
    folder = tempfile.mkdtemp(prefix="opengcd-")
    copy = Database(f"sqlite:///{folder}/access.db", closed=lambda: shutil.rmtree(folder, ignore_errors=True))
    with copy.writing() as connection:
        metadata.create_all(connection, [tokens, sessions])
        if rows:
            connection.execute(insert(tokens), rows)
    return copy


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _in(time: timedelta) -> str:
    return (datetime.now(UTC) + time).isoformat(timespec="milliseconds")


def _valid() -> ColumnElement[bool]:
    return or_(tokens.c.expires.is_(None), tokens.c.expires > now())
