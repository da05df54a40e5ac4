"""Metrics for Prometheus, in its text format."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi.responses import PlainTextResponse
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from opengcd.service.authentication import guarded
from opengcd.service.state import Service, State

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Seconds: the upper bounds of the buckets of the histogram."""
METHODS = {"GET", "HEAD", "POST", "PUT", "DELETE"}
"""Others are counted together: a client could send any number of different ones."""


class Metrics:
    """Request counts and durations of one service, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "opengcd_requests", "Requests answered.", ["method", "route", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "opengcd_request_seconds",
            "Seconds from a request to the start of its answer.",
            ["route"],
            buckets=BOUNDS,
            registry=self.registry,
        )
        started = Gauge("opengcd_start_time_seconds", "When the service started.", registry=self.registry)
        started.set_to_current_time()
        ProcessCollector(registry=self.registry)  # Linux only; elsewhere it reports nothing

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(method if method in METHODS else "other", route, status).inc()
        self._seconds.labels(route).observe(seconds)


class WorkspaceCollector(Collector):
    """Reads the numbers of the workspace whenever Prometheus asks for them."""

    def __init__(self, state: State) -> None:
        self._state = state

    def collect(self) -> Iterator[Metric]:
        """Yield the present state of the workspace."""
        workspace = self._state.workspace
        status = workspace.status()
        yield CounterMetricFamily(
            "opengcd_recognized_vectors", "Vectors recognised.", value=self._state.recognition.rows
        )
        items = GaugeMetricFamily("opengcd_items", "Images in the workspace.", labels=["source"])
        for source, number in status.counts.items():
            items.add_metric([source], number)
        yield items
        unfinished = workspace.jobs.latest(unfinished=True)
        yield GaugeMetricFamily("opengcd_groups", "Groups under review.", value=len(status.groups))
        yield GaugeMetricFamily("opengcd_unfinished_jobs", "Jobs that are running or waiting.", value=len(unfinished))
        yield GaugeMetricFamily("opengcd_last_edit", "The number of the last edit.", value=workspace.review.last_edit())


reading = guarded("read", "health")


@reading.get(
    "/metrics",
    summary="Show the metrics",
    response_description="The metrics, in the text format of Prometheus.",
    response_class=PlainTextResponse,
)
def metrics(service: Service) -> PlainTextResponse:
    """Return metrics for Prometheus: requests, recognised vectors, images, groups and jobs."""
    return PlainTextResponse(generate_latest(service.metrics.registry), media_type=CONTENT_TYPE_PLAIN_0_0_4)
