"""Monthly report over the control API."""

import pytest
from tests.server.support.service import YEAR, RunningService


def test_report_covers_the_maintenance_of_a_month(service: RunningService) -> None:
    noon = f"{YEAR}-06-15T12:00:00Z"
    assert service.request("POST", "/v1/clock/advance", {"to": noon}).status == 200
    maintenance = service.announce(vms=["web-0"], notice_seconds=1800)
    service.document("web-1")
    service.approve_as("web-1", maintenance["events"][0]["id"])
    service.advance(5)
    report = service.get(f"/v1/report?month={YEAR}-06")
    assert report["month"] == f"{YEAR}-06"
    assert report["group"] is None
    assert report["maintenances"] == [
        {
            "type": "Reboot",
            "cause": "platform",
            "announced": 1,
            "started": 1,
            "completed": 1,
            "canceled": 0,
            "failed": 0,
            "withdrawn": 0,
        }
    ]
    assert report["starts"] == {
        "total": 1,
        "kept": 1,
        "whole_notice": 0,
        "approved_early": 1,
        "without_notice": 0,
        "broken": 0,
    }
    assert report["notice"]["promised"] == {
        "least_seconds": 900,
        "median_seconds": 900,
        "longest_seconds": 900,
    }
    assert report["notice"]["given"]["median_seconds"] == 1800
    assert report["notice"]["used"]["median_seconds"] == 0
    assert report["saved_seconds"] == {"total": 1800, "by_type": {"Reboot": 1800}}
    approver = {"by": "web-1", "via": "metadata", "approvals": 1}
    assert report["approvals"] == {
        "total": 1,
        "by_via": {"metadata": 1},
        "by_whom": [approver],
    }
    assert report["never_shown"] == {"total": 0, "events": []}
    assert report["stuck"] == {"maintenances": 0, "seconds": 0}
    assert report["outages"] == {"total": 0, "seconds": 0}
    assert report["broken_promises"] == []


def test_events_that_were_never_shown_are_listed(service: RunningService) -> None:
    maintenance = service.announce(vms=["lone"])
    service.advance(3600)
    (started,) = service.facts("Started")
    report = service.get(f"/v1/report?month={started['at'][:7]}&group=LONE")
    assert report["group"] == "lone"
    assert report["never_shown"]["events"] == [
        {
            "event": maintenance["events"][0]["id"],
            "maintenance": maintenance["id"],
            "type": "Reboot",
            "group": "lone",
            "started_at": started["at"],
        }
    ]


def test_report_defaults_to_the_current_month(shared: RunningService) -> None:
    now = shared.get("/v1/clock")["now"]
    assert shared.get("/v1/report")["month"] == now[:7]


def test_report_of_a_month_without_maintenance_is_empty(shared: RunningService) -> None:
    report = shared.get(f"/v1/report?month={YEAR + 50}-12")
    assert report["since"] == f"{YEAR + 50}-12-01T00:00:00Z"
    assert report["until"] == f"{YEAR + 51}-01-01T00:00:00Z"
    assert report["maintenances"] == []
    assert report["notice"] is None


@pytest.mark.parametrize("month", ["2026-13", "now", "", "2026-11-01"])
def test_invalid_month_gets_422(shared: RunningService, month: str) -> None:
    answer = shared.request("GET", f"/v1/report?month={month}")
    assert answer.status == 422
    assert "such as 2026-11" in answer.detail


def test_unknown_group_gets_404(shared: RunningService) -> None:
    answer = shared.request("GET", "/v1/report?group=nobody")
    assert answer.status == 404
    assert "nobody" in answer.detail
