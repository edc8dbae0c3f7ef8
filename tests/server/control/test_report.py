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


@pytest.mark.parametrize("month", ["2026-13", "now", "", "2026-11-01"])
def test_invalid_month_gets_422(shared: RunningService, month: str) -> None:
    answer = shared.request("GET", f"/v1/report?month={month}")
    assert answer.status == 422
    assert "such as 2026-11" in answer.detail


def test_unknown_group_gets_404(shared: RunningService) -> None:
    answer = shared.request("GET", "/v1/report?group=nobody")
    assert answer.status == 404
    assert "nobody" in answer.detail
