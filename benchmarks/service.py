"""Load on the service: `python -m benchmarks.service [--minutes 10]`.

A server in a process of its own holds an SVM on 384-d features. Single vectors are sent at a fixed rate, whatever the
server does, and the response time of each counts from when it was due. Batches follow one another on two connections.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

from opengcd import Workspace

WIDTH, CLASSES, EACH = 384, 10, 100
CONNECTIONS = 32


class Drawn:
    """An embedder for tests of speed: an image of one grey value becomes a random vector of that class."""

    name = "drawn"
    fingerprint = "drawn"

    def __call__(self, images, total=None, progress=None):
        return np.concatenate(list(self.stream(images)))

    def stream(self, images):
        for image in images:
            seed = int.from_bytes(hashlib.sha256(image.tobytes()).digest()[:4], "little")
            yield vectors(np.array([image.getpixel((0, 0))[0] % CLASSES]), seed)


def vectors(codes, seed):
    """Draw rows of classes that overlap somewhat, of unit length as those of a network."""
    means = np.random.default_rng(0).normal(size=(CLASSES + 2, WIDTH))
    X = means[codes] + 1.5 * np.random.default_rng(seed).normal(size=(len(codes), WIDTH))
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)


def make_workspace(folder):
    for code in range(CLASSES):
        (folder / "known" / f"class{code}").mkdir(parents=True)
        for number in range(EACH):
            image = Image.new("RGB", (8, 8), (code, number // 256, number % 256))
            image.save(folder / "known" / f"class{code}" / f"{number}.png")
    recognizer = {"preset": "paper", "classifier": "svm", "alpha": 1.0, "selector": "random"}
    with Workspace.create(folder / "workspace", Drawn(), recognizer=recognizer) as workspace:
        workspace.fit(folder / "known")
        return workspace.path, workspace.access.make("load")


def request(port, token, body, kind):
    return (
        f"POST /api/v1/recognize HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


async def ask(reader, writer, raw):
    """Send a request and read the answer: the least that a client can do, so that the server is what is measured."""
    writer.write(raw)
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(head.decode())
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    return await reader.readexactly(length)


async def at_a_rate(port, requests, rate, seconds):
    """Ask at a fixed rate; return the seconds from when each request was due to its answer, and how long all took."""
    due = asyncio.Queue()
    took = []
    start = time.perf_counter() + 0.1
    for number in range(int(rate * seconds)):
        due.put_nowait(start + number / rate)

    async def connection(number):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while not due.empty():
            at = due.get_nowait()
            if (wait := at - time.perf_counter()) > 0:
                await asyncio.sleep(wait)
            await ask(reader, writer, requests[len(took) % len(requests)])
            took.append(time.perf_counter() - at)
        writer.close()

    await asyncio.gather(*map(connection, range(CONNECTIONS)))
    return np.array(took), time.perf_counter() - start


async def one_after_the_other(port, raw, connections, seconds):
    """Ask again at once when answered; return how many answers there were in a second."""
    answers = 0
    end = time.perf_counter() + seconds

    async def connection():
        nonlocal answers
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < end:
            await ask(reader, writer, raw)
            answers += 1
        writer.close()

    start = time.perf_counter()
    await asyncio.gather(*(connection() for _ in range(connections)))
    return answers / (time.perf_counter() - start)


def memory(process):
    """Resident megabytes."""
    return int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def processor(process):
    """Seconds of processor time so far."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def as_npy(X):
    raw = io.BytesIO()
    np.save(raw, X)
    return raw.getvalue()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=0.5, help="how long single vectors come")
    parser.add_argument("--rate", type=int, default=1000, help="single vectors in a second")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, token = make_workspace(Path(folder))
        server = subprocess.Popen(
            [sys.executable, "-u", "-m", "opengcd", "serve", path, "--port", "0"], stdout=subprocess.PIPE, text=True
        )
        try:
            port = int(server.stdout.readline().split()[0].rstrip("/").rpartition(":")[2])
            X = vectors(np.arange(1000) % (CLASSES + 2), 1)
            singles = [
                request(port, token, json.dumps({"vectors": [x]}).encode(), "application/json")
                for x in X.round(6).astype(float).tolist()
            ]
            asyncio.run(at_a_rate(port, singles, options.rate, 3))  # warm up
            before = memory(server)
            print(f"SVM, {CLASSES} classes, {CLASSES * EACH} exemplars, {WIDTH} features; one server process")
            for part in range(max(1, round(options.minutes * 2))):
                busy = processor(server)
                took, seconds = asyncio.run(at_a_rate(port, singles, options.rate, 30))
                busy = (processor(server) - busy) / len(took)
                print(
                    f"{(part + 1) / 2:4} min: {len(took) / seconds:6.0f} single vectors/s (JSON), "
                    f"p50 {np.quantile(took, 0.5) * 1e3:5.1f} ms, p99 {np.quantile(took, 0.99) * 1e3:5.1f} ms, "
                    f"{busy * 1e3:.2f} ms of processor each, memory {memory(server):.0f} MiB",
                    flush=True,
                )
            most = asyncio.run(one_after_the_other(port, singles[0], CONNECTIONS, 10))
            print(f"{most:.0f} single vectors/s (JSON) on {CONNECTIONS} connections, as fast as they go")
            for kind, body in (
                ("application/x-npy", as_npy(X)),
                ("application/json", json.dumps({"vectors": X.round(6).astype(float).tolist()}).encode()),
            ):
                busy = processor(server)
                batches = asyncio.run(one_after_the_other(port, request(port, token, body, kind), 2, 10))
                busy = (processor(server) - busy) / (10 * batches)
                print(
                    f"{batches * len(X):.0f} vectors/s in batches of {len(X)} ({kind}), "
                    f"{busy * 1e3:.0f} ms of processor a batch"
                )
            print(f"memory {before:.0f} MiB after the warm-up, {memory(server):.0f} MiB at the end")
        finally:
            server.kill()
            server.communicate()


if __name__ == "__main__":
    main()
