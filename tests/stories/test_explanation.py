"""Explanations: what a maintenance waits for, since and until when, and who ends it."""

from datetime import timedelta
from typing import Any

from tests.stories.harness import NOON, ServiceHarness, rfc3339
from tests.stories.rows import CANCELED, COMPLETED, SCHEDULED, STARTED

EXPLANATION = ["phase", "due", "waits", "starts_at_latest", "sentences"]
WAIT = ["kind", "what", "since", "opens_at", "opened_by"]


def at(**after: int) -> str:
    """Return a time after noon."""
    return rfc3339(NOON + timedelta(**after))


def explained(harness: ServiceHarness, made: Any) -> Any:
    """Return an explanation after checking its keys and sentences."""
    explanation = harness.explanation(made)
    assert [*explanation] == EXPLANATION
    assert all([*wait] == WAIT for wait in explanation["waits"])
    assert explanation["sentences"]
    assert all(
        sentence[0].isupper() and sentence[-1] == "."
        for sentence in explanation["sentences"]
    )
    return explanation


def waits(told: Any, kind: str) -> list[Any]:
    """Return the waits of one kind."""
    return [wait for wait in told["waits"] if wait["kind"] == kind]


def sentences_of(told: Any) -> str:
    """Return all sentences but the first, which names the maintenance."""
    return " ".join(told["sentences"][1:])


def test_every_group_without_an_approval_is_named(harness: ServiceHarness) -> None:
    maintenance = harness.create("hosts/host-a/maintain", type="Reboot")
    harness.wait(minutes=1)
    harness.approve("web-1", maintenance)
    explanation = explained(harness, maintenance)
    assert (explanation["phase"], explanation["due"]) == (SCHEDULED, False)
    assert {wait["kind"] for wait in explanation["waits"]} == {"approval", "time"}
    missing = waits(explanation, "approval")
    assert len(missing) == 2
    assert all(wait["since"] == at() for wait in missing)
    for group in ("db", "lone"):
        assert any(group in wait["what"] for wait in missing)
        assert group in sentences_of(explanation)
    assert not any("web" in wait["what"] for wait in missing)
    (time,) = waits(explanation, "time")
    assert time["opens_at"] == at(minutes=15)
    assert explanation["starts_at_latest"] == at(minutes=15)


def test_a_blocked_maintenance_names_its_blocker(
    operator_harness: ServiceHarness,
) -> None:
    holder = operator_harness.create("hosts/host-a/maintain", type="Reboot")
    maintenance = operator_harness.create("hosts/host-b/maintain", type="Reboot")
    operator_harness.wait(minutes=16)
    explanation = explained(operator_harness, maintenance)
    assert (explanation["phase"], explanation["due"]) == (SCHEDULED, True)
    assert {wait["kind"] for wait in explanation["waits"]} == {"gate"}
    for wait in explanation["waits"]:
        assert wait["opens_at"] is None
        assert wait["since"] == at(minutes=15)
        assert holder["id"] in wait["what"] or holder["id"] in wait["opened_by"]
    assert explanation["starts_at_latest"] is None
    for name in (holder["id"], "web", "db", "web-0", "db-0"):
        assert name in sentences_of(explanation)


def test_no_wait_began_before_the_announcement(
    operator_harness: ServiceHarness,
) -> None:
    holder = operator_harness.create("maintenances", type="Reboot", vms=["web-0"])
    operator_harness.approve("web-0", holder)
    operator_harness.wait(minutes=10)
    maintenance = operator_harness.create("maintenances", type="Reboot", vms=["web-1"])
    explanation = explained(operator_harness, maintenance)
    assert {wait["since"] for wait in explanation["waits"]} == {at(minutes=10)}


def test_a_blocker_with_a_known_end_shows_it(harness: ServiceHarness) -> None:
    harness.create("maintenances", type="Freeze", vms=["web-0"], duration_seconds=600)
    maintenance = harness.create("maintenances", type="Reboot", vms=["web-1"])
    harness.wait(minutes=15)
    explanation = explained(harness, maintenance)
    (gate,) = waits(explanation, "gate")
    assert gate["opens_at"] == at(minutes=25)
    harness.wait(minutes=10)
    assert harness.phase(maintenance) == STARTED


def test_a_queued_maintenance_names_the_one_before_it(
    operator_harness: ServiceHarness,
) -> None:
    running = operator_harness.create("maintenances", type="Reboot", vms=["db-0"])
    operator_harness.approve("db-1", running)
    old = operator_harness.create("hosts/host-b/maintain", type="Reboot")
    operator_harness.wait(minutes=1)
    young = operator_harness.create("maintenances", type="Reboot", vms=["web-2"])
    operator_harness.wait(minutes=20)
    explanation = explained(operator_harness, young)
    assert (explanation["phase"], explanation["due"]) == (SCHEDULED, True)
    (gate,) = explanation["waits"]
    assert gate["kind"] == "gate"
    assert old["id"] in sentences_of(explanation)
    assert "web-1" in sentences_of(explanation)
    assert running["id"] not in gate["what"]
    assert explanation["starts_at_latest"] is None


def test_an_approved_but_blocked_maintenance_is_due(
    operator_harness: ServiceHarness,
) -> None:
    first = operator_harness.create("maintenances", type="Reboot", vms=["web-0"])
    operator_harness.approve("web-0", first)
    maintenance = operator_harness.create("maintenances", type="Reboot", vms=["web-1"])
    operator_harness.wait(minutes=1)
    operator_harness.approve("web-1", maintenance)
    explanation = explained(operator_harness, maintenance)
    assert (explanation["due"], [wait["kind"] for wait in explanation["waits"]]) == (
        True,
        ["gate"],
    )
    assert first["id"] in sentences_of(explanation)


def test_a_terminate_names_those_that_start_with_it(harness: ServiceHarness) -> None:
    first = harness.create("vms/batch_0/delete")
    harness.wait(minutes=1)
    other = harness.create("vms/batch_1/delete")
    harness.approve("batch_0", first)
    explanation = explained(harness, first)
    assert (explanation["phase"], explanation["due"]) == (SCHEDULED, True)
    (gate,) = explanation["waits"]
    assert (gate["kind"], gate["opens_at"]) == ("gate", at(minutes=10))
    assert gate["since"] == at(minutes=1)
    assert explanation["starts_at_latest"] == at(minutes=10)
    for name in (other["id"], "batch", "batch_1"):
        assert name in sentences_of(explanation)


def test_the_lead_has_a_known_end(operator_harness: ServiceHarness) -> None:
    maintenance = operator_harness.create("maintenances", type="Reboot", vms=["web-0"])
    operator_harness.approve("web-0", maintenance)
    operator_harness.wait(1)
    explanation = explained(operator_harness, maintenance)
    assert explanation["phase"] == STARTED
    (lead,) = waits(explanation, "lead")
    assert (lead["since"], lead["opens_at"]) == (at(), at(seconds=2))
    assert explanation["starts_at_latest"] is None


def test_unfinished_work_names_the_remaining_vms(
    operator_harness: ServiceHarness,
) -> None:
    maintenance = operator_harness.create("hosts/host-a/maintain", type="Reboot")
    operator_harness.wait(minutes=20)
    explanation = explained(operator_harness, maintenance)
    assert explanation["phase"] == STARTED
    assert {wait["kind"] for wait in explanation["waits"]} == {"work"}
    (work,) = explanation["waits"]
    assert work["opens_at"] is None
    for vm in ("web-0", "db-0", "lone"):
        assert vm in sentences_of(explanation)
    assert "complete" in sentences_of(explanation)


def test_finished_work_is_shown_until_its_duration_is_over(
    harness: ServiceHarness,
) -> None:
    maintenance = harness.create(
        "maintenances", type="Freeze", vms=["web-0"], duration_seconds=60
    )
    harness.approve("web-0", maintenance)
    harness.wait(1)
    explanation = explained(harness, maintenance)
    assert [(w["kind"], w["opens_at"]) for w in explanation["waits"]] == [
        ("time", at(seconds=60))
    ]


def test_a_failed_host_waits_until_it_is_reported_recovered(
    harness: ServiceHarness,
) -> None:
    maintenance = harness.create("hosts/host-a/failed")
    harness.wait(minutes=10)
    explanation = explained(harness, maintenance)
    assert explanation["phase"] == STARTED
    (wait,) = explanation["waits"]
    assert (wait["since"], wait["opens_at"]) == (at(), None)
    assert "recovered" in wait["opened_by"]
    assert "host-a" in sentences_of(explanation)
    assert "recovered" in sentences_of(explanation)


def test_a_failed_host_with_a_duration_shows_when_it_ends(
    harness: ServiceHarness,
) -> None:
    maintenance = harness.create("hosts/host-a/failed", duration_seconds=600)
    harness.wait(minutes=1)
    explanation = explained(harness, maintenance)
    assert [wait["opens_at"] for wait in explanation["waits"]] == [at(minutes=10)]


def test_a_blocked_emergency_is_explained(operator_harness: ServiceHarness) -> None:
    first = operator_harness.create("maintenances", type="Reboot", vms=["web-0"])
    operator_harness.approve("web-0", first)
    maintenance = operator_harness.create(
        "maintenances", type="Reboot", vms=["web-1"], emergency=True, reason="smoke"
    )
    explanation = explained(operator_harness, maintenance)
    assert (explanation["phase"], explanation["due"]) == (SCHEDULED, True)
    assert [wait["kind"] for wait in explanation["waits"]] == ["gate"]
    assert first["id"] in sentences_of(explanation)


def test_a_withdrawn_event_needs_no_approval(harness: ServiceHarness) -> None:
    maintenance = harness.create("hosts/host-a/maintain", type="Reboot")
    harness.change_vm("web-0", host="host-d")
    missing = waits(explained(harness, maintenance), "approval")
    assert not any("web" in wait["what"] for wait in missing)
    assert len(missing) == 2


def test_a_finished_maintenance_waits_for_nothing(harness: ServiceHarness) -> None:
    done = harness.create("maintenances", type="Reboot", vms=["web-0"])
    harness.approve("web-0", done)
    harness.wait(5)
    off = harness.create("maintenances", type="Reboot", vms=["db-0"])
    harness.send_command(off, "cancel")
    for maintenance, phase in ((done, COMPLETED), (off, CANCELED)):
        explanation = explained(harness, maintenance)
        assert (explanation["phase"], explanation["due"]) == (phase, False)
        assert (explanation["waits"], explanation["starts_at_latest"]) == ([], None)


def test_an_event_id_is_accepted_in_any_case(harness: ServiceHarness) -> None:
    maintenance = harness.create("maintenances", type="Reboot", vms=["web-0"])
    by_event = {"id": maintenance["events"][0]["id"].lower()}
    assert harness.explanation(by_event) == harness.explanation(maintenance)
    assert harness.story(by_event) == harness.story(maintenance)


def test_an_unknown_maintenance_gets_404(shared: ServiceHarness) -> None:
    for what in ("explain", "story"):
        answer = shared.service.request("GET", f"/v1/maintenances/nothing/{what}")
        assert (answer.status, bool(answer.detail)) == (404, True)
