"""Authentication and authorisation: bearer tokens for programs, session cookies for the page."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, ClassVar

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.routing import APIRoute
from fastapi.security import APIKeyCookie, HTTPBearer

from opengcd.service import wire as api
from opengcd.service.bodies import BoundedRequest
from opengcd.service.state import Service
from opengcd.workspace import Grant
from opengcd.workspace.tokens import Access

COOKIE = "opengcd_session"
CSRF = "x-csrf-token"
REMEMBERED = 3.0
"""Seconds for which a valid secret is cached."""
POLL_SECONDS = 1.5
"""Seconds between checks of a listener's token; with the cache, a revoked token works for five seconds at most."""
MOST_REMEMBERED = 10_000
TRIES, MINUTE = 10, 60.0
"""Failed attempts to sign in per minute from one address."""

_bearer = HTTPBearer(auto_error=False, description="A token from `opengcd token`.")
_cookie = APIKeyCookie(name=COOKIE, auto_error=False, description="The session of the page, begun by POST /session.")
Cookie = Annotated[str | None, Depends(_cookie)]


class Authenticator:
    """Authenticate tokens and sessions; valid ones are cached for seconds, so that most requests need no database."""

    def __init__(self, access: Access, advice: str = "`opengcd token DIR` makes a token.") -> None:
        self.access = access
        self.advice = advice
        """How to get a token."""
        self._known: OrderedDict[tuple[str, str], tuple[float, Grant]] = OrderedDict()
        self._failed: OrderedDict[str, deque[float]] = OrderedDict()

    async def grant(self, kind: str, secret: str) -> Grant | None:
        """Return what a token or a session may do; None if it is unknown, expired or revoked."""
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
        """Clear the cache."""
        self._known.clear()

    def may_try(self, address: str) -> bool:
        """Return whether an address may try to sign in."""
        failed = self._failed.get(address, deque())
        while failed and failed[0] < time.monotonic() - MINUTE:
            failed.popleft()
        return len(failed) < TRIES

    def note_failure(self, address: str) -> None:
        """Remember that an attempt to sign in failed."""
        self._failed.setdefault(address, deque(maxlen=TRIES)).append(time.monotonic())
        self._failed.move_to_end(address)
        while len(self._failed) > MOST_REMEMBERED:
            self._failed.popitem(last=False)


def csrf_of(session: str) -> str:
    """Return the CSRF token of a session, which another site can neither read nor guess."""
    return hashlib.sha256(f"csrf {session}".encode()).hexdigest()


def shown(request: Request) -> tuple[str, str] | None:
    """Return the kind (token or session) and the secret that a request sends."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return "token", token.strip()
    cookie = request.cookies.get(COOKIE)
    return None if cookie is None else ("session", cookie)


async def admit(request: Request, scope: str) -> Grant:
    """Return what a request may do; refuse it if it is not authenticated or lacks the scope."""
    secret = shown(request)
    grant = secret and await request.app.state.service.authenticator.grant(*secret)
    if secret is None or grant is None:
        raise HTTPException(
            401,
            "Sign in, or send a token in the header Authorization: Bearer TOKEN. "
            + request.app.state.service.authenticator.advice,
            {"WWW-Authenticate": "Bearer"},
        )
    if secret[0] == "session" and request.method not in ("GET", "HEAD"):
        sent = request.headers.get(CSRF, "")
        if not hmac.compare_digest(sent.encode(), csrf_of(secret[1]).encode()):
            raise HTTPException(403, "The header X-CSRF-Token is not that of this session. Load the page again.")
    if scope not in grant.scopes:
        raise HTTPException(403, "This token may only read. Ask for a token with the scope write.")
    return grant


class _Route(APIRoute):
    """A route that authenticates before the body is read; dependencies would run after that."""

    needed: ClassVar[str | None] = None
    """The scope that is required."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of a request."""
        handle = super().get_route_handler()

        async def admitted(request: Request) -> Response:
            if self.needed is not None:
                request.state.grant = await admit(request, self.needed)
            return await handle(BoundedRequest(request.scope, request.receive))

        return admitted


class _Reading(_Route):
    needed = "read"


class _Writing(_Route):
    needed = "write"


Responses = dict[int | str, dict[str, Any]]
ERRORS = {
    400: "The server does not take requests for this host name, or the body cannot be read.",
    401: "No token or session was sent, or it is unknown, expired or revoked.",
    403: "The token or the workspace allows reading only, or the header `X-CSRF-Token` is not that of the session.",
    404: "There is nothing with this number or at this path yet.",
    409: "This is not possible in the present state, perhaps because somebody else has changed it.",
    413: "The body, or the images in it, are too large; send less at a time.",
    415: "The content type of the body is not supported.",
    422: "A parameter or the body is not as described here; `detail` says what is wrong.",
    429: "Too many attempts to sign in have failed; wait a minute.",
    503: "The database or the disk cannot be used, or there are too many requests. Try again later: the header "
    "`Retry-After` says after how many seconds.",
}
"""When each HTTP status of an error is answered."""


def problems(*codes: int) -> Responses:
    """Return errors as the OpenAPI document describes them."""
    return {
        code: {"model": api.Conflict if code == 409 else api.Problem, "description": ERRORS[code]} for code in codes
    }


MISSING = problems(404)
MALFORMED = problems(400, 413, 422, 503)
"""Errors that need no authentication."""
REFUSED = MALFORMED | problems(401, 403, 409)
"""All errors: also not authenticated, not allowed, and conflicts with the present state."""


def guarded(scope: str, tag: str) -> APIRouter:
    """Return a router all of whose routes require a scope."""
    described = [Depends(_bearer), Depends(_cookie)]  # for the OpenAPI document only; they refuse nobody
    route = _Writing if scope == "write" else _Reading
    return APIRouter(tags=[tag], dependencies=described, responses=REFUSED, route_class=route)


router = APIRouter(tags=["access"], responses=MALFORMED, route_class=_Route)
reading = guarded("read", "access")


@router.post("/session", summary="Sign in", response_description="The session.", responses=problems(401, 429))
def log_in(request: Request, response: Response, service: Service, told: api.LogIn) -> api.Session:
    """Begin a session with a token: the answer sets a cookie. A token that works is never refused."""
    address = request.client.host if request.client else ""
    authenticator = service.authenticator
    found = authenticator.access.log_in(told.token, told.who)
    if found is None:
        if not authenticator.may_try(address):
            wait = "Too many attempts to sign in have failed; wait a minute and try again."
            raise HTTPException(429, wait, {"Retry-After": "60"})
        authenticator.note_failure(address)
        raise HTTPException(401, f"This token is unknown, expired or revoked. {authenticator.advice}")
    secret, grant = found
    response.set_cookie(
        COOKIE, secret, max_age=30 * 86400, httponly=True, samesite="strict", secure=request.url.scheme == "https"
    )
    return api.Session(who=grant.who, scopes=list(grant.scopes), csrf=csrf_of(secret))


@reading.get("/session", summary="Show who is signed in", response_description="The session.")
def session(request: Request, cookie: Cookie) -> api.Session:
    """Return who is signed in, and what they may do."""
    grant: Grant = request.state.grant
    return api.Session(who=grant.who, scopes=list(grant.scopes), csrf=csrf_of(cookie) if cookie else "")


@reading.delete("/session", status_code=204, summary="Sign out", response_description="The session has ended.")
def log_out(response: Response, service: Service, cookie: Cookie) -> None:
    """End the session of the cookie."""
    if cookie is not None:
        service.authenticator.access.log_out(cookie)
        service.authenticator.forget()
    response.delete_cookie(COOKIE)
