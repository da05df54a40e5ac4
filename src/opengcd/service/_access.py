"""Who may do what: bearer tokens for programs, sessions in cookies for the page."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer

from opengcd.service import _models as api
from opengcd.service._state import Service
from opengcd.workspace import Grant, Workspace

COOKIE = "opengcd_session"
CSRF = "x-csrf-token"
REMEMBERED = 5.0
"""Seconds for which a secret that was good is not looked up again; a revoked one works no longer than that."""
MOST_REMEMBERED = 10_000
TRIES, MINUTE = 10, 60.0
"""Log-ins that may fail in a minute from one address."""

_bearer = HTTPBearer(auto_error=False, description="A token from `opengcd token`.")
_cookie = APIKeyCookie(name=COOKIE, auto_error=False, description="The session of the page, by POST /session.")
Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
Cookie = Annotated[str | None, Depends(_cookie)]


class Doorkeeper:
    """Knows who comes in; remembers for a moment whom it knows, so that most requests need no database."""

    def __init__(self, workspace: Workspace) -> None:
        self.access = workspace.access
        self._known: OrderedDict[tuple[str, str], tuple[float, Grant]] = OrderedDict()
        self._failed: OrderedDict[str, deque[float]] = OrderedDict()

    async def grant(self, kind: str, secret: str) -> Grant | None:
        """Return what a token or a session may do; None if it is not good."""
        key = kind, hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
        now = time.monotonic()
        if (known := self._known.get(key)) and known[0] > now:
            return known[1]
        look_up = self.access.by_token if kind == "token" else self.access.by_session
        found = await run_in_threadpool(look_up, secret)
        if found is not None:
            self._known[key] = now + REMEMBERED, found
            while len(self._known) > MOST_REMEMBERED:
                self._known.popitem(last=False)
        return found

    def forget(self) -> None:
        """Look everybody up again."""
        self._known.clear()

    def may_try(self, address: str) -> bool:
        """Return whether an address may try to log in."""
        failed = self._failed.get(address, deque())
        while failed and failed[0] < time.monotonic() - MINUTE:
            failed.popleft()
        return len(failed) < TRIES

    def note_failure(self, address: str) -> None:
        """Remember that a log-in failed."""
        self._failed.setdefault(address, deque(maxlen=TRIES)).append(time.monotonic())
        self._failed.move_to_end(address)
        while len(self._failed) > MOST_REMEMBERED:
            self._failed.popitem(last=False)


def csrf_of(session: str) -> str:
    """Return what the page must send along; another site can neither read nor guess it."""
    return hashlib.sha256(f"csrf {session}".encode()).hexdigest()


def needs(scope: str) -> Callable[..., object]:
    """Return the check that a request comes from someone with a scope."""

    async def check(request: Request, service: Service, bearer: Bearer, cookie: Cookie) -> None:
        if bearer is not None:
            grant = await service.doorkeeper.grant("token", bearer.credentials)
        elif cookie is not None:
            grant = await service.doorkeeper.grant("session", cookie)
        else:
            grant = None
        if grant is None:
            raise HTTPException(
                401,
                "Log in, or send a token: Authorization: Bearer TOKEN. `opengcd token DIR` makes one.",
                {"WWW-Authenticate": "Bearer"},
            )
        if bearer is None and cookie is not None and request.method not in ("GET", "HEAD"):
            sent = request.headers.get(CSRF, "")
            if not hmac.compare_digest(sent.encode(), csrf_of(cookie).encode()):
                raise HTTPException(403, "The header X-CSRF-Token is missing or wrong; load the page again.")
        if scope not in grant.scopes:
            raise HTTPException(403, "This token may read only; ask for one with the scope write.")
        request.state.grant = grant

    return check


Responses = dict[int | str, dict[str, Any]]
MALFORMED: Responses = {code: {"model": api.Problem} for code in (400, 413, 422, 503)}
"""What anybody may be told: an unreadable body or a strange host, too large a body, wrong content, an outage."""
REFUSED: Responses = MALFORMED | {code: {"model": api.Problem} for code in (401, 403)}


def guarded(scope: str, tag: str) -> APIRouter:
    """Return a router whose every route needs a scope."""
    return APIRouter(tags=[tag], dependencies=[Depends(needs(scope))], responses=REFUSED)


router = APIRouter(tags=["access"], responses=MALFORMED)


@router.post("/session", responses={401: {"model": api.Problem}, 429: {"model": api.Problem}})
def log_in(request: Request, response: Response, service: Service, told: api.LogIn) -> api.Session:
    """Begin a session by a token; the answer sets a cookie."""
    address = request.client.host if request.client else ""
    doorkeeper = service.doorkeeper
    if not doorkeeper.may_try(address):
        raise HTTPException(429, "Too many log-ins have failed; wait a minute.", {"Retry-After": "60"})
    found = doorkeeper.access.log_in(told.token, told.who)
    if found is None:
        doorkeeper.note_failure(address)
        raise HTTPException(401, "This token is not valid; `opengcd token DIR` makes one.")
    secret, grant = found
    response.set_cookie(
        COOKIE, secret, max_age=30 * 86400, httponly=True, samesite="strict", secure=request.url.scheme == "https"
    )
    return api.Session(who=grant.who, scopes=list(grant.scopes), csrf=csrf_of(secret))


@router.get("/session", responses=REFUSED, dependencies=[Depends(needs("read"))])
def session(request: Request, cookie: Cookie) -> api.Session:
    """Return who is logged in."""
    grant: Grant = request.state.grant
    return api.Session(who=grant.who, scopes=list(grant.scopes), csrf=csrf_of(cookie) if cookie else "")


@router.delete("/session", status_code=204, responses=REFUSED, dependencies=[Depends(needs("read"))])
def log_out(response: Response, service: Service, cookie: Cookie) -> None:
    """End the session."""
    if cookie is not None:
        service.doorkeeper.access.log_out(cookie)
        service.doorkeeper.forget()
    response.delete_cookie(COOKIE)
