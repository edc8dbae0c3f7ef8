"""The monthly report."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query

from forewarn.core.queries.report import MonthlyReport, Quantiles, month_named
from forewarn.core.queries.views import Json, plain_view, rfc3339
from forewarn.engine.queries import report_on
from forewarn.server.control.context import Caller, Service

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
    service: Service, by: Caller, month: _Month = None, group: _Group = None
) -> Json:
    """Report on a month in UTC: what was done, and whether promises were kept."""
    del by
    named = None if month is None else month_named(month)
    return report_view(report_on(service.engine, named, group))


def report_view(made: MonthlyReport) -> Json:
    """Return a report as JSON."""
    starts, notices = made.starts, made.notices
    return {
        "month": made.month.name,
        "since": rfc3339(made.month.since),
        "until": rfc3339(made.month.until),
        "made_at": rfc3339(made.made_at),
        "group": made.group,
        "maintenances": [plain_view(item) for item in made.counts],
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
            "promised": _spread(notices.promised),
            "given": _spread(notices.given),
            "used": _spread(notices.used),
        },
        "saved_seconds": {
            "total": _seconds(sum(made.saved.values(), timedelta(0))),
            "by_type": {
                kind.value: _seconds(saved) for kind, saved in made.saved.items()
            },
        },
        "approvals": {
            "total": sum(made.approvals.values()),
            "by_via": {via.value: number for via, number in made.approvals.items()},
            "by_whom": [plain_view(item) for item in made.approvers],
        },
        "never_shown": {
            "total": made.unseen_events,
            "events": [plain_view(item) for item in made.unseen],
        },
        "stuck": {
            "maintenances": made.stuck_maintenances,
            "seconds": _seconds(made.stuck),
        },
        "outages": {"total": made.outages, "seconds": _seconds(made.away)},
        "broken_promises": [
            {
                "maintenance": item.maintenance,
                "type": item.type.value,
                "groups": [*item.groups],
                "started_at": rfc3339(item.started_at),
                "too_soon_seconds": item.too_soon.total_seconds(),
            }
            for item in made.broken
        ],
    }


def _spread(spread: Quantiles) -> Json:
    return {
        "least_seconds": _seconds(spread.least),
        "median_seconds": _seconds(spread.median),
        "longest_seconds": _seconds(spread.longest),
    }


def _seconds(length: timedelta) -> int:
    return int(length.total_seconds())
