"""Announcements over the control API: responses, previews and refusals."""

from typing import Any

import pytest
from tests.server.support.service import YEAR, ReceivedResponse, RunningService


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
        "id": maintenance["id"],
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
        "maintenance": maintenance["id"],
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


def test_maintenance_id_is_not_an_event_id(noon: RunningService) -> None:
    maintenance = noon.announce(vms=["web-0"])
    assert noon.request("GET", f"/v1/events/{maintenance['id']}").status == 404


@pytest.mark.parametrize("word", ["reboot", "REBOOT", "Reboot"])
def test_type_and_source_are_case_insensitive(noon: RunningService, word: str) -> None:
    maintenance = noon.announce(type=word, source="uSER", vms=["web-0"])
    assert (maintenance["type"], maintenance["source"]) == ("Reboot", "User")


DEFAULTS = {
    "Freeze": ("12:15:00", 9, "Platform", "platform"),
    "Reboot": ("12:15:00", -1, "Platform", "platform"),
    "Redeploy": ("12:10:00", -1, "Platform", "platform"),
    "Preempt": ("12:00:30", -1, "Platform", "eviction"),
    "Terminate": ("12:05:00", -1, "User", "scale-in"),
}


@pytest.mark.parametrize("kind", DEFAULTS)
def test_each_type_has_its_own_defaults(noon: RunningService, kind: str) -> None:
    maintenance = noon.announce(type=kind, vms=["web-0"])
    time, duration, source, cause = DEFAULTS[kind]
    assert maintenance["not_before"] == f"{YEAR}-01-01T{time}Z"
    assert maintenance["duration_seconds"] == duration
    assert (maintenance["source"], maintenance["cause"]) == (source, cause)


@pytest.mark.parametrize(
    ("kind", "cause"), [("Reboot", "user-restart"), ("Redeploy", "user-redeploy")]
)
def test_user_initiated_operation_has_its_own_cause(
    noon: RunningService, kind: str, cause: str
) -> None:
    maintenance = noon.announce(type=kind, source="User", vms=["web-0"])
    assert maintenance["cause"] == cause
    assert maintenance["description"].endswith("as requested by authorized user.")


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
    nothing = dict.fromkeys(
        [
            "host",
            "group",
            "notice_seconds",
            "not_before",
            "duration_seconds",
            "description",
            "source",
            "reason",
            "emergency",
            "ignore_gates",
        ]
    )
    assert noon.announce(vms=["web-0"], **nothing)["source"] == "Platform"


def test_not_before_is_rounded_up_to_a_whole_second(noon: RunningService) -> None:
    maintenance = noon.announce(vms=["web-0"], not_before=f"{YEAR}-01-01T13:00:00.001Z")
    assert maintenance["not_before"] == f"{YEAR}-01-01T13:00:01Z"


def test_not_before_is_returned_in_utc(noon: RunningService) -> None:
    maintenance = noon.announce(
        vms=["web-0"], not_before=f"{YEAR}-01-01T15:00:00+02:00"
    )
    assert maintenance["not_before"] == f"{YEAR}-01-01T13:00:00Z"
    assert noon.get(f"/v1/maintenances/{maintenance['id']}") == maintenance


def test_host_maintenance_has_one_event_per_group(noon: RunningService) -> None:
    maintenance = noon.announce(host="host-a")
    assert maintenance["host"] == "host-a"
    resources = {event["group"]: event["resources"] for event in maintenance["events"]}
    assert resources == {"web": ["web-0"], "db": ["db-0"]}


def test_group_is_split_into_update_domains_in_order(
    noon: RunningService,
) -> None:
    body = {"type": "Reboot", "group": "web"}
    maintenances = noon.request("POST", "/v1/maintenances", body).json["maintenances"]
    assert [maintenance["vms"] for maintenance in maintenances] == [
        ["web-0"],
        ["web-1"],
        ["web-2"],
    ]


def test_names_are_case_insensitive_and_returned_as_defined(
    noon: RunningService,
) -> None:
    assert noon.announce(vms=["WEB-0"])["vms"] == ["web-0"]
    assert noon.announce(host="HOST-A")["host"] == "host-a"


def test_vm_named_twice_counts_once(noon: RunningService) -> None:
    assert noon.announce(vms=["web-0", "WEB-0"])["vms"] == ["web-0"]


def test_emergency_without_a_time_starts_immediately(noon: RunningService) -> None:
    maintenance = noon.announce(vms=["web-0"], emergency=True, reason="smoke")
    assert maintenance["phase"] == "STARTED"
    assert (
        maintenance["not_before"]
        == maintenance["announced_at"]
        == f"{YEAR}-01-01T12:00:00Z"
    )
    assert (
        maintenance["description"] == "Host server is undergoing an emergency repair."
    )


def test_emergency_may_give_less_than_the_minimum_notice(
    noon: RunningService,
) -> None:
    maintenance = noon.announce(
        vms=["web-0"], emergency=True, reason="smoke", notice_seconds=60
    )
    assert maintenance["not_before"] == f"{YEAR}-01-01T12:01:00Z"


# --- preview -----------------------------------------------------------------


def without_ids(maintenances: Any) -> Any:
    for maintenance in maintenances:
        maintenance["id"] = None
        for event in maintenance["events"]:
            event["id"] = event["maintenance"] = None
    return maintenances


def test_preview_equals_the_announcement(noon: RunningService) -> None:
    body = {"type": "Redeploy", "group": "web", "reason": "why not"}
    preview = noon.request("POST", "/v1/maintenances/preview", body)
    announced = noon.request("POST", "/v1/maintenances", body).json["maintenances"]
    assert preview.status == 200
    assert without_ids(preview.json["maintenances"]) == without_ids(announced)


def test_preview_explains_each_maintenance_without_ids(noon: RunningService) -> None:
    body = {"type": "Reboot", "group": "web"}
    preview = noon.request("POST", "/v1/maintenances/preview", body).json
    first, second, third = preview["explained"]
    assert len(preview["maintenances"]) == 3
    assert first["starts_at_latest"] == preview["maintenances"][0]["not_before"]
    assert "the one before it, Reboot of web-0" in str(second["sentences"])
    assert third["waits"][-1]["opened_by"] == "the one before it, when it is over"
    assert "?" not in str(preview["explained"])


def test_preview_changes_nothing(noon: RunningService) -> None:
    before = noon.facts()
    body = {"type": "Reboot", "group": "web"}
    noon.request("POST", "/v1/maintenances/preview", body)
    assert noon.facts() == before
    assert noon.get("/v1/maintenances")["items"] == []


# --- refusals ----------------------------------------------------------------


def announce(service: RunningService, **body: object) -> ReceivedResponse:
    return service.request("POST", "/v1/maintenances", body)


@pytest.mark.parametrize(
    ("given", "minimum"),
    [
        ({"notice_seconds": 899}, f"{YEAR}-01-01T12:15:00Z"),
        ({"notice_seconds": 0}, f"{YEAR}-01-01T12:15:00Z"),
        ({"not_before": f"{YEAR}-01-01T12:14:59Z"}, f"{YEAR}-01-01T12:15:00Z"),
        ({"not_before": "1970-01-01T00:00:00Z"}, f"{YEAR}-01-01T12:15:00Z"),
        ({"type": "Redeploy", "notice_seconds": 599}, f"{YEAR}-01-01T12:10:00Z"),
        ({"type": "Preempt", "notice_seconds": 29}, f"{YEAR}-01-01T12:00:30Z"),
    ],
)
def test_too_little_notice_is_refused_with_the_earliest_time(
    noon: RunningService, given: dict[str, object], minimum: str
) -> None:
    answer = announce(noon, **{"type": "Reboot", "vms": ["web-0"], **given})
    assert answer.status == 422
    assert answer.json["earliest"] == minimum
    assert minimum in answer.detail


def test_earliest_time_is_accepted(noon: RunningService) -> None:
    refused = announce(noon, type="Reboot", vms=["web-0"], notice_seconds=1)
    earliest = refused.json["earliest"]
    assert noon.announce(vms=["web-0"], not_before=earliest)["not_before"] == earliest


@pytest.mark.parametrize(
    "target", [{"vms": ["web-0", "nobody"]}, {"host": "nobody"}, {"group": "nobody"}]
)
@pytest.mark.parametrize("path", ["/v1/maintenances", "/v1/maintenances/preview"])
def test_unknown_name_gets_404_and_announces_nothing(
    noon: RunningService, target: dict[str, object], path: str
) -> None:
    answer = noon.request("POST", path, {"type": "Reboot", **target})
    assert answer.status == 404
    assert "nobody" in answer.detail
    assert noon.get("/v1/maintenances")["items"] == []
