"""Connections that are slow, endless, unread or too many, by sockets to a real server."""

import json
import re
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager

import httpx
import pytest

from opengcd.service import connections, request_limits
from opengcd.service.authentication import TRIES
from opengcd.service.connections import BoundedProtocol
from tests.helpers.serving import API, eventually, server, serving

GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
LIMITS = ("HEADER_TIMEOUT", "LOG_IN_TIMEOUT", "CHUNK_TIMEOUT", "MIN_RATE_AFTER", "READ_TIMEOUT")


@pytest.fixture
def address(workspace, monkeypatch):
    """The host and port of a server that waits for a second at most."""
    for name in LIMITS:
        monkeypatch.setattr(connections, name, 0.5)
    monkeypatch.setattr(request_limits, "TURN_TIMEOUT", 0.5)
    with serving(workspace) as url:
        yield "127.0.0.1", int(re.search(r":(\d+)/", url)[1])


@pytest.fixture
def patient(address, monkeypatch):
    """The same for a server that closes no connection because of the time that it takes."""
    for name in LIMITS:
        monkeypatch.setattr(connections, name, 60.0)
    return address


def opened(address, sent=b""):
    connection = socket.create_connection(address, timeout=20)
    connection.sendall(sent)
    return connection


@contextmanager
def many(number, address, sent):
    with ExitStack() as held:
        yield [held.enter_context(opened(address, sent)) for _ in range(number)]


def post(path, length, token=None, more=""):
    """The head of a request with JSON."""
    if token:
        more += f"Authorization: Bearer {token}\r\n"
    head = f"POST {API}/{path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{more}{length}\r\n\r\n"
    return head.encode()


CHUNKED = "Transfer-Encoding: chunked"
EXPECT = "Expect: 100-continue\r\n"


def answer(connection):
    """All that comes until the server closes the connection."""
    pieces = []
    try:
        while piece := connection.recv(2**16):
            pieces.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(pieces)


def drip(connection, piece):
    """Send a piece again and again, until the server has had enough; return how often."""
    for number in range(200):
        try:
            connection.sendall(piece)
        except OSError:
            return number
        time.sleep(0.05)
    raise AssertionError("The server has listened for ten seconds.")


def alive(address):
    with opened(address, GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")) as connection:
        return answer(connection).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "begin",
    [b"", b"\r\n", b"GET", GET[:-2], GET + GET[:-2], GET + b"\r\n\r\n"],
    ids=["nothing", "an empty line", "a method", "headers", "a second request", "lines after a request"],
)
def test_requests_that_are_never_finished(address, begin):
    with opened(address, begin) as connection:
        told = answer(connection)
    assert told.count(b"HTTP/1.1 200") == begin.count(b"\r\n\r\n") - begin.endswith(b"\r\n\r\n\r\n")
    assert alive(address)


@pytest.mark.parametrize("begin", [b"", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: "])
def test_headers_that_come_drop_by_drop(address, begin):
    with opened(address, begin) as connection:
        drip(connection, b"x" if begin else b"\r\n")
    assert alive(address)


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"x" * 40_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 40_000 + b"\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 4_000_000,
        b"GET /" + b"x" * 4_000_000,
    ],
    ids=["address", "value", "many", "endless value", "endless address"],
)
def test_headers_that_are_too_long(address, head):
    with opened(address) as connection:
        try:
            connection.sendall(head)
            told = answer(connection)
        except OSError:  # closed while it was sent
            told = b"HTTP/1.1 431"
    assert told.startswith((b"HTTP/1.1 431", b"HTTP/1.1 400")) or not told
    assert b"HTTP/1.1 200" not in told
    assert alive(address)


@pytest.mark.parametrize(
    ("begin", "piece"),
    [
        (b"0\r\n", b"A:b\r\n"),
        (b"0\r\nX: ", b"a"),
        (b"0\r\n", b"a"),
        (b"1;x=", b"a"),
        (b"", b"0"),
        (b"1\r\n{\r\n", b"0"),
    ],
    ids=["many trailers", "a trailer's value", "a trailer's name", "an extension", "a size", "a later size"],
)
@pytest.mark.parametrize("path", ["session", "undo"])  # the second is answered before its body has come
def test_size_of_the_framing_of_a_body_is_limited(patient, path, begin, piece):
    with opened(patient, post(path, CHUNKED) + begin) as connection:
        connection.settimeout(5)
        try:
            for _ in range(100):
                connection.sendall(piece * (2**16 // len(piece)))
            answer(connection)  # all that was sent lies in buffers: they are closed now, too
        except ConnectionError:
            pass
    assert alive(patient)


def test_trailers_are_no_headers(patient, workspace):
    trailer = f"0\r\nAuthorization: Bearer {workspace.access.make('ann')}\r\n\r\n".encode()
    with opened(patient, post("undo", CHUNKED) + trailer) as connection:
        assert connection.recv(100).startswith(b"HTTP/1.1 401")


def test_a_body_may_come_in_many_small_chunks(patient, workspace):
    body = f'{{"token": "{workspace.access.make("ann")}"}}'.encode().ljust(15_000)
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    with opened(patient, post("session", CHUNKED) + chunks + b"0\r\nX: y\r\n\r\n" + GET) as connection:
        told = connection.recv(2**16)
        while told.count(b"HTTP/1.1") < 2:
            told += connection.recv(2**16)
    assert told.count(b"HTTP/1.1 200") == 2


@pytest.mark.parametrize("length", [b"Content-Length: 1000", b"Transfer-Encoding: chunked"])
@pytest.mark.parametrize("path", ["session", "recognize"])
def test_bodies_that_stop_or_come_drop_by_drop(address, workspace, capfd, path, length):
    token = workspace.access.make("ann").encode()
    head = (
        f"POST {API}/{path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode()
        + b"Authorization: Bearer " + token + b"\r\n" + length + b"\r\n\r\n"
    )  # fmt: skip
    with opened(address, head) as connection:
        assert answer(connection) == b""
    with opened(address, head) as connection:
        drip(connection, b"1\r\n \r\n" if b"chunked" in length else b" ")
    assert alive(address)
    assert "Traceback" not in capfd.readouterr().err


def test_a_body_that_goes_on_after_the_answer(address):
    head = f"POST {API}/recognize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    with opened(address, head) as connection:
        assert connection.recv(100).startswith(b"HTTP/1.1 401")
        drip(connection, b"1\r\n \r\n")
    assert alive(address)


def test_answers_that_are_not_read(address, workspace, monkeypatch):
    monkeypatch.setattr(type(workspace.formats), "export_bytes", lambda *_, **__: bytes(50_000_000))
    token = workspace.access.make("ann")
    ask = f"GET {API}/export HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    lost, lose = threading.Event(), BoundedProtocol.connection_lost
    monkeypatch.setattr(BoundedProtocol, "connection_lost", lambda *given: (lose(*given), lost.set()))
    with opened(address, ask) as connection:
        assert lost.wait(20)
        assert len(answer(connection)) < 50_000_000
    assert alive(address)


@pytest.mark.parametrize("number", [connections.MOST_AHEAD, 10_000])
def test_requests_ahead_of_their_answers(address, number, capfd):
    with opened(address, GET * number) as connection:
        assert answer(connection).count(b"HTTP/1.1 200") == (number if number == connections.MOST_AHEAD else 0)
    assert alive(address)
    assert capfd.readouterr().err == ""


def test_a_client_that_leaves_with_requests_open(address, workspace, capfd):
    token = workspace.access.make("ann")
    ask = f"GET {API}/map HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    for _ in range(10):
        opened(address, ask * 10).close()
    assert alive(address)
    assert capfd.readouterr().err == ""


def test_the_oldest_idle_connection_makes_room(address, workspace, monkeypatch):
    monkeypatch.setattr(connections, "MOST", 20)
    monkeypatch.setattr(connections, "HEADER_TIMEOUT", 60)
    token = workspace.access.make("ann")
    listening = f"GET {API}/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    with opened(address, listening) as listener:
        assert b"200" in listener.recv(1000)
        idle = [opened(address) for _ in range(100)]
        assert alive(address)
        for connection in idle[:75]:
            assert answer(connection) == b""
        workspace.name(1, "sky")
        while b"event: edit" not in listener.recv(10_000):
            pass
        for connection in idle:
            connection.close()


def test_bodies_of_strangers_make_room(patient, workspace, monkeypatch):
    monkeypatch.setattr(connections, "MOST", 20)
    ann = workspace.access.make("ann")
    body = json.dumps({"vectors": [[0.5] * 192]}).encode()
    with opened(patient, post("recognize", f"Content-Length: {len(body)}", ann, EXPECT)) as known:
        assert b"100 Continue" in known.recv(1000)  # she is known, and her body is awaited
        with many(60, patient, post("session", "Content-Length: 16000") + b"{") as half:
            assert alive(patient)
            for connection in half[:35]:
                assert answer(connection) == b""
            known.sendall(body)
            assert b"200 OK" in known.recv(1000)


def test_strangers_have_less_time(patient, monkeypatch):
    monkeypatch.setattr(connections, "LOG_IN_TIMEOUT", 0.5)
    with opened(patient, post("session", "Content-Length: 16000")) as connection:
        drip(connection, b" ")
    assert alive(patient)


def slow_uploads(address, number, token):
    """Large requests that ask whether they may begin, which the server says when it wants to read them."""
    return many(number, address, post("recognize", "Content-Length: 60000000", token, EXPECT))


def begin(uploads):
    for connection in uploads:
        assert b"100 Continue" in connection.recv(1000)
        connection.sendall(b" " * 9000)


def recognize(address, token):
    content = {"vectors": [[0.123456789] * 192] * 20}
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.post("http://{}:{}{}/recognize".format(*address, API), json=content, headers=headers, timeout=10)


def test_slow_uploads_hold_up_their_sender_alone(patient, workspace):
    ann, bob = workspace.access.make("ann"), workspace.access.make("bob", "read")
    with slow_uploads(patient, 2, bob) as first:
        begin(first)
        with slow_uploads(patient, 8, bob) as others:
            assert recognize(patient, ann).status_code == 200
            for connection in others:
                told = connection.recv(1000)
                assert told.startswith(b"HTTP/1.1 503")
                assert b"retry-after: 5" in told
        assert "again later" in recognize(patient, bob).json()["detail"]
    eventually(lambda: recognize(patient, bob).status_code == 200, 20)


def test_nobody_waits_without_end_for_slow_uploads(patient, workspace):
    with ExitStack() as held:
        for name in "bcde":
            begin(held.enter_context(slow_uploads(patient, 2, workspace.access.make(name, "read"))))
        refused = recognize(patient, workspace.access.make("ann"))
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        assert alive(patient)


@pytest.mark.parametrize("asks", [False, True], ids=["sends", "asks first"])
def test_waiting_for_the_server_does_not_count_as_a_slow_upload(address, workspace, monkeypatch, asks):
    """The time for which the server does not want to read is not counted."""
    monkeypatch.setattr(request_limits, "MOST_EACH", 0)
    monkeypatch.setattr(request_limits, "TURN_TIMEOUT", 3.0)
    monkeypatch.setattr(connections, "MIN_BYTES_PER_SECOND", 2**20)
    head = post("recognize", "Content-Length: 1000000", workspace.access.make("ann"), EXPECT if asks else "")
    with opened(address, head if asks else head + b" " * 1_000_000) as connection:
        assert connection.recv(1000).startswith(b"HTTP/1.1 503")


def test_other_protocols_are_answered_in_http(address, capfd):
    upgrade = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    upgrade += b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n\r\n"
    with opened(address, upgrade) as connection:
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")
    for garbage in (b"\x16\x03\x01\x02\x00\x01\x00", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\0" * 100):
        with opened(address, garbage) as connection:
            assert not answer(connection).startswith(b"HTTP/1.1 200")
    assert alive(address)
    assert capfd.readouterr().err == ""


def tries(address, token="wrong", **headers):
    return httpx.post(f"{address}{API}/session", json={"token": token}, headers=headers)


@pytest.mark.parametrize("behind", [False, True])
def test_forwarded_addresses_are_believed_of_named_proxies_only(workspace, behind):
    token = workspace.access.make("ann")
    with server(workspace.path, *(["--behind-proxy", "127.0.0.1"] if behind else [])) as (_, address):
        codes = [tries(address, **{"X-Forwarded-For": f"10.0.0.{number}"}).status_code for number in range(TRIES + 1)]
        assert codes == [401] * TRIES + [401 if behind else 429]
        cookie = tries(address, token, **{"X-Forwarded-Proto": "https"}).headers["set-cookie"]
        assert ("Secure" in cookie) == behind


def test_the_environment_cannot_make_everyone_a_proxy(workspace, monkeypatch):
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    with server(workspace.path) as (_, address):
        codes = [tries(address, **{"X-Forwarded-For": f"10.0.0.{number}"}).status_code for number in range(TRIES + 1)]
    assert codes[-1] == 429


def test_the_command_says_what_the_option_is_for():
    text = subprocess.run([sys.executable, "-m", "opengcd", "serve", "--help"], capture_output=True, text=True).stdout
    assert "--behind-proxy" in text
