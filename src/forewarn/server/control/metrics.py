"""/metrics: numbers for Prometheus.

A scrape writes nothing, and works while the store is away. It runs in a thread of the
pool, not on a loop.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated

from fastapi import APIRouter, Header, Request
from fastapi.responses import PlainTextResponse, Response
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.core import Metric as Family
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from forewarn.server.control.asked import Caller
from forewarn.server.metrics.asking import Asking
from forewarn.server.metrics.kinds import Gauge, Histogram, Metric
from forewarn.server.metrics.life import LIFE
from forewarn.server.metrics.requests import REQUESTS
from forewarn.server.metrics.service import SERVICE
from forewarn.server.metrics.sources import Look, Sources, ask_store, look
from forewarn.server.metrics.traffic import Traffic

METRICS: Sequence[Metric] = (*SERVICE, *LIFE, *REQUESTS)

router = APIRouter(tags=["metrics"])

_OPEN_METRICS = "application/openmetrics-text"
_PATIENCE = 2.0  # seconds with a store that hangs; Prometheus gives up after ten


class Metrics(Collector):
    """Looks at the service once for each scrape."""

    def __init__(
        self, sources: Callable[[], Sources], traffic: Traffic, patience: float
    ) -> None:
        """Ask `sources` and `traffic`; the store for so many seconds at most."""
        self._sources = sources
        self._traffic = traffic
        self._store = Asking(lambda: ask_store(sources()))
        self._patience = patience

    def collect(self) -> Iterator[Family]:
        """Show all metrics that can be told."""
        journal = self._store.ask(self._patience)
        seen = look(self._sources(), self._traffic, journal)
        for metric in METRICS:
            yield _filled(metric, seen)


def make_registry(
    sources: Callable[[], Sources], traffic: Traffic, *, patience: float = _PATIENCE
) -> CollectorRegistry:
    """Make a registry of our own: several services may live in one process."""
    registry = CollectorRegistry()
    registry.register(Metrics(sources, traffic, patience))
    ProcessCollector(registry=registry)
    return registry


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(
    request: Request, by: Caller, accept: Annotated[str, Header()] = ""
) -> Response:
    """Tell numbers for Prometheus, or as OpenMetrics where that is asked for."""
    del by
    wanted = _OPEN_METRICS if _OPEN_METRICS in accept.lower() else ""
    encode, content_type = choose_encoder(wanted)
    return Response(
        encode(request.app.state.registry),
        headers={"Content-Type": content_type, "Cache-Control": "no-store"},
    )


def _filled(metric: Metric, seen: Look) -> Family:
    if isinstance(metric, Histogram):
        spread = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
        for labels, found in metric.read(seen).items():
            buckets = [(_bound(up_to), float(n)) for up_to, n in found.up_to]
            spread.add_metric(labels, buckets, found.total)
        return spread
    kind = GaugeMetricFamily if isinstance(metric, Gauge) else CounterMetricFamily
    family = kind(metric.name, metric.help, labels=metric.labels)
    for labels, value in metric.read(seen).items():
        family.add_metric(labels, value)
    return family


def _bound(up_to: float) -> str:
    return "+Inf" if up_to == float("inf") else str(float(up_to))
