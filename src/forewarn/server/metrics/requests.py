"""Metrics of requests, from VMs and from operators."""

from collections.abc import Sequence

from forewarn.server.faults import FaultKind
from forewarn.server.limits import Verdict
from forewarn.server.metrics.kinds import Count, Gauge, Histogram, Metric, Values, one
from forewarn.server.metrics.sources import Look

_TURNED_AWAY = {Verdict.REFUSED: "told", Verdict.DROPPED: "dropped"}


def _requests(look: Look) -> Values:
    return {
        (kind.route, kind.version, str(kind.status)): count
        for kind, count in look.sources.answered().items()
    }


def _turned_away(look: Look) -> Values:
    counts = look.sources.turned_away
    return {(how,): counts[verdict] for verdict, how in _TURNED_AWAY.items()}


def _faults(look: Look) -> Values:
    counts = look.sources.faults()
    return {(kind.value,): counts.get(kind, 0) for kind in FaultKind}


#: In the order of the output.
REQUESTS: Sequence[Metric] = (
    Count(
        "forewarn_metadata_requests",
        ("route", "api_version", "status"),
        "Requests of VMs that were answered. `route` is scheduledevents, instance,"
        " versions or other; `api_version` one of the seven of scheduledevents, none"
        " or other.",
        _requests,
    ),
    Gauge(
        "forewarn_metadata_requests_held",
        (),
        "Requests that wait for a change of the document.",
        lambda look: one(look.sources.held()),
    ),
    Gauge(
        "forewarn_metadata_connections",
        (),
        "Connections of VMs.",
        lambda look: one(look.sources.connections()),
    ),
    Count(
        "forewarn_metadata_connections_refused",
        ("how",),
        "Connections beyond a limit: `told` so by a 503, or `dropped` without a word.",
        _turned_away,
    ),
    Count(
        "forewarn_faults",
        ("kind",),
        "Requests of VMs that were answered wrongly on purpose.",
        _faults,
    ),
    Count(
        "forewarn_control_requests",
        ("method", "route", "status"),
        "Requests to the control plane, by the template of their path; those of Azure"
        " Resource Manager are all `/subscriptions`.",
        lambda look: look.traffic.requests.all(),
    ),
    Gauge(
        "forewarn_control_requests_in_flight",
        (),
        "Requests to the control plane that are being answered, streams and this"
        " scrape included.",
        lambda look: one(look.traffic.in_flight),
    ),
    Histogram(
        "forewarn_control_request_duration_seconds",
        ("method", "route"),
        "How long requests to the control plane took until the answer began.",
        lambda look: look.traffic.times.all(),
    ),
)
