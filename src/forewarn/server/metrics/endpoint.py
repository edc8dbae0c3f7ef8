"""The /metrics endpoint for Prometheus, and middleware that counts requests.

A scrape writes nothing and works even while the store is unavailable. Scrapes run in a
worker thread, not on an event loop.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Final, TypeAlias

from fastapi import APIRouter, Header, Request
from fastapi.responses import Response
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.core import Metric as Family
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from forewarn.server.control.context import Caller, Services
from forewarn.server.control.openapi import text_in
from forewarn.server.error_responses import ARM_ROOT, is_arm
from forewarn.server.metrics.catalog import Kind, Metric
from forewarn.server.metrics.sources import (
    MetricSources,
    Scrape,
    SharedQuery,
    query_store,
    scrape,
)

_AnyFamily: TypeAlias = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily

router = APIRouter(tags=["metrics"])

_OPEN_METRICS = "application/openmetrics-text"
_METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"})
_FAMILIES: Final[Mapping[Kind, type[_AnyFamily]]] = {
    "counter": CounterMetricFamily,
    "gauge": GaugeMetricFamily,
    "histogram": HistogramMetricFamily,
}
_STORE_TIMEOUT = 2.0  # seconds for a store that hangs; Prometheus gives up after ten


class MetricsEndpoint(Collector):
    """Reads all values once per scrape."""

    def __init__(self, sources: Callable[[], MetricSources], timeout: float) -> None:
        """Create an endpoint that reads `sources`.

        A scrape waits at most `timeout` seconds for the store.
        """
        self._sources = sources
        self._store = SharedQuery(lambda: query_store(sources()))
        self._timeout = timeout

    def collect(self) -> Iterator[Family]:
        """Yield all metrics; metrics without a value are empty."""
        journal, sources = self._store.run(self._timeout), self._sources()
        scraped = scrape(sources, journal)
        for metric in sources.metrics_reader.metrics.table:
            yield _family(metric, scraped)


def make_registry(
    sources: Callable[[], MetricSources], *, timeout: float = _STORE_TIMEOUT
) -> CollectorRegistry:
    """Return a new registry for one service, because a process may run several."""
    registry = CollectorRegistry()
    registry.register(MetricsEndpoint(sources, timeout))
    ProcessCollector(registry=registry)
    return registry


@router.get(
    "/metrics",
    response_class=Response,
    responses=text_in("text/plain", _OPEN_METRICS),
)
def metrics(
    request: Request, by: Caller, accept: Annotated[str, Header()] = ""
) -> Response:
    """Return metrics in the Prometheus text format, or as OpenMetrics if requested."""
    del by
    media_type = _OPEN_METRICS if _OPEN_METRICS in accept.lower() else ""
    encode, content_type = choose_encoder(media_type)
    return Response(
        encode(request.app.state.registry),
        headers={"Content-Type": content_type, "Cache-Control": "no-store"},
    )


class TrafficCounter:
    """Middleware that counts requests."""

    def __init__(self, app: ASGIApp, services: Services) -> None:
        """Wrap `app`."""
        self._app = app
        self._metrics = services.sources.metrics_reader.metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count a request when its response starts; a failure counts as a 500."""
        began, has_started = time.monotonic(), False

        async def send_and_count(message: Message) -> None:
            nonlocal has_started
            if message["type"] == "http.response.start" and not has_started:
                has_started = True
                self._count(scope, int(message["status"]), began)
            await send(message)

        self._metrics.in_flight += 1
        try:
            await self._app(scope, receive, send_and_count)
        except Exception:
            if not has_started:  # an outer middleware responds
                self._count(scope, 500, began)
            raise
        finally:
            self._metrics.in_flight -= 1

    def _count(self, scope: Scope, status: int, began: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        default = f"/{ARM_ROOT}" if is_arm(scope["path"]) else "other"
        route = getattr(scope.get("route"), "path", default)  # a template, not names
        with self._metrics.lock:
            self._metrics.requests[method, route, str(status)] += 1
            self._metrics.durations.observe(time.monotonic() - began, method, route)


def _family(metric: Metric, scraped: Scrape) -> Family:
    family = _FAMILIES[metric.kind](metric.name, metric.help, labels=metric.labels)
    values = metric.read(scraped)
    if not isinstance(values, Mapping):
        values = {} if values is None else {(): values}
    for labels, value in values.items():
        family.add_metric(labels, *(value if isinstance(value, tuple) else [value]))
    return family
