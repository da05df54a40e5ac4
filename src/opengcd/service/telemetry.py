"""Numbers for Prometheus, in its text format."""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable

from fastapi.responses import PlainTextResponse

from opengcd.service.authentication import guarded
from opengcd.service.state import Service

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Seconds."""
METHODS = {"GET", "HEAD", "POST", "PUT", "DELETE"}
"""Others are counted together: a client could think of any number."""


class Metrics:
    """Counts requests and how long they took."""

    def __init__(self) -> None:
        self.started = time.time()
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.seconds: dict[str, list[int]] = {}
        self.total: dict[str, float] = {}

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self.requests[method if method in METHODS else "other", route, status] += 1
        buckets = self.seconds.setdefault(route, [0] * (len(BOUNDS) + 1))
        buckets[bisect_left(BOUNDS, seconds)] += 1
        self.total[route] = self.total.get(route, 0.0) + seconds

    def lines(self) -> Iterable[str]:
        """Yield what was counted."""
        yield "# TYPE opengcd_requests_total counter"
        for (method, route, status), number in sorted(self.requests.items()):
            yield f'opengcd_requests_total{{method="{method}",route="{route}",status="{status}"}} {number}'
        yield "# TYPE opengcd_request_seconds histogram"
        for route, buckets in sorted(self.seconds.items()):
            number = 0
            for bound, count in zip((*BOUNDS, "+Inf"), buckets, strict=True):
                number += count
                yield f'opengcd_request_seconds_bucket{{route="{route}",le="{bound}"}} {number}'
            yield f'opengcd_request_seconds_sum{{route="{route}"}} {self.total[route]:.6f}'
            yield f'opengcd_request_seconds_count{{route="{route}"}} {number}'


reading = guarded("read", "health")


@reading.get("/metrics", response_class=PlainTextResponse)
def metrics(service: Service) -> PlainTextResponse:
    """Numbers for Prometheus: requests, recognitions, items, jobs."""
    status = service.workspace.status()
    lines = [
        *service.metrics.lines(),
        *_gauge("opengcd_start_time_seconds", {"": service.metrics.started}),
        "# TYPE opengcd_recognized_vectors_total counter",
        f"opengcd_recognized_vectors_total {service.recognition.rows}",
        *_gauge("opengcd_items", {f'{{source="{source}"}}': number for source, number in status.counts.items()}),
        *_gauge("opengcd_groups", {"": len(status.groups)}),
        *_gauge("opengcd_unfinished_jobs", {"": len(service.workspace.jobs.latest(unfinished=True))}),
        *_gauge("opengcd_last_edit", {"": service.workspace.review.last_edit()}),
        *_gauge("process_resident_memory_bytes", _memory()),
    ]
    return PlainTextResponse("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4; charset=utf-8")


def _gauge(name: str, values: dict[str, float]) -> Iterable[str]:
    if values:
        yield f"# TYPE {name} gauge"
    for labels, value in values.items():
        yield f"{name}{labels} {value}"


def _memory() -> dict[str, float]:
    try:
        with open("/proc/self/statm") as file:
            return {"": int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")}
    except OSError:  # only Linux has it
        return {}
