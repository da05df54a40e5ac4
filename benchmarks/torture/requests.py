"""Hostile requests to a real server: generated ones over all routes, bodies that cost much, sockets that misbehave.

Whatever comes, the server stays up and small, answers others meanwhile, and changes nothing without a write token.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import numpy as np
from PIL import Image

from benchmarks.torture.report import Outcome, Setting
from opengcd import Workspace

API = "/api/v1"
SMALL = 300 * 2**20
"""Bytes by which the server may grow over all attacks: eight large bodies, and what the allocator keeps."""
STATED = {503}
"""Statuses from 500 on that are a stated answer, and no failure."""


class Site(NamedTuple):
    """A server that is attacked."""

    port: int
    process: subprocess.Popen[bytes]
    errors: Path
    workspace: Path
    read: str
    write: str

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def memory(self) -> int:
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def fingerprint(self) -> str:
        """All that must not change without a write token."""
        with Workspace(self.workspace) as workspace:
            state = workspace.status(), workspace.groups(), workspace.history(), workspace.jobs.latest()
            return repr((state, workspace.views.failures(), workspace.models.versions()))


def attack(setting: Setting) -> Iterator[Outcome]:
    """Run all attacks on one server, the one with a write token last."""
    with _server(setting.folder) as site:
        before, size = site.fingerprint(), site.memory()
        for make in (_generated_without_writing, _costly_bodies, _slow_and_broken_sockets, _many_connections):
            yield _checked(site, make(site, setting), before, size)
        yield _checked(site, _revoked(site), before, size)
        yield _checked(site, _generated(site, setting, "write token", site.write, 3000), None, size)


def _checked(site: Site, outcome: Outcome, before: str | None, size: int) -> Outcome:
    """Add what must hold after every attack."""
    failures = list(outcome.failures)
    if site.process.poll() is not None:
        failures.append(f"the server ended with status {site.process.returncode}")
        return outcome._replace(failures=failures)
    if "Traceback" in (told := site.errors.read_text(errors="replace")):
        failures.append(f"a traceback on standard error: {told[told.index('Traceback') :][-1500:]}")
        site.errors.write_bytes(b"")
    grown = site.memory() - size
    if grown > SMALL:
        failures.append(f"the server has grown by {grown / 2**20:.0f} MiB")
    if before is not None and site.fingerprint() != before:
        failures.append("the workspace was changed")
    return outcome._replace(figures=outcome.figures | {"grown by": f"{grown / 2**20:.0f} MiB"}, failures=failures)


# The server.


@contextmanager
def _server(folder: Path) -> Iterator[Site]:
    path, read, write = _make_workspace(folder)
    errors = folder / "stderr"
    with open(errors, "wb") as stream:
        command = [sys.executable, "-u", "-m", "opengcd", "serve", path, "--port", "0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stream)
    try:
        assert process.stdout is not None
        port = int(re.search(rb":(\d+)/", process.stdout.readline())[1])  # type: ignore[index]
        site = Site(port, process, errors, path, read, write)
        while 'minItems":192' not in httpx.get(f"{site.address}{API}/openapi.json", timeout=60).text:
            time.sleep(0.1)  # until the recogniser is loaded
        yield site
    finally:
        process.kill()
        process.wait()


def _make_workspace(folder: Path) -> tuple[Path, str, str]:
    """Plain colours, some known, some in groups."""
    chance = np.random.default_rng(0)
    colours = {"red": (200, 30, 30), "green": (30, 200, 30), "blue": (30, 30, 200), "grey": (120, 120, 120)}
    for number, (name, colour) in enumerate(colours.items()):
        for place in ("known", "stream"):
            if place == "known" and number > 1:
                continue
            (folder / place / name).mkdir(parents=True)
            for image in range(10):
                pixels = np.clip(np.array(colour) + chance.normal(0, 12, (16, 16, 3)), 0, 255).astype(np.uint8)
                Image.fromarray(pixels).save(folder / place / name / f"{image}.png")
    recognizer = {"preset": "paper", "classifier": "logistic", "memory_size": 20}
    with Workspace.create(folder / "workspace", "pixels", recognizer=recognizer) as workspace:
        workspace.fit(folder / "known")
        list(workspace.recognize([folder / "stream"]))
        workspace.discover(k=4)
        return workspace.path, workspace.access.make("reader", "read"), workspace.access.make("writer")


# Generated requests.


def _generated_without_writing(site: Site, setting: Setting) -> Outcome:
    anonymous = _generated(site, setting, "no token", None, 3000)
    reader = _generated(site, setting, "read token", site.read, 3000)
    return Outcome(
        "generated requests over all routes, without a token and with one for reading",
        anonymous.tries + reader.tries,
        {"without a token": anonymous.figures["answers"], "with one": reader.figures["answers"]},
        anonymous.failures + reader.failures,
    )


def _generated(site: Site, setting: Setting, kind: str, token: str | None, number: int) -> Outcome:
    """Send random requests: right and wrong methods, paths, queries, headers and bodies."""
    chance = random.Random(f"{setting.seed} {kind}")
    document = httpx.get(f"{site.address}{API}/openapi.json").json()
    paths = {path: names for path, names in document["paths"].items() if path != f"{API}/events"}
    routes = [(name.upper(), path) for path, names in paths.items() for name in names]
    seen: Counter[int] = Counter()
    failures = []
    tries = setting.tries(number)
    with httpx.Client(base_url=site.address, timeout=60) as client:
        for _ in range(tries):
            request = _request(chance, routes, token)
            try:
                status = client.send(client.build_request(**request)).status_code
            except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
                seen[0] += 1  # closed: as good an answer to garbage as any
                continue
            except httpx.TimeoutException:
                failures.append(f"no answer in a minute ({kind}): {_shown(request)}")
                continue
            seen[status] += 1
            if status >= 500 and status not in STATED:
                failures.append(f"{status} ({kind}): {_shown(request)}")
            if token is None and status < 300 and _guarded(request):
                failures.append(f"{status} without a token: {_shown(request)}")
    told = ", ".join(f"{status or 'closed'} × {count}" for status, count in sorted(seen.items()))
    return Outcome(f"generated requests over all routes, with a {kind}", tries, {"answers": told}, failures)


def _guarded(request: dict[str, Any]) -> bool:
    path = request["url"].partition("?")[0]
    return (path.startswith(API) and path != f"{API}/openapi.json") or path == "/metrics"


def _shown(request: dict[str, Any]) -> str:
    return f"{request['method']} {request['url'][:300]} {str(request.get('content') or request.get('files'))[:300]}"


METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "BREW")
KINDS = (
    *("application/json", "application/x-npy", "text/plain", "multipart/form-data", "multipart/form-data; boundary=x"),
    *("application/x-www-form-urlencoded", "application/json; charset=utf-16", "application/JSON", "/", ""),
)
IDS = (1, 2, 33, 0, -1, 2**31, 2**63, "x", "%00", "..%2f", "1e1")
OTHER_PATHS = ("/", "/page/", "/page/app.js", "/page/..%2f_app.py", "/nothing")
QUERIES = ("top", "keep", "limit", "offset", "order", "before", "format", "strange")
QUERY_VALUES = (1, 0, -1, 10**30, "true", "odd", "coco", "", "\x00", "é", "x" * 2000)
WRONG = (
    {"Authorization": "Bearer wrong"},
    {"Authorization": "Basic eDp5"},
    {"Authorization": "Bearer " + "x" * 10_000},
    {"Authorization": "é"},
    {"Cookie": "opengcd_session=x"},
)


def _request(chance: random.Random, routes: list[tuple[str, str]], token: str | None) -> dict[str, Any]:
    method, path = chance.choice(routes)
    if chance.random() < 0.2:
        method, path = chance.choice(METHODS), chance.choice([path, *OTHER_PATHS])
    path = re.sub(r"\{\w+\}", lambda _: str(chance.choice(IDS)), path)
    pairs = [(chance.choice(QUERIES), chance.choice(QUERY_VALUES)) for _ in range(chance.randrange(3))]
    query = httpx.QueryParams(pairs)
    headers = {"X-Strange": chance.choice(["", "é", "x" * 3000])} if chance.random() < 0.1 else {}
    if token is not None and chance.random() < 0.95:
        headers["Authorization"] = chance.choice(["Bearer ", "bearer "]) + token
    elif chance.random() < 0.5:
        headers |= chance.choice(WRONG)
    request: dict[str, Any] = {"method": method, "url": f"{path}?{query}" if query else path}
    if chance.random() < 0.1:
        request["files"] = [
            ("files", (chance.choice(TEXTS), chance.randbytes(chance.randrange(100)))) for _ in range(3)
        ]
    elif method not in ("GET", "HEAD") or chance.random() < 0.1:
        kind = chance.choice(KINDS[:2]) if chance.random() < 0.8 else chance.choice(KINDS)
        headers["Content-Type"] = kind
        request["content"] = _body(chance)
    return request | {"headers": {name: value.encode("utf-8") for name, value in headers.items()}}


TEXTS = ("", "sky", "red", "unknown", "\x1b[2J", "\u202e", "=1", "../../x", "x" * 300, "\U0001f600", " ")


def _value(chance: random.Random, depth: int = 3) -> Any:
    plain = ["\ud800", None, True, -1, 0, 1, 2, 3, 33, 2**31, 2**70, 1e308, 0.5, chance.choice(TEXTS)]
    if depth and chance.random() < 0.3:
        return [_value(chance, depth - 1) for _ in range(chance.randrange(4))]
    if depth and chance.random() < 0.2:
        return {chance.choice(TEXTS): _value(chance, depth - 1) for _ in range(chance.randrange(4))}
    return chance.choice(plain)


def _body(chance: random.Random) -> bytes:
    """JSON that is right, nearly right or wrong; or bytes."""
    right: list[dict[str, Any]] = [
        {"on": 3, "act": "name", "group": 1, "label": chance.choice(TEXTS), "confirm": True},
        {"on": 3, "act": "move", "items": [33, 34], "group": 2},
        {"on": 3, "act": "separate", "items": [chance.randrange(60)], "label": "one"},
        {"on": 3, "act": chance.choice(["confirm", "unconfirm", "remove", "split", "merge"]), "group": 1, "n": 2},
        {"on": chance.randrange(10)},
        {"verb": chance.choice(["discover", "learn"])},
        {"version": 1},
        {"max_known_rejected": chance.choice([None, 0.1, 2, -1])},
        {"token": "wrong", "who": chance.choice(TEXTS)},
        {"vectors": [[chance.random() for _ in range(192)]]},
    ]
    document: Any = chance.choice(right)
    for _ in range(chance.choice([0, 0, 1, 2])):
        document[chance.choice([*document, "strange"])] = _value(chance)
    if chance.random() < 0.1:
        document = _value(chance)
    raw = json.dumps(document, ensure_ascii=chance.random() < 0.9).encode("utf-8", "surrogatepass")
    if chance.random() < 0.2:  # damaged
        at = chance.randrange(len(raw) + 1)
        raw = raw[:at] + chance.randbytes(chance.randrange(4)) + raw[at + chance.randrange(4) :]
    return raw


# Bodies that cost much.


def _costly_bodies(site: Site, setting: Setting) -> Outcome:
    """Send bodies that take long to parse or much memory, while somebody else asks for a small thing."""
    million = 1_000_000
    rows = np.lib.format.header_data_from_array_1_0(np.zeros((1, 192), np.float32)) | {"shape": (80_000, 192)}
    npy = _npy(rows) + bytes(80_000 * 192 * 4)
    bodies = {
        "empty lists": b"[" + b"[]," * (21 * million) + b"[]]",
        "deep lists": b"[" * (60 * million),
        "deep objects": b'{"a":' * (10 * million),
        "vectors of numbers": b'{"vectors":[[' + b"1," * (5 * million) + b"1]]}",
        "most numbers": b'{"vectors":[[' + b"1," * 499_000 + b"1]]}",
        "most rows": b'{"vectors":[' + b"[1]," * 9_999 + b"[1]]}",
        "long numbers": b'{"vectors":[[' + b"0." + b"1" * (8 * million) + b"]]}",
        "strings": b'{"vectors":[[' + b'"",' * 400_000 + b'""]]}',
        "an array": npy,
        "an array that lies": _npy(rows | {"shape": (2**40, 192)}),
        "edits of the most items": b'{"on":3,"act":"remove","items":[' + b"2147483647," * 199_999 + b"1]}",
        "edits of strings": b'{"on":3,"act":"remove","items":[' + b'"",' * 200_000 + b"1]}",
        "fields": b"{" + b'"a":1,' * (600_000) + b'"b":1}',
    }
    failures = []
    worst: dict[str, float] = {}
    tries = 0
    with _waiting(site) as longest:
        time.sleep(2)
        idle = longest()
        for token in (None, site.read):
            for name, body in bodies.items():
                path = "edits" if name.startswith(("edits", "fields")) else "recognize"
                kind = "application/x-npy" if "array" in name else "application/json"
                headers = {"Content-Type": kind} | ({"Authorization": f"Bearer {token}"} if token else {})
                for _ in range(setting.tries(2)):
                    tries += 1
                    longest()
                    with suppress(httpx.WriteError, httpx.ReadError, httpx.RemoteProtocolError):
                        url = f"{site.address}{API}/{path}"
                        status = httpx.post(url, content=body, headers=headers, timeout=120).status_code
                        if status >= 500 or (token is None and status != 401 and status != 413):
                            failures.append(f"{status} for {name}")
                    time.sleep(0.1)
                    key = f"{name} ({'a token' if token else 'none'})"
                    worst[key] = max(worst.get(key, 0.0), longest())
    slowest = max(worst, key=lambda name: worst[name])
    without = max(wait for name, wait in worst.items() if name.endswith("(none)"))
    figures = {
        "longest wait of others": f"{worst[slowest] * 1e3:.0f} ms ({slowest})",
        "without a token": f"{without * 1e3:.0f} ms",
        "with nothing to do": f"{idle * 1e3:.0f} ms",
    }
    return Outcome("bodies that cost much, on a path that takes 64 MiB", tries, figures, failures)


def _npy(header: dict[str, Any]) -> bytes:
    raw = io.BytesIO()
    np.lib.format.write_array_header_1_0(raw, header)
    return raw.getvalue()


@contextmanager
def _waiting(site: Site) -> Iterator[Callable[[], float]]:
    """Ask for a page again and again, in a process of its own; yield what returns the longest wait since the last."""
    command = [sys.executable, "-c", PINGING, str(site.port)]
    pinging = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def longest() -> float:
        print(file=pinging.stdin)
        return float(pinging.stdout.readline())

    try:
        longest()
        yield longest
    finally:
        pinging.kill()
        pinging.communicate()


PINGING = """
import http.client, select, sys, time
connection, longest = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1])), 0.0
while True:
    began = time.perf_counter()
    try:
        connection.request("GET", "/nothing")
        connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        connection.close()
    longest = max(longest, time.perf_counter() - began)
    if select.select([sys.stdin], [], [], 0.005)[0]:
        if not sys.stdin.readline():
            break
        print(longest, flush=True)
        longest = 0.0
"""
"""Nothing is at that address, so the server answers without a look at the database, as soon as its loop is free."""


# Sockets that misbehave.


def _slow_and_broken_sockets(site: Site, setting: Setting) -> Outcome:
    """Send garbage and half requests on raw sockets, and stop, or go on byte by byte."""
    chance = random.Random(setting.seed)
    head = f"POST {API}/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode()
    upload = head.replace(b"session", b"recognize").replace(b"application/json", b"multipart/form-data; boundary=x")
    upload += f"Authorization: Bearer {site.read}\r\nContent-Length: 100000\r\n\r\n--x\r\n".encode()
    shapes: list[Callable[[], bytes]] = [
        lambda: chance.randbytes(chance.randrange(1, 300)),
        lambda: b"\r\n" * chance.randrange(1, 500),
        lambda: b"GET " + b"/x" * chance.randrange(40_000),
        lambda: b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * chance.randrange(20_000),
        lambda: b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * chance.randrange(1, 3_000),
        lambda: head + b"Content-Length: 99\r\n\r\n{",
        lambda: head + b"Content-Length: -1\r\n\r\n{",
        lambda: head + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}{}{}",
        lambda: head + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n{",
        lambda: head + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n1\r\n{\r\n",
        lambda: head + b"Expect: 100-continue\r\nContent-Length: 9\r\n\r\n",
        lambda: head + b"Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 4\r\n\r\nnull",
        lambda: upload + chance.randbytes(300),
    ]  # fmt: skip
    answers: Counter[str] = Counter()

    async def one() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        with suppress(OSError, asyncio.IncompleteReadError):
            writer.write(chance.choice(shapes)())
            await writer.drain()
            for _ in range(chance.randrange(5)):
                await asyncio.sleep(0.2)
                writer.write(chance.randbytes(1))
            raw = await asyncio.wait_for(reader.read(), 60)
            answers[raw[9:12].decode("latin-1") if raw.startswith(b"HTTP") else "closed"] += 1
        writer.close()

    async def all() -> None:
        at_once = asyncio.Semaphore(200)

        async def bounded() -> None:
            async with at_once:
                await one()

        await asyncio.gather(*(bounded() for _ in range(tries)))

    tries = setting.tries(1000)
    failures = []
    try:
        asyncio.run(all())
    except TimeoutError:
        failures.append("a connection that sends nothing was kept for a minute")
    failures += [f"status {status}" for status in answers if status.startswith("5") and int(status) not in STATED]
    told = ", ".join(f"{status} × {count}" for status, count in sorted(answers.items()))
    return Outcome("garbage and half requests on raw sockets", tries, {"answers": told}, failures)


def _many_connections(site: Site, setting: Setting) -> Outcome:
    """Open more connections than the server bears, and say nothing; others are answered meanwhile."""
    failures = []

    async def open_many() -> float:
        writers: deque[asyncio.StreamWriter] = deque()
        worst = 0.0
        for number in range(tries):
            _, writer = await asyncio.open_connection("127.0.0.1", site.port)
            writers.append(writer)
            if len(writers) > 700:  # more than the server bears; this process may have no more files open either
                writers.popleft().close()
            if number % 100 == 99:
                began = time.perf_counter()
                async with httpx.AsyncClient(base_url=site.address, timeout=60) as client:
                    if (await client.get("/healthz")).status_code != 200:
                        failures.append(f"no answer beside {number} connections")
                worst = max(worst, time.perf_counter() - began)
        for writer in writers:
            writer.close()
        return worst

    tries = min(setting.tries(2000), 5000)
    worst = asyncio.run(open_many())
    return Outcome("silent connections", tries, {"longest wait of others": f"{worst * 1e3:.0f} ms"}, failures)


def _revoked(site: Site) -> Outcome:
    """Listen by a token that is then revoked; whoever holds it hears nothing after five seconds."""
    failures = []
    with Workspace(site.workspace) as workspace:
        secret = workspace.access.make("leaving", "read")
        number = workspace.access.tokens()[-1].id
        with httpx.Client(base_url=site.address, headers={"Authorization": f"Bearer {secret}"}, timeout=30) as client:
            with client.stream("GET", f"{API}/events") as stream:
                lines = stream.iter_lines()
                next(lines)
                workspace.access.revoke(number)
                began = time.perf_counter()
                for _ in lines:
                    pass
                took = time.perf_counter() - began
            status = client.get(f"{API}/status").status_code
    if took > 5.5:
        failures.append(f"the events of a revoked token went on for {took:.1f} s")
    if status != 401 and took > 5:
        failures.append(f"a revoked token still works after {took:.1f} s")
    return Outcome("events of a revoked token", 1, {"ended after": f"{took:.1f} s"}, failures)
