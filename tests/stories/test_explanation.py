"""What a maintenance waits for, since when, until when, and who could open it."""

from datetime import timedelta
from typing import Any

from tests.stories.rows import CANCELED, COMPLETED, SCHEDULED, STARTED
from tests.stories.world import NOON, World, rfc3339

EXPLANATION = ["phase", "due", "waits", "starts_at_latest", "sentences"]
WAIT = ["kind", "what", "since", "opens_at", "opened_by"]


def at(**after: int) -> str:
    """A time after noon."""
    return rfc3339(NOON + timedelta(**after))


def explained(world: World, made: Any) -> Any:
    """An explanation that has all its keys, in sentences that are some."""
    told = world.explains(made)
    assert [*told] == EXPLANATION
    assert all([*wait] == WAIT for wait in told["waits"])
    assert told["sentences"]
    assert all(each[0].isupper() and each[-1] == "." for each in told["sentences"])
    return told


def waits(told: Any, kind: str) -> list[Any]:
    """The waits of one kind."""
    return [each for each in told["waits"] if each["kind"] == kind]


def said(told: Any) -> str:
    """All that is said after the first sentence, which names the maintenance."""
    return " ".join(told["sentences"][1:])


def test_each_group_that_has_not_approved_is_named(world: World) -> None:
    made = world.does("hosts/host-a/maintain", type="Reboot")
    world.wait(minutes=1)
    world.approves("web-1", made)
    told = explained(world, made)
    assert (told["phase"], told["due"]) == (SCHEDULED, False)
    assert {each["kind"] for each in told["waits"]} == {"approval", "time"}
    missing = waits(told, "approval")
    assert len(missing) == 2
    assert all(each["since"] == at() for each in missing)
    for group in ("db", "lone"):
        assert any(group in each["what"] for each in missing)
        assert group in said(told)
    assert not any("web" in each["what"] for each in missing)
    (time,) = waits(told, "time")
    assert time["opens_at"] == at(minutes=15)
    assert told["starts_at_latest"] == at(minutes=15)


def test_a_gate_names_what_holds_it(worked: World) -> None:
    holder = worked.does("hosts/host-a/maintain", type="Reboot")
    made = worked.does("hosts/host-b/maintain", type="Reboot")
    worked.wait(minutes=16)
    told = explained(worked, made)
    assert (told["phase"], told["due"]) == (SCHEDULED, True)
    assert {each["kind"] for each in told["waits"]} == {"gate"}
    for each in told["waits"]:
        assert each["opens_at"] is None
        assert each["since"] == at(minutes=15)
        assert holder["id"] in each["what"] or holder["id"] in each["opened_by"]
    assert told["starts_at_latest"] is None
    for name in (holder["id"], "web", "db", "web-0", "db-0"):
        assert name in said(told)


def test_nothing_has_waited_for_longer_than_it_is_there(worked: World) -> None:
    holder = worked.does("maintenances", type="Reboot", vms=["web-0"])
    worked.approves("web-0", holder)
    worked.wait(minutes=10)
    made = worked.does("maintenances", type="Reboot", vms=["web-1"])
    told = explained(worked, made)
    assert {each["since"] for each in told["waits"]} == {at(minutes=10)}


def test_a_gate_that_ends_by_itself_says_when(world: World) -> None:
    world.does("maintenances", type="Freeze", vms=["web-0"], duration_seconds=600)
    made = world.does("maintenances", type="Reboot", vms=["web-1"])
    world.wait(minutes=15)
    told = explained(world, made)
    (gate,) = waits(told, "gate")
    assert gate["opens_at"] == at(minutes=25)
    world.wait(minutes=10)
    assert world.phase(made) == STARTED


def test_whoever_queues_is_told_behind_whom(worked: World) -> None:
    running = worked.does("maintenances", type="Reboot", vms=["db-0"])
    worked.approves("db-1", running)
    old = worked.does("hosts/host-b/maintain", type="Reboot")
    worked.wait(minutes=1)
    young = worked.does("maintenances", type="Reboot", vms=["web-2"])
    worked.wait(minutes=20)
    told = explained(worked, young)
    assert (told["phase"], told["due"]) == (SCHEDULED, True)
    (gate,) = told["waits"]
    assert gate["kind"] == "gate"
    assert old["id"] in said(told)
    assert "web-1" in said(told)
    assert running["id"] not in gate["what"]
    assert told["starts_at_latest"] is None


def test_what_is_approved_but_gated_is_due(worked: World) -> None:
    first = worked.does("maintenances", type="Reboot", vms=["web-0"])
    worked.approves("web-0", first)
    made = worked.does("maintenances", type="Reboot", vms=["web-1"])
    worked.wait(minutes=1)
    worked.approves("web-1", made)
    told = explained(worked, made)
    assert (told["due"], [each["kind"] for each in told["waits"]]) == (True, ["gate"])
    assert first["id"] in said(told)


def test_a_terminate_names_those_that_it_goes_with(world: World) -> None:
    one = world.does("vms/batch_0/delete")
    world.wait(minutes=1)
    other = world.does("vms/batch_1/delete")
    world.approves("batch_0", one)
    told = explained(world, one)
    assert (told["phase"], told["due"]) == (SCHEDULED, True)
    (gate,) = told["waits"]
    assert (gate["kind"], gate["opens_at"]) == ("gate", at(minutes=10))
    assert gate["since"] == at(minutes=1)
    assert told["starts_at_latest"] == at(minutes=10)
    for name in (other["id"], "batch", "batch_1"):
        assert name in said(told)


def test_the_lead_ends_by_itself(worked: World) -> None:
    made = worked.does("maintenances", type="Reboot", vms=["web-0"])
    worked.approves("web-0", made)
    worked.wait(1)
    told = explained(worked, made)
    assert told["phase"] == STARTED
    (lead,) = waits(told, "lead")
    assert (lead["since"], lead["opens_at"]) == (at(), at(seconds=2))
    assert told["starts_at_latest"] is None


def test_open_work_names_those_still_to_do(worked: World) -> None:
    made = worked.does("hosts/host-a/maintain", type="Reboot")
    worked.wait(minutes=20)
    told = explained(worked, made)
    assert told["phase"] == STARTED
    assert {each["kind"] for each in told["waits"]} == {"work"}
    (work,) = told["waits"]
    assert work["opens_at"] is None
    for vm in ("web-0", "db-0", "lone"):
        assert vm in said(told)
    assert "complete" in said(told)


def test_what_is_done_is_shown_for_a_while(world: World) -> None:
    made = world.does("maintenances", type="Freeze", vms=["web-0"], duration_seconds=60)
    world.approves("web-0", made)
    world.wait(1)
    told = explained(world, made)
    assert [(w["kind"], w["opens_at"]) for w in told["waits"]] == [
        ("time", at(seconds=60))
    ]


def test_a_failed_host_waits_for_somebody_to_say_that_it_is_well(world: World) -> None:
    made = world.does("hosts/host-a/failed")
    world.wait(minutes=10)
    told = explained(world, made)
    assert told["phase"] == STARTED
    (wait,) = told["waits"]
    assert (wait["since"], wait["opens_at"]) == (at(), None)
    assert "recovered" in wait["opened_by"]
    assert "host-a" in said(told)
    assert "recovered" in said(told)


def test_a_failed_host_with_a_duration_says_when_it_ends(world: World) -> None:
    made = world.does("hosts/host-a/failed", duration_seconds=600)
    world.wait(minutes=1)
    told = explained(world, made)
    assert [each["opens_at"] for each in told["waits"]] == [at(minutes=10)]


def test_an_emergency_behind_a_gate_is_explained(worked: World) -> None:
    first = worked.does("maintenances", type="Reboot", vms=["web-0"])
    worked.approves("web-0", first)
    made = worked.does(
        "maintenances", type="Reboot", vms=["web-1"], emergency=True, reason="smoke"
    )
    told = explained(worked, made)
    assert (told["phase"], told["due"]) == (SCHEDULED, True)
    assert [each["kind"] for each in told["waits"]] == ["gate"]
    assert first["id"] in said(told)


def test_a_withdrawn_event_is_not_waited_for(world: World) -> None:
    made = world.does("hosts/host-a/maintain", type="Reboot")
    world.moves("web-0", host="host-d")
    missing = waits(explained(world, made), "approval")
    assert not any("web" in each["what"] for each in missing)
    assert len(missing) == 2


def test_what_is_over_waits_for_nothing(world: World) -> None:
    done = world.does("maintenances", type="Reboot", vms=["web-0"])
    world.approves("web-0", done)
    world.wait(5)
    off = world.does("maintenances", type="Reboot", vms=["db-0"])
    world.tells(off, "cancel")
    for made, phase in ((done, COMPLETED), (off, CANCELED)):
        told = explained(world, made)
        assert (told["phase"], told["due"]) == (phase, False)
        assert (told["waits"], told["starts_at_latest"]) == ([], None)


def test_an_event_id_will_do(world: World) -> None:
    made = world.does("maintenances", type="Reboot", vms=["web-0"])
    by_event = {"id": made["events"][0]["id"].lower()}
    assert world.explains(by_event) == world.explains(made)
    assert world.story(by_event) == world.story(made)


def test_there_is_nothing_to_explain_of_the_unknown(shared: World) -> None:
    for what in ("explain", "story"):
        answer = shared.service.ask("GET", f"/v1/maintenances/nothing/{what}")
        assert (answer.status, bool(answer.detail)) == (404, True)
