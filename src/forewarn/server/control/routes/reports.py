"""The monthly report: /v1/report."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query

from forewarn.core.queries.report import MonthlyReport, Quantiles, month_named
from forewarn.core.queries.views import Json, plain_view, rfc3339
from forewarn.engine.queries import report_on
from forewarn.server.control.context import Caller, ServicesDep

router = APIRouter(tags=["journal"])

_Month = Annotated[
    str | None, Query(description="such as 2026-11; the present one, if absent")
]
_Group = Annotated[
    str | None,
    Query(min_length=1, max_length=255, description="all groups, if absent"),
]


@router.get("/v1/report")
def report(
    services: ServicesDep, by: Caller, month: _Month = None, group: _Group = None
) -> Json:
    """Report on a month in UTC: what was done, and whether promises were kept."""
    del by
    named = None if month is None else month_named(month)
    return _report_view(report_on(services.engine, named, group))


def _report_view(report: MonthlyReport) -> Json:
    """Return a report as JSON."""
    starts, notices = report.starts, report.notices
    return {
        "month": report.month.name,
        "since": rfc3339(report.month.since),
        "until": rfc3339(report.month.until),
        "made_at": rfc3339(report.made_at),
        "group": report.group,
        "maintenances": [plain_view(item) for item in report.counts],
        "starts": {
            "total": starts.total,
            "kept": starts.kept,
            "whole_notice": starts.whole,
            "approved_early": starts.early,
            "without_notice": starts.at_once,
            "broken": starts.broken,
        },
        "notice": None
        if notices is None
        else {
            "promised": _quantiles(notices.promised),
            "given": _quantiles(notices.given),
            "used": _quantiles(notices.used),
        },
        "saved_seconds": {
            "total": _seconds(sum(report.saved.values(), timedelta(0))),
            "by_type": {
                kind.value: _seconds(saved) for kind, saved in report.saved.items()
            },
        },
        "approvals": {
            "total": sum(report.approvals.values()),
            "by_via": {via.value: count for via, count in report.approvals.items()},
            "by_whom": [plain_view(item) for item in report.approvers],
        },
        "never_shown": {
            "total": report.unseen_events,
            "events": [plain_view(item) for item in report.unseen],
        },
        "stuck": {
            "maintenances": report.stuck_maintenances,
            "seconds": _seconds(report.stuck),
        },
        "outages": {"total": report.outages, "seconds": _seconds(report.away)},
        "broken_promises": [
            {
                "maintenance": item.maintenance,
                "type": item.type.value,
                "groups": [*item.groups],
                "started_at": rfc3339(item.started_at),
                "too_soon_seconds": item.too_soon.total_seconds(),
            }
            for item in report.broken
        ],
    }


def _quantiles(quantiles: Quantiles) -> Json:
    return {
        "least_seconds": _seconds(quantiles.least),
        "median_seconds": _seconds(quantiles.median),
        "longest_seconds": _seconds(quantiles.longest),
    }


def _seconds(duration: timedelta) -> int:
    return int(duration.total_seconds())
