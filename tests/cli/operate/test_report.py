"""Tests of `forewarn report`."""

import json
from collections.abc import Callable

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.samples import E1, M1, Json
from tests.cli.support.service import Service

Report = Callable[..., str]


def spread(least: int, median: int, longest: int) -> Json:
    return {
        "least_seconds": least,
        "median_seconds": median,
        "longest_seconds": longest,
    }


def a_row(**changed: object) -> Json:
    row: Json = {
        "type": "Reboot",
        "cause": "platform",
        "announced": 12,
        "started": 11,
        "completed": 10,
        "canceled": 1,
        "failed": 1,
        "withdrawn": 2,
    }
    return {**row, **changed}


def a_report(**changed: object) -> Json:
    report: Json = {
        "month": "2026-01",
        "since": "2026-01-01T00:00:00Z",
        "until": "2026-02-01T00:00:00Z",
        "made_at": "2026-02-03T12:00:00Z",
        "group": None,
        "maintenances": [a_row(), a_row(cause="host-failure")],
        "starts": {
            "total": 11,
            "kept": 11,
            "whole_notice": 6,
            "approved_early": 4,
            "without_notice": 1,
            "broken": 0,
        },
        "notice": {
            "promised": spread(30, 900, 900),
            "given": spread(30, 900, 86_400),
            "used": spread(0, 60, 5400),
        },
        "saved_seconds": {"total": 9000, "by_type": {"Reboot": 5400, "Freeze": 3600}},
        "approvals": {
            "total": 5,
            "by_via": {"metadata": 4, "policy": 1},
            "by_whom": [
                {"by": "web-0", "via": "metadata", "approvals": 4},
                {"by": None, "via": "policy", "approvals": 1},
            ],
        },
        "never_shown": {"total": 0, "events": []},
        "stuck": {"maintenances": 0, "seconds": 0},
        "outages": {"total": 0, "seconds": 0},
        "broken_promises": [],
    }
    return {**report, **changed}


BROKEN: Json = {
    "maintenance": M1,
    "type": "Reboot",
    "groups": ["web", "db"],
    "started_at": "2026-01-05T12:14:00Z",
    "too_soon_seconds": 60.25,
}

PAGE = """\
Maintenance in January 2026, all groups

VMs always got the promised notice. 11 maintenance operations started: 6 after
full notice, 4 early with all approvals, 1 without notice as announced.

OPERATIONS            ANNOUNCED  STARTED  COMPLETED  CANCELED  FAILED  WITHDRAWN
Reboot, platform      12         11       10         1         1       2
Reboot, host-failure  12         11       10         1         1       2

NOTICE    SHORTEST  MEDIAN  LONGEST
promised  30 s      15 min  15 min
given     30 s      15 min  1 d
used      0 s       1 min   1 h 30 min

Time saved by early approval: 2 h 30 min (Reboot 1 h 30 min, Freeze 1 h).

APPROVED BY  VIA       APPROVALS
web-0        metadata  4
(automatic)  policy    1

5 approvals in total: 4 via metadata, 1 via policy.

No operation got stuck.
The service had no outage longer than a minute.
"""


@pytest.fixture
def report(service: Service, run: Cli) -> Report:
    """Return a function that prints a report with the given changes."""

    def print_report(line: str = "report", code: int = 0, **changed: object) -> str:
        service.respond("GET", "/v1/report", a_report(**changed))
        return run(line, code=code)

    return print_report


def test_month_is_printed_on_one_page(report: Report) -> None:
    assert report().splitlines() == PAGE.splitlines()


def test_month_and_group_are_requested(report: Report, service: Service) -> None:
    report("report --month 2026-01 --group web")
    assert service.only("GET").query == [("month", "2026-01"), ("group", "web")]


def test_current_month_is_reported_until_now(report: Report) -> None:
    assert report(made_at="2026-01-09T08:00:00Z", group="web").startswith(
        "Maintenance in January 2026, group web, as of 2026-01-09 08:00:00Z\n"
    )


def test_future_month_is_reported_as_not_started(report: Report) -> None:
    title = report(made_at="2025-12-31T23:59:59Z").splitlines()[0]
    assert (
        title == "Maintenance in January 2026, all groups (this month has not started)"
    )


def test_broken_promise_is_reported_and_exits_with_1(report: Report) -> None:
    starts = {"total": 2, "kept": 1, "whole_notice": 1, "broken": 1}
    printed = report(code=1, starts=starts, broken_promises=[BROKEN])
    page = " ".join(printed.split())
    assert "1 OPERATION STARTED TOO EARLY. This is a bug" in page
    assert "2 maintenance operations started: 1 after full notice, 1 too" in page
    assert (
        f"{M1}: Reboot, started 2026-01-05 12:14:00Z, 1 min too early for web, db"
        in page
    )


@pytest.mark.parametrize(("broken", "code"), [([], 0), ([BROKEN], 1)])
def test_json_has_everything(report: Report, broken: list[Json], code: int) -> None:
    printed = report("report --json", code, broken_promises=broken)
    assert json.loads(printed) == a_report(broken_promises=broken)


def test_groups_that_never_saw_an_event_are_named(report: Report) -> None:
    event = {
        "event": E1,
        "maintenance": M1,
        "type": "Reboot",
        "group": "web",
        "started_at": "2026-01-05T12:15:00Z",
    }
    page = report(never_shown={"total": 25, "events": [event] * 25})
    assert "25 events started before any VM saw them" in page
    assert page.count("  2026-01-05 12:15:00Z  Reboot for group web\n") == 20
    assert "  and 5 more\n" in page


def test_stuck_maintenance_and_outages_are_reported(report: Report) -> None:
    stuck, outages = {"maintenances": 1, "seconds": 7200}, {"total": 2, "seconds": 90}
    page = report(stuck=stuck, outages=outages)
    assert "Stuck: 1 operation, 2 h in total.\n" in page
    assert "Service downtime: 2 outages, 1 min 30 s in total.\n" in page


def test_report_on_a_month_without_maintenance_is_short(report: Report) -> None:
    nothing = {"total": 0}
    page = report(maintenances=[], starts=nothing, notice=None, approvals=nothing)
    assert "No maintenance started, so no VM missed its promised notice." in page
    assert "APPROVED BY" not in page


@pytest.mark.parametrize("month", ["2026-13", "2026", "now", "0000-01", "9999-12"])
def test_invalid_month_is_wrong_usage(service: Service, month: str, run: Cli) -> None:
    assert "expected a month such as 2026-11" in run(f"report --month {month}", code=2)
    assert service.requests == []
