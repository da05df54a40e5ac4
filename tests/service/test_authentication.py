"""Who may do what through the service."""

import asyncio
import json
import re
import time

import httpx
import pytest

from opengcd.service import authentication, create_app
from opengcd.service.authentication import COOKIE, CSRF, TRIES
from opengcd.workspace import WorkspaceError
from tests.helpers.places import ROOT
from tests.helpers.serving import API, connect, get, send, serving


def routes(app):
    """Every route of the API with its method, as the document lists them."""
    for path, methods in app.openapi()["paths"].items():
        for method in methods:
            yield method.upper(), path


OPEN = {("GET", "/healthz"), ("POST", f"{API}/session")}
READ = {
    ("POST", f"{API}/recognize"),
    ("DELETE", f"{API}/session"),
    ("POST", f"{API}/export"),
    ("PUT", f"{API}/presence"),
}
"""Besides everything that is got."""
UNLIKE = {
    f"{API}/{name}"
    for name in ("events", "k", "folders", "held-out/items", "suggestions", "adaptation/onnx", "images/taxa")
}
"""What cannot be got by its address alone."""


def state(workspace):
    return workspace.status(), workspace.groups(), workspace.history(), workspace.jobs.latest()


def test_nothing_without_a_token_and_no_change_with_one_for_reading(app, client, workspace):
    before = state(workspace)
    reader = connect(app, workspace.access.make("reader", "read"))
    found = set(routes(app))
    assert len(found) > 30
    for method, path in sorted(found - OPEN):
        url = re.sub(r"\{\w+\}", "1", path)
        bodies = {"on": 3, "act": "name", "group": 1, "label": "x", "verb": "learn", "version": 1}
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic YTpi"},
                        {"Cookie": f"{COOKIE}=wrong"}):  # fmt: skip
            answer = connect(app).request(method, url, json=bodies, headers=headers)
            assert answer.status_code == 401, (method, path, headers)
            assert answer.headers["www-authenticate"] == "Bearer"
            assert set(answer.json()) == {"detail"}
        if method != "GET" and (method, path) not in READ:
            answer = reader.request(method, url, json=bodies)
            assert answer.status_code == 403, (method, path)
            assert "scope write" in answer.json()["detail"]
    assert reader.post(f"{API}/recognize", params={"keep": True}, files=[("files", ("x", b"x"))]).status_code == 403
    assert state(workspace) == before
    for method, path in found:
        if method == "GET" and "{" not in path and path not in UNLIKE:
            assert reader.get(path).status_code == 200, path


def test_a_session_of_the_page(app, client, workspace):
    browser = connect(app)
    secret = workspace.access.make("ann")
    answer = browser.post(f"{API}/session", json={"token": secret, "who": "Ann at the desk"})
    session = answer.json()
    assert session == {"who": "Ann at the desk (ann)", "scopes": ["read", "write"], "csrf": session["csrf"]}
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Secure" not in cookie  # this was http
    assert get(browser, "session") == session
    on = get(browser, "groups")["edit"]
    name = {"on": on, "act": "name", "group": 1, "label": "sky"}
    for headers in ({}, {CSRF: "wrong"}):
        assert "X-CSRF-Token" in send(browser, "POST", "edits", name, 403, headers=headers)["detail"]
    assert workspace.review.last_edit() == on
    send(browser, "POST", "edits", name, headers={CSRF: session["csrf"]})
    assert workspace.history()[0].who == "Ann at the desk (ann)"
    send(browser, "DELETE", "session", code=204, headers={CSRF: session["csrf"]})
    browser.cookies.set(COOKIE, cookie.split(";")[0].partition("=")[2])
    get(browser, "session", 401)


def test_the_cookie_is_secure_over_https(app, client, workspace):
    from fastapi.testclient import TestClient

    browser = TestClient(app, base_url="https://localhost")
    answer = browser.post(f"{API}/session", json={"token": workspace.access.make("ann")})
    assert "Secure" in answer.headers["set-cookie"]


@pytest.mark.parametrize("own", ["team", " Team ", "TEAM", "te\u200bam", "", None])
def test_the_token_s_own_name_is_not_added_to_it(workspace, own):
    _, grant = workspace.access.log_in(workspace.access.make("team"), own)
    assert grant.who == "team"


def test_nobody_signs_without_the_name_of_the_token(app, client, workspace):
    workspace.access.make("boss")
    secret = workspace.access.make("team")
    for who in ("boss", "Boss", "  boss", "boss\t", "b\u200boss"):
        session, grant = workspace.access.log_in(secret, who)
        assert grant.who.endswith("oss (team)")
        assert workspace.access.by_session(session) == grant
    for who in ("boss (boss)", "boss\x1b[8m", "boss\u202e", "x" * 101, "a\x00"):
        answer = connect(app).post(f"{API}/session", json={"token": secret, "who": who})
        assert answer.status_code == 422
        assert "\x1b" not in answer.json()["detail"]


def test_two_tokens_have_one_name_or_names_that_look_different(workspace):
    workspace.access.make("Ann Lee")
    workspace.access.make(" Ann  Lee ")
    assert [token.name for token in workspace.access.tokens()] == ["Ann Lee", "Ann Lee"]
    for name in ("ann lee", "Ann\u00a0LEE", "Ann\u200b Lee", "Ａnn Lee"):
        with pytest.raises(WorkspaceError, match="give that name or another one"):
            workspace.access.make(name)
    for hidden in "\ufe0f\u034f\u180b\u17b4\U000e0100\u3164\uffa0\u115f\u00ad\u2060\ufff9":
        for name in (f"Ann Lee{hidden}", f"A{hidden}nn Lee", f"{hidden}Ann {hidden} Lee"):
            with pytest.raises(WorkspaceError, match="give that name or another one"):
                workspace.access.make(name)
    with pytest.raises(WorkspaceError, match="give that name or another one"):
        workspace.access.make("\u2800Ann\u2800Lee")  # a blank pattern of dots
    for name in ("Ann (team)", "Ann\x07", "\u2067Ann", "", "   "):
        with pytest.raises(WorkspaceError, match="name"):
            workspace.access.make(name)


def test_failed_log_ins_are_slowed_down_and_a_right_token_always_logs_in(app, client, workspace, monkeypatch):
    browser = connect(app)
    good = {"token": workspace.access.make("ann")}
    for _ in range(TRIES):
        send(browser, "POST", "session", {"token": "wrong"}, 401)
    assert "wait a minute" in send(browser, "POST", "session", {"token": "wrong"}, 429)["detail"]
    send(browser, "POST", "session", good)
    assert "wait a minute" in send(browser, "POST", "session", {"token": "wrong"}, 429)["detail"]
    later = time.monotonic() + 61
    monkeypatch.setattr(authentication.time, "monotonic", lambda: later)
    send(browser, "POST", "session", {"token": "wrong"}, 401)


def test_nothing_of_a_body_is_read_before_the_token_is_known(app, client, workspace):
    reader = workspace.access.make("reader", "read")
    for method, path in sorted(set(routes(app)) - OPEN):
        if method in ("POST", "PUT"):
            url = re.sub(r"\{\w+\}", "1", path)
            json_kind = {"Content-Type": "application/json"}
            assert status_before_body(app, method, url, {}) == 401
            assert status_before_body(app, method, url, {"Authorization": "Bearer wrong"} | json_kind) == 401
            if (method, path) not in READ:
                assert status_before_body(app, method, url, {"Authorization": f"Bearer {reader}"}) == 403


def status_before_body(app, method, path, headers):
    """The status of the answer to a request whose body must not be asked for."""
    told = []

    async def receive():
        raise AssertionError("The body was read.")

    async def send(message):
        if message["type"] == "http.response.start":
            told.append(message["status"])

    raw = [(name.lower().encode(), value.encode()) for name, value in ({"Host": "localhost"} | headers).items()]
    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
             "headers": raw, "client": ("127.0.0.1", 1), "scheme": "http", "root_path": "", "http_version": "1.1",
             "server": ("localhost", 80), "state": {}}  # fmt: skip
    asyncio.run(app(scope, receive, send))
    return told[0]


@pytest.mark.parametrize("by_cookie", [False, True])
def test_events_end_soon_after_the_token_is_revoked(workspace, by_cookie, monkeypatch):
    secret = workspace.access.make("bob", "read")
    number = workspace.access.tokens()[-1].id
    assert authentication.REMEMBERED + authentication.POLL_SECONDS < 5  # as the documentation promises
    for name in ("REMEMBERED", "POLL_SECONDS"):
        monkeypatch.setattr(authentication, name, 0.05)
    with serving(workspace) as address, httpx.Client(base_url=address) as bob:
        if by_cookie:
            bob.post(f"{API}/session", json={"token": secret})
        else:
            bob.headers["Authorization"] = f"Bearer {secret}"
        with bob.stream("GET", f"{API}/events") as stream:
            lines = stream.iter_lines()
            assert next(lines) == "retry: 1000"
            workspace.access.revoke(number)
            assert list(lines) == ["event: ping", "data: {}", ""]  # and it ends


def test_tokens_are_stored_as_hashes_and_can_be_revoked(app, client, workspace, monkeypatch):
    secret = workspace.access.make("bob", "read")
    (first, token) = workspace.access.tokens()
    assert (token.name, token.scope) == ("bob", "read")
    for file in workspace.path.rglob("*"):
        if file.is_file():
            assert secret.encode() not in file.read_bytes()
    bob, browser = connect(app, secret), connect(app)
    get(bob, "status")
    browser.post(f"{API}/session", json={"token": secret})
    get(browser, "status")
    workspace.access.revoke(token.id)
    later = time.monotonic() + authentication.REMEMBERED + 1
    monkeypatch.setattr(authentication.time, "monotonic", lambda: later)
    get(bob, "status", 401)
    get(browser, "status", 401)
    assert workspace.access.tokens() == [first]
    with pytest.raises(ValueError, match="no token 99"):
        workspace.access.revoke(99)


def test_a_link_logs_in_once(app, client, workspace):
    from datetime import timedelta

    secret = workspace.access.make("ann", once_within=timedelta(minutes=1))
    get(connect(app, secret), "status", 401)  # it is no token for programs
    browser = connect(app)
    send(browser, "POST", "session", {"token": secret})
    get(browser, "status")
    send(connect(app), "POST", "session", {"token": secret}, 401)
    late = workspace.access.make("ann", once_within=timedelta(seconds=-1))
    send(connect(app), "POST", "session", {"token": late}, 401)
    assert len(workspace.access.tokens()) == 1


def test_other_hosts_are_refused_and_browsers_told_to_be_careful(workspace):
    app = create_app(workspace, hosts=["birds.example"])
    for host, code in (("evil.example", 400), ("birds.example:80", 200), ("127.0.0.1:8765", 200), ("[::1]:1", 200),
                       ("localhost", 200), ("", 400), ("birds.example.evil.example", 400)):  # fmt: skip
        answer = connect(app).get("/healthz", headers={"Host": host})
        assert answer.status_code == code, host
        assert answer.headers["content-security-policy"].startswith("default-src 'self';")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"


def test_no_path_of_a_request_reaches_the_file_system(app, client):
    for path in ("/page/../app.py", "/page/%2e%2e/app.py", "/page/..%2fapp.py", "/page//etc/passwd",
                 f"{API}/items/..%2f..%2fworkspace.db/image"):  # fmt: skip
        answer = client.get(path)
        assert answer.status_code in (404, 422), path
        assert b"import" not in answer.content
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")


def test_no_folder_of_the_server_is_told(app, client, workspace):
    object.__setattr__(workspace.settings, "embedder", "/secret/place/network")
    assert get(client, "status")["embedder"] == "network"
    for path in ("groups", "items/1", "failures", "history", "classes"):
        assert str(workspace.path.parent) not in json.dumps(get(client, path))


def test_the_documents_name_every_route(app):
    text = (ROOT / "docs" / "how-to" / "programs.md").read_text()
    for _, path in routes(app):
        shown = path.removeprefix(API).replace("{id}", "ID")
        assert f"{shown}`" in text or f"{shown} " in text, path


@pytest.mark.parametrize("name", ["\u3164", "\ufe0f\u034f", "ann (bob)", "a" * 1000, "a\x1b[2J"])
def test_names_that_nobody_can_read_or_trust(workspace, name):
    with pytest.raises(WorkspaceError, match="cannot be the name of a person"):
        workspace.access.make(name)
