"""Access to the service of a workspace: tokens, and sessions of browsers that have logged in by one.

A secret is 256 random bits, so one pass of SHA-256 hides it; the database holds nothing that could be used to log in.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import URL, ColumnElement, delete, func, insert, or_, select

from opengcd._internal.text import MISLEADING, same_look
from opengcd.workspace.database import Database
from opengcd.workspace.errors import MissingError, WorkspaceError
from opengcd.workspace.log import now
from opengcd.workspace.schema import metadata, sessions, tokens
from opengcd.workspace.settings import PRIVATE

SCOPES = {"read": ("read",), "write": ("read", "write")}
"""What a token of each scope may do."""
SESSION_DAYS = 30
LONGEST_NAME = 100


class Token(NamedTuple):
    """A token, without its secret."""

    id: int
    name: str
    scope: str
    at: str
    expires: str | None


class Grant(NamedTuple):
    """The rights of a person with a token or a session."""

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
        """Make a token.

        Parameters
        ----------
        name : str
            Of the person who will use it; the history shows it.
        scope : {"write", "read"}
            What the token allows.
        once_within : timedelta or None
            Makes a token for a single log-in within this time; None makes one that does not expire.

        Returns
        -------
        str
            The secret; the workspace stores only its hash.

        Raises
        ------
        WorkspaceError
            If the name or the scope cannot be used.

        """
        if scope not in SCOPES:
            raise WorkspaceError(f"Unknown scope {scope!r}; choose from {', '.join(SCOPES)}.")
        name = check_name(name)
        if not name:
            raise WorkspaceError("A token needs the name of the person who will use it; give one (--name).")
        secret = secrets.token_urlsafe(32)
        row: dict[str, Any] = {"hash": _hash(secret), "name": name, "scope": scope, "at": now()}
        row |= {"expires": once_within and _in(once_within), "once": once_within is not None}
        with self._database.writing() as connection:
            for other in connection.scalars(select(tokens.c.name).where(tokens.c.name != name)):
                if same_look(other) == same_look(name):
                    raise WorkspaceError(
                        f"There is already a token for {other!r}, which looks like {name!r}; give that name or "
                        "another one."
                    )
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
        """Revoke a token, and end all sessions that were begun with it.

        Parameters
        ----------
        token : int
            Its number.

        Raises
        ------
        MissingError
            If there is no such token.

        """
        with self._database.writing() as connection:
            connection.execute(delete(sessions).where(sessions.c.token_id == token))
            if not connection.execute(delete(tokens).where(tokens.c.id == token)).rowcount:
                raise MissingError(f"There is no token {token}; `opengcd token DIR --list` lists all tokens.")

    def by_token(self, secret: str) -> Grant | None:
        """Return what the bearer of a token may do.

        Parameters
        ----------
        secret : str
            Of the token.

        Returns
        -------
        Grant or None
            None if the token is not valid, or valid for one log-in only.

        """
        with self._database.reading() as connection:
            row = connection.execute(
                select(tokens).where(tokens.c.hash == _hash(secret), ~tokens.c.once, _valid())
            ).one_or_none()
        return None if row is None else Grant(row.id, row.name, SCOPES[row.scope])

    def log_in(self, secret: str, who: str | None = None) -> tuple[str, Grant] | None:
        """Begin a session by a token.

        Parameters
        ----------
        secret : str
            Of the token.
        who : str or None
            Shown in the history before the name of the token: "Ann at the desk (team)".

        Returns
        -------
        (str, Grant) or None
            The secret of the session, and what it may do; None if the token is not valid.

        """
        added = check_name(who or "")
        with self._database.reading() as connection:  # wrong tokens are refused without a write transaction
            if connection.scalar(select(tokens.c.id).where(tokens.c.hash == _hash(secret), _valid())) is None:
                return None
        with self._database.writing() as connection:
            connection.execute(delete(sessions).where(sessions.c.expires <= now()))
            row = connection.execute(select(tokens).where(tokens.c.hash == _hash(secret), _valid())).one_or_none()
            if row is None:
                return None
            if row.once:  # it is valid once; the session remains
                connection.execute(tokens.update().where(tokens.c.id == row.id).values(expires=now()))
            session = secrets.token_urlsafe(32)
            connection.execute(
                insert(sessions).values(
                    hash=_hash(session), token_id=row.id, who=added, expires=_in(timedelta(days=SESSION_DAYS))
                )
            )
        return session, Grant(row.id, _signature(added, row.name), SCOPES[row.scope])

    def by_session(self, secret: str) -> Grant | None:
        """Return what a session may do.

        Parameters
        ----------
        secret : str
            Of the session.

        Returns
        -------
        Grant or None
            None if there is no such session, or it has expired.

        """
        query = select(sessions.c.token_id, sessions.c.who, tokens.c.name, tokens.c.scope).join(tokens)
        with self._database.reading() as connection:
            row = connection.execute(
                query.where(sessions.c.hash == _hash(secret), sessions.c.expires > now())
            ).one_or_none()
        return None if row is None else Grant(row.token_id, _signature(row.who, row.name), SCOPES[row.scope])

    def log_out(self, secret: str) -> None:
        """End a session.

        Parameters
        ----------
        secret : str
            Of the session.

        """
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


def open_access(file: Path) -> Access:
    """Return tokens and sessions that belong to no workspace, in a database of their own.

    Parameters
    ----------
    file : Path
        The SQLite database; it is made if it does not exist.

    Returns
    -------
    Access

    """
    os.close(os.open(file, os.O_RDWR | os.O_CREAT, PRIVATE))
    database = Database(URL.create("sqlite", database=str(file)))
    with database.writing() as connection:
        metadata.create_all(connection, [tokens, sessions])
    return Access(database)


def check_name(name: str) -> str:
    """Return the name of a person with single spaces.

    Parameters
    ----------
    name : str
        It may be empty.

    Returns
    -------
    str

    Raises
    ------
    WorkspaceError
        If the name could be misleading in the history, or is too long.

    """
    name = " ".join(name.split())
    invisible = bool(name) and not same_look(name)
    if invisible or MISLEADING.search(name) or "(" in name or ")" in name or len(name) > LONGEST_NAME:
        raise WorkspaceError(
            f"{name[:LONGEST_NAME]!r} cannot be the name of a person here; give one (--name) without parentheses and "
            f"control characters, of at most {LONGEST_NAME} characters."
        )
    return name


def _signature(added: str, token: str) -> str:
    """Return the name that the history shows, which always contains the name of the token."""
    return f"{added} ({token})" if added and same_look(added) != same_look(token) else token


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _in(time: timedelta) -> str:
    return (datetime.now(UTC) + time).isoformat(timespec="milliseconds")


def _valid() -> ColumnElement[bool]:
    return or_(tokens.c.expires.is_(None), tokens.c.expires > now())
