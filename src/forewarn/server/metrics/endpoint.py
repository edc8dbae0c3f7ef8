"""The endpoint /metrics, for Prometheus.

A scrape writes nothing, and works while the store is unavailable. It runs in a thread
of the pool, not on an event loop.
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

from forewarn.server.control.context import Caller
from forewarn.server.metrics.catalog import (
    LIFE,
    REQUESTS,
    SERVICE,
    Gauge,
    Histogram,
    Metric,
)
from forewarn.server.metrics.sources import (
    MetricSources,
    Scrape,
    SharedQuery,
    Traffic,
    query_store,
    scrape,
)

METRICS: Sequence[Metric] = (*SERVICE, *LIFE, *REQUESTS)

router = APIRouter(tags=["metrics"])

_OPEN_METRICS = "application/openmetrics-text"
_STORE_TIMEOUT = 2.0  # seconds for a store that hangs; Prometheus gives up after ten


class MetricsEndpoint(Collector):
    """Reads all values once per scrape."""

    def __init__(
        self, sources: Callable[[], MetricSources], traffic: Traffic, timeout: float
    ) -> None:
        """Read `sources` and `traffic`; give the store at most `timeout` seconds."""
        self._sources = sources
        self._traffic = traffic
        self._store = SharedQuery(lambda: query_store(sources()))
        self._timeout = timeout

    def collect(self) -> Iterator[Family]:
        """Yield all metrics; those without a value are empty."""
        journal = self._store.run(self._timeout)
        scraped = scrape(self._sources(), self._traffic, journal)
        for metric in METRICS:
            yield _family(metric, scraped)


def make_registry(
    sources: Callable[[], MetricSources],
    traffic: Traffic,
    *,
    timeout: float = _STORE_TIMEOUT,
) -> CollectorRegistry:
    """Return a registry of its own: one process may hold several services."""
    registry = CollectorRegistry()
    registry.register(MetricsEndpoint(sources, traffic, timeout))
    ProcessCollector(registry=registry)
    return registry


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(
    request: Request, by: Caller, accept: Annotated[str, Header()] = ""
) -> Response:
    """Tell numbers for Prometheus, or as OpenMetrics where that is asked for."""
    del by
    media_type = _OPEN_METRICS if _OPEN_METRICS in accept.lower() else ""
    encode, content_type = choose_encoder(media_type)
    return Response(
        encode(request.app.state.registry),
        headers={"Content-Type": content_type, "Cache-Control": "no-store"},
    )


def _family(metric: Metric, scraped: Scrape) -> Family:
    if isinstance(metric, Histogram):
        histogram = HistogramMetricFamily(
            metric.name, metric.help, labels=metric.labels
        )
        for labels, distribution in metric.read(scraped).items():
            buckets = [
                (_bound(up_to), float(count)) for up_to, count in distribution.up_to
            ]
            histogram.add_metric(labels, buckets, distribution.total)
        return histogram
    kind = GaugeMetricFamily if isinstance(metric, Gauge) else CounterMetricFamily
    family = kind(metric.name, metric.help, labels=metric.labels)
    for labels, value in metric.read(scraped).items():
        family.add_metric(labels, value)
    return family


def _bound(up_to: float) -> str:
    return "+Inf" if up_to == float("inf") else str(float(up_to))
