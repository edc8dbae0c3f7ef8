"""Announcements over the control API: responses, previews and refusals."""

from typing import Any

import pytest
from tests.server.support.service import YEAR, RunningService

from forewarn.server.control.models import Announcement


@pytest.fixture
def noon(service: RunningService) -> RunningService:
    """Return a service whose clock stands at noon on January 1."""
    body = {"to": f"{YEAR}-01-01T12:00:00Z"}
    assert service.request("POST", "/v1/clock/advance", body).status == 200
    return service


# --- responses ---------------------------------------------------------------


def test_announcement_returns_the_maintenance(noon: RunningService) -> None:
    answer = noon.request(
        "POST", "/v1/maintenances", {"type": "Reboot", "vms": ["web-0"]}
    )
    assert answer.status == 201
    (maintenance,) = answer.json["maintenances"]
    (event,) = maintenance.pop("events")
    assert maintenance == {
        "id": "m-1",
        "guid": maintenance["guid"],
        "type": "Reboot",
        "source": "Platform",
        "cause": "platform",
        "phase": "SCHEDULED",
        "host": None,
        "vms": ["web-0"],
        "not_before": f"{YEAR}-01-01T12:15:00Z",
        "duration_seconds": -1,
        "description": "Host server is undergoing maintenance.",
        "announced_at": f"{YEAR}-01-01T12:00:00Z",
        "started_at": None,
        "ended_at": None,
        "stuck_since": None,
        "reason": None,
    }
    assert event == {
        "id": event["id"],
        "maintenance": "m-1",
        "group": "web",
        "resources": ["web-0"],
        "status": "Scheduled",
        "approved_by": None,
        "approved_via": None,
        "approved_at": None,
        "seen_by": [],
    }


def test_maintenance_is_found_by_its_own_id_or_an_event_id(
    noon: RunningService,
) -> None:
    maintenance = noon.announce(vms=["web-0"])
    event = maintenance["events"][0]["id"]
    assert noon.get(f"/v1/maintenances/{maintenance['id']}") == maintenance
    assert noon.get(f"/v1/maintenances/{event}") == maintenance
    assert noon.get(f"/v1/maintenances/{event.lower()}") == maintenance


def test_event_ids_are_case_insensitive(noon: RunningService) -> None:
    (event,) = noon.announce(vms=["web-0"])["events"]
    assert noon.get(f"/v1/events/{event['id']}") == event
    assert noon.get(f"/v1/events/{event['id'].lower()}") == event


def test_maintenance_id_stands_for_its_only_event(noon: RunningService) -> None:
    (event,) = noon.announce(vms=["web-0"])["events"]
    assert noon.get("/v1/events/m-1") == event
    approval = noon.request("POST", "/v1/events/m-1/approve")
    assert (approval.status, approval.json["id"]) == (200, event["id"])


@pytest.mark.parametrize("word", ["reboot", "REBOOT", "Reboot"])
def test_type_and_source_are_case_insensitive(noon: RunningService, word: str) -> None:
    maintenance = noon.announce(type=word, source="uSER", vms=["web-0"])
    assert (maintenance["type"], maintenance["source"]) == ("Reboot", "User")


def test_announcement_keeps_all_given_values(noon: RunningService) -> None:
    maintenance = noon.announce(
        vms=["web-0"],
        notice_seconds=1000,
        duration_seconds=42,
        description="A new fan.",
        reason="ticket 7",
    )
    assert maintenance["not_before"] == f"{YEAR}-01-01T12:16:40Z"
    assert maintenance["duration_seconds"] == 42
    assert (maintenance["description"], maintenance["reason"]) == (
        "A new fan.",
        "ticket 7",
    )


def test_null_means_absent(noon: RunningService) -> None:
    nothing = dict.fromkeys({*Announcement.model_fields} - {"type", "vms"})
    assert noon.announce(vms=["web-0"], **nothing)["source"] == "Platform"


def test_not_before_is_returned_in_utc(noon: RunningService) -> None:
    maintenance = noon.announce(
        vms=["web-0"], not_before=f"{YEAR}-01-01T15:00:00+02:00"
    )
    assert maintenance["not_before"] == f"{YEAR}-01-01T13:00:00Z"
    assert noon.get(f"/v1/maintenances/{maintenance['id']}") == maintenance


# --- preview -----------------------------------------------------------------


def without_ids(maintenances: Any) -> Any:
    for maintenance in maintenances:
        maintenance["id"] = maintenance["guid"] = None
        for event in maintenance["events"]:
            event["id"] = event["maintenance"] = None
    return maintenances


def test_preview_equals_the_announcement(noon: RunningService) -> None:
    body = {"type": "Redeploy", "group": "web", "reason": "why not"}
    preview = noon.request("POST", "/v1/maintenances?dry_run=true", body)
    announced = noon.request("POST", "/v1/maintenances", body).json["maintenances"]
    assert preview.status == 200
    assert without_ids(preview.json["maintenances"]) == without_ids(announced)


def test_preview_explains_each_maintenance_without_ids(noon: RunningService) -> None:
    body = {"type": "Reboot", "group": "web"}
    preview = noon.request("POST", "/v1/maintenances?dry_run=true", body).json
    first, second, third = preview["explained"]
    assert len(preview["maintenances"]) == 3
    assert first["starts_at_latest"] == preview["maintenances"][0]["not_before"]
    assert "Will wait for the reboot of web-0" in second["waits"][-1]["text"]
    end = {"text": "that operation finishes", "command": None}
    assert third["waits"][-1]["unblocked_by"] == [end]
    assert "?" not in str(preview["explained"])


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/maintenances", {"type": "Freeze", "vms": ["web-0"]}),
        ("/v1/hosts/host-a/maintain", {}),
    ],
)
def test_a_freeze_is_announced_as_a_live_migration(
    noon: RunningService, path: str, body: dict[str, object]
) -> None:
    announced = noon.request("POST", path, {**body, "live_migration": True}).json
    (maintenance,) = announced["maintenances"]
    assert "memory-preserving Live Migration" in maintenance["description"]
    assert maintenance["duration_seconds"] == 5


# --- refusals ----------------------------------------------------------------


def test_too_little_notice_is_refused_with_the_earliest_time(
    noon: RunningService,
) -> None:
    body = {"type": "Reboot", "vms": ["web-0"], "notice_seconds": 1}
    refused = noon.request("POST", "/v1/maintenances", body)
    earliest = refused.json["earliest"]
    assert (refused.status, earliest) == (422, f"{YEAR}-01-01T12:15:00Z")
    assert earliest in refused.detail
    assert noon.announce(vms=["web-0"], not_before=earliest)["not_before"] == earliest
