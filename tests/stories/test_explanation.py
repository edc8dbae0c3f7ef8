"""Explanations: what a maintenance waits for, since and until when, and who ends it."""

from datetime import timedelta
from typing import Any

from tests.stories.rows import CANCELED, COMPLETED, SCHEDULED, STARTED
from tests.stories.world import NOON, ServiceHarness, rfc3339

EXPLANATION = ["phase", "due", "waits", "starts_at_latest", "sentences"]
WAIT = ["kind", "what", "since", "opens_at", "opened_by"]


def at(**after: int) -> str:
    """Return a time after noon."""
    return rfc3339(NOON + timedelta(**after))


def explained(world: ServiceHarness, made: Any) -> Any:
    """Return an explanation after checking its keys and sentences."""
    explanation = world.explains(made)
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


def said(told: Any) -> str:
    """Return all sentences but the first, which names the maintenance."""
    return " ".join(told["sentences"][1:])


def test_every_group_without_an_approval_is_named(world: ServiceHarness) -> None:
    maintenance = world.does("hosts/host-a/maintain", type="Reboot")
    world.wait(minutes=1)
    world.approves("web-1", maintenance)
    explanation = explained(world, maintenance)
    assert (explanation["phase"], explanation["due"]) == (SCHEDULED, False)
    assert {wait["kind"] for wait in explanation["waits"]} == {"approval", "time"}
    missing = waits(explanation, "approval")
    assert len(missing) == 2
    assert all(wait["since"] == at() for wait in missing)
    for group in ("db", "lone"):
        assert any(group in wait["what"] for wait in missing)
        assert group in said(explanation)
    assert not any("web" in wait["what"] for wait in missing)
    (time,) = waits(explanation, "time")
    assert time["opens_at"] == at(minutes=15)
    assert explanation["starts_at_latest"] == at(minutes=15)


def test_a_blocked_maintenance_names_its_blocker(worked: ServiceHarness) -> None:
    holder = worked.does("hosts/host-a/maintain", type="Reboot")
    maintenance = worked.does("hosts/host-b/maintain", type="Reboot")
    worked.wait(minutes=16)
    explanation = explained(worked, maintenance)
    assert (explanation["phase"], explanation["due"]) == (SCHEDULED, True)
    assert {wait["kind"] for wait in explanation["waits"]} == {"gate"}
    for wait in explanation["waits"]:
        assert wait["opens_at"] is None
        assert wait["since"] == at(minutes=15)
        assert holder["id"] in wait["what"] or holder["id"] in wait["opened_by"]
    assert explanation["starts_at_latest"] is None
    for name in (holder["id"], "web", "db", "web-0", "db-0"):
        assert name in said(explanation)


def test_no_wait_began_before_the_announcement(worked: ServiceHarness) -> None:
    holder = worked.does("maintenances", type="Reboot", vms=["web-0"])
    worked.approves("web-0", holder)
    worked.wait(minutes=10)
    maintenance = worked.does("maintenances", type="Reboot", vms=["web-1"])
    explanation = explained(worked, maintenance)
    assert {wait["since"] for wait in explanation["waits"]} == {at(minutes=10)}


def test_a_blocker_with_a_known_end_shows_it(world: ServiceHarness) -> None:
    world.does("maintenances", type="Freeze", vms=["web-0"], duration_seconds=600)
    maintenance = world.does("maintenances", type="Reboot", vms=["web-1"])
    world.wait(minutes=15)
    explanation = explained(world, maintenance)
    (gate,) = waits(explanation, "gate")
    assert gate["opens_at"] == at(minutes=25)
    world.wait(minutes=10)
    assert world.phase(maintenance) == STARTED


def test_a_queued_maintenance_names_the_one_before_it(worked: ServiceHarness) -> None:
    running = worked.does("maintenances", type="Reboot", vms=["db-0"])
    worked.approves("db-1", running)
    old = worked.does("hosts/host-b/maintain", type="Reboot")
    worked.wait(minutes=1)
    young = worked.does("maintenances", type="Reboot", vms=["web-2"])
    worked.wait(minutes=20)
    explanation = explained(worked, young)
    assert (explanation["phase"], explanation["due"]) == (SCHEDULED, True)
    (gate,) = explanation["waits"]
    assert gate["kind"] == "gate"
    assert old["id"] in said(explanation)
    assert "web-1" in said(explanation)
    assert running["id"] not in gate["what"]
    assert explanation["starts_at_latest"] is None


def test_an_approved_but_blocked_maintenance_is_due(worked: ServiceHarness) -> None:
    first = worked.does("maintenances", type="Reboot", vms=["web-0"])
    worked.approves("web-0", first)
    maintenance = worked.does("maintenances", type="Reboot", vms=["web-1"])
    worked.wait(minutes=1)
    worked.approves("web-1", maintenance)
    explanation = explained(worked, maintenance)
    assert (explanation["due"], [wait["kind"] for wait in explanation["waits"]]) == (
        True,
        ["gate"],
    )
    assert first["id"] in said(explanation)


def test_a_terminate_names_those_that_start_with_it(world: ServiceHarness) -> None:
    first = world.does("vms/batch_0/delete")
    world.wait(minutes=1)
    other = world.does("vms/batch_1/delete")
    world.approves("batch_0", first)
    explanation = explained(world, first)
    assert (explanation["phase"], explanation["due"]) == (SCHEDULED, True)
    (gate,) = explanation["waits"]
    assert (gate["kind"], gate["opens_at"]) == ("gate", at(minutes=10))
    assert gate["since"] == at(minutes=1)
    assert explanation["starts_at_latest"] == at(minutes=10)
    for name in (other["id"], "batch", "batch_1"):
        assert name in said(explanation)


def test_the_lead_has_a_known_end(worked: ServiceHarness) -> None:
    maintenance = worked.does("maintenances", type="Reboot", vms=["web-0"])
    worked.approves("web-0", maintenance)
    worked.wait(1)
    explanation = explained(worked, maintenance)
    assert explanation["phase"] == STARTED
    (lead,) = waits(explanation, "lead")
    assert (lead["since"], lead["opens_at"]) == (at(), at(seconds=2))
    assert explanation["starts_at_latest"] is None


def test_unfinished_work_names_the_remaining_vms(worked: ServiceHarness) -> None:
    maintenance = worked.does("hosts/host-a/maintain", type="Reboot")
    worked.wait(minutes=20)
    explanation = explained(worked, maintenance)
    assert explanation["phase"] == STARTED
    assert {wait["kind"] for wait in explanation["waits"]} == {"work"}
    (work,) = explanation["waits"]
    assert work["opens_at"] is None
    for vm in ("web-0", "db-0", "lone"):
        assert vm in said(explanation)
    assert "complete" in said(explanation)


def test_finished_work_is_shown_until_its_duration_is_over(
    world: ServiceHarness,
) -> None:
    maintenance = world.does(
        "maintenances", type="Freeze", vms=["web-0"], duration_seconds=60
    )
    world.approves("web-0", maintenance)
    world.wait(1)
    explanation = explained(world, maintenance)
    assert [(w["kind"], w["opens_at"]) for w in explanation["waits"]] == [
        ("time", at(seconds=60))
    ]


def test_a_failed_host_waits_until_it_is_reported_recovered(
    world: ServiceHarness,
) -> None:
    maintenance = world.does("hosts/host-a/failed")
    world.wait(minutes=10)
    explanation = explained(world, maintenance)
    assert explanation["phase"] == STARTED
    (wait,) = explanation["waits"]
    assert (wait["since"], wait["opens_at"]) == (at(), None)
    assert "recovered" in wait["opened_by"]
    assert "host-a" in said(explanation)
    assert "recovered" in said(explanation)


def test_a_failed_host_with_a_duration_shows_when_it_ends(
    world: ServiceHarness,
) -> None:
    maintenance = world.does("hosts/host-a/failed", duration_seconds=600)
    world.wait(minutes=1)
    explanation = explained(world, maintenance)
    assert [wait["opens_at"] for wait in explanation["waits"]] == [at(minutes=10)]


def test_a_blocked_emergency_is_explained(worked: ServiceHarness) -> None:
    first = worked.does("maintenances", type="Reboot", vms=["web-0"])
    worked.approves("web-0", first)
    maintenance = worked.does(
        "maintenances", type="Reboot", vms=["web-1"], emergency=True, reason="smoke"
    )
    explanation = explained(worked, maintenance)
    assert (explanation["phase"], explanation["due"]) == (SCHEDULED, True)
    assert [wait["kind"] for wait in explanation["waits"]] == ["gate"]
    assert first["id"] in said(explanation)


def test_a_withdrawn_event_needs_no_approval(world: ServiceHarness) -> None:
    maintenance = world.does("hosts/host-a/maintain", type="Reboot")
    world.moves("web-0", host="host-d")
    missing = waits(explained(world, maintenance), "approval")
    assert not any("web" in wait["what"] for wait in missing)
    assert len(missing) == 2


def test_a_finished_maintenance_waits_for_nothing(world: ServiceHarness) -> None:
    done = world.does("maintenances", type="Reboot", vms=["web-0"])
    world.approves("web-0", done)
    world.wait(5)
    off = world.does("maintenances", type="Reboot", vms=["db-0"])
    world.tells(off, "cancel")
    for maintenance, phase in ((done, COMPLETED), (off, CANCELED)):
        explanation = explained(world, maintenance)
        assert (explanation["phase"], explanation["due"]) == (phase, False)
        assert (explanation["waits"], explanation["starts_at_latest"]) == ([], None)


def test_an_event_id_is_accepted_in_any_case(world: ServiceHarness) -> None:
    maintenance = world.does("maintenances", type="Reboot", vms=["web-0"])
    by_event = {"id": maintenance["events"][0]["id"].lower()}
    assert world.explains(by_event) == world.explains(maintenance)
    assert world.story(by_event) == world.story(maintenance)


def test_an_unknown_maintenance_gets_404(shared: ServiceHarness) -> None:
    for what in ("explain", "story"):
        answer = shared.service.ask("GET", f"/v1/maintenances/nothing/{what}")
        assert (answer.status, bool(answer.detail)) == (404, True)
