"""Announcing over the API: what is answered, what is only previewed, what refused."""

from typing import Any

import pytest
from tests.server.support.service import YEAR, Answer, RunningService


@pytest.fixture
def noon(service: RunningService) -> RunningService:
    """A service whose clock stands at noon of 1 January."""
    body = {"to": f"{YEAR}-01-01T12:00:00Z"}
    assert service.ask("POST", "/v1/clock/advance", body).status == 200
    return service


# --- what is answered --------------------------------------------------------


def test_an_announcement_is_answered_with_the_maintenance(noon: RunningService) -> None:
    answer = noon.ask("POST", "/v1/maintenances", {"type": "Reboot", "vms": ["web-0"]})
    assert answer.status == 201
    (made,) = answer.json["maintenances"]
    (event,) = made.pop("events")
    assert made == {
        "id": made["id"],
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
        "maintenance": made["id"],
        "group": "web",
        "resources": ["web-0"],
        "status": "Scheduled",
        "approved_by": None,
        "approved_via": None,
        "approved_at": None,
        "seen_by": [],
    }


def test_what_was_announced_can_be_read_by_the_id_of_either(
    noon: RunningService,
) -> None:
    made = noon.announce(vms=["web-0"])
    event = made["events"][0]["id"]
    assert noon.get(f"/v1/maintenances/{made['id']}") == made
    assert noon.get(f"/v1/maintenances/{event}") == made
    assert noon.get(f"/v1/maintenances/{event.lower()}") == made


def test_an_event_can_be_read_by_its_id_in_any_case(noon: RunningService) -> None:
    (event,) = noon.announce(vms=["web-0"])["events"]
    assert noon.get(f"/v1/events/{event['id']}") == event
    assert noon.get(f"/v1/events/{event['id'].lower()}") == event


def test_a_maintenance_is_no_event(noon: RunningService) -> None:
    made = noon.announce(vms=["web-0"])
    assert noon.ask("GET", f"/v1/events/{made['id']}").status == 404


@pytest.mark.parametrize("word", ["reboot", "REBOOT", "Reboot"])
def test_type_and_source_are_taken_in_any_case(noon: RunningService, word: str) -> None:
    made = noon.announce(type=word, source="uSER", vms=["web-0"])
    assert (made["type"], made["source"]) == ("Reboot", "User")


DEFAULTS = {
    "Freeze": ("12:15:00", 9, "Platform", "platform"),
    "Reboot": ("12:15:00", -1, "Platform", "platform"),
    "Redeploy": ("12:10:00", -1, "Platform", "platform"),
    "Preempt": ("12:00:30", -1, "Platform", "eviction"),
    "Terminate": ("12:05:00", -1, "User", "scale-in"),
}


@pytest.mark.parametrize("kind", DEFAULTS)
def test_each_type_has_its_defaults(noon: RunningService, kind: str) -> None:
    made = noon.announce(type=kind, vms=["web-0"])
    time, duration, source, cause = DEFAULTS[kind]
    assert made["not_before"] == f"{YEAR}-01-01T{time}Z"
    assert made["duration_seconds"] == duration
    assert (made["source"], made["cause"]) == (source, cause)


@pytest.mark.parametrize(
    ("kind", "cause"), [("Reboot", "user-restart"), ("Redeploy", "user-redeploy")]
)
def test_what_a_user_asks_for_has_its_own_cause(
    noon: RunningService, kind: str, cause: str
) -> None:
    made = noon.announce(type=kind, source="User", vms=["web-0"])
    assert made["cause"] == cause
    assert made["description"].endswith("as requested by authorized user.")


def test_everything_that_is_given_is_kept(noon: RunningService) -> None:
    made = noon.announce(
        vms=["web-0"],
        notice_seconds=1000,
        duration_seconds=42,
        description="A new fan.",
        reason="ticket 7",
    )
    assert made["not_before"] == f"{YEAR}-01-01T12:16:40Z"
    assert made["duration_seconds"] == 42
    assert (made["description"], made["reason"]) == ("A new fan.", "ticket 7")


def test_null_is_as_absent(noon: RunningService) -> None:
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


def test_a_time_is_rounded_up_to_a_whole_second(noon: RunningService) -> None:
    made = noon.announce(vms=["web-0"], not_before=f"{YEAR}-01-01T13:00:00.001Z")
    assert made["not_before"] == f"{YEAR}-01-01T13:00:01Z"


def test_a_time_in_another_zone_is_answered_in_utc(noon: RunningService) -> None:
    made = noon.announce(vms=["web-0"], not_before=f"{YEAR}-01-01T15:00:00+02:00")
    assert made["not_before"] == f"{YEAR}-01-01T13:00:00Z"
    assert noon.get(f"/v1/maintenances/{made['id']}") == made


def test_a_host_is_one_act_with_an_event_for_each_group(noon: RunningService) -> None:
    made = noon.announce(host="host-a")
    assert made["host"] == "host-a"
    told = {event["group"]: event["resources"] for event in made["events"]}
    assert told == {"web": ["web-0"], "db": ["db-0"]}


def test_a_group_is_several_acts_in_the_order_of_update_domains(
    noon: RunningService,
) -> None:
    body = {"type": "Reboot", "group": "web"}
    made = noon.ask("POST", "/v1/maintenances", body).json["maintenances"]
    assert [each["vms"] for each in made] == [["web-0"], ["web-1"], ["web-2"]]


def test_names_are_taken_in_any_case_and_answered_as_they_are(
    noon: RunningService,
) -> None:
    assert noon.announce(vms=["WEB-0"])["vms"] == ["web-0"]
    assert noon.announce(host="HOST-A")["host"] == "host-a"


def test_a_vm_named_twice_is_one(noon: RunningService) -> None:
    assert noon.announce(vms=["web-0", "WEB-0"])["vms"] == ["web-0"]


def test_an_emergency_without_a_time_starts_at_once(noon: RunningService) -> None:
    made = noon.announce(vms=["web-0"], emergency=True, reason="smoke")
    assert made["phase"] == "STARTED"
    assert made["not_before"] == made["announced_at"] == f"{YEAR}-01-01T12:00:00Z"
    assert made["description"] == "Host server is undergoing an emergency repair."


def test_an_emergency_may_give_less_notice_than_the_minimum(
    noon: RunningService,
) -> None:
    made = noon.announce(
        vms=["web-0"], emergency=True, reason="smoke", notice_seconds=60
    )
    assert made["not_before"] == f"{YEAR}-01-01T12:01:00Z"


# --- preview -----------------------------------------------------------------


def without_ids(maintenances: Any) -> Any:
    for each in maintenances:
        each["id"] = None
        for event in each["events"]:
            event["id"] = event["maintenance"] = None
    return maintenances


def test_a_preview_is_what_would_be_announced(noon: RunningService) -> None:
    body = {"type": "Redeploy", "group": "web", "reason": "why not"}
    preview = noon.ask("POST", "/v1/maintenances/preview", body)
    made = noon.ask("POST", "/v1/maintenances", body).json["maintenances"]
    assert preview.status == 200
    assert without_ids(preview.json["maintenances"]) == without_ids(made)


def test_a_preview_explains_each_without_ids(noon: RunningService) -> None:
    body = {"type": "Reboot", "group": "web"}
    shown = noon.ask("POST", "/v1/maintenances/preview", body).json
    first, second, third = shown["explained"]
    assert len(shown["maintenances"]) == 3
    assert first["starts_at_latest"] == shown["maintenances"][0]["not_before"]
    assert "the one before it, Reboot of web-0" in str(second["sentences"])
    assert third["waits"][-1]["opened_by"] == "the one before it, when it is over"
    assert "?" not in str(shown["explained"])


def test_a_preview_changes_nothing(noon: RunningService) -> None:
    before = noon.facts()
    body = {"type": "Reboot", "group": "web"}
    noon.ask("POST", "/v1/maintenances/preview", body)
    assert noon.facts() == before
    assert noon.get("/v1/maintenances")["items"] == []


# --- refused -----------------------------------------------------------------


def announce(service: RunningService, **body: object) -> Answer:
    return service.ask("POST", "/v1/maintenances", body)


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


def test_the_earliest_time_is_accepted(noon: RunningService) -> None:
    refused = announce(noon, type="Reboot", vms=["web-0"], notice_seconds=1)
    earliest = refused.json["earliest"]
    assert noon.announce(vms=["web-0"], not_before=earliest)["not_before"] == earliest


@pytest.mark.parametrize(
    "target", [{"vms": ["web-0", "nobody"]}, {"host": "nobody"}, {"group": "nobody"}]
)
@pytest.mark.parametrize("path", ["/v1/maintenances", "/v1/maintenances/preview"])
def test_an_unknown_name_is_refused_and_nothing_is_announced(
    noon: RunningService, target: dict[str, object], path: str
) -> None:
    answer = noon.ask("POST", path, {"type": "Reboot", **target})
    assert answer.status == 404
    assert "nobody" in answer.detail
    assert noon.get("/v1/maintenances")["items"] == []
