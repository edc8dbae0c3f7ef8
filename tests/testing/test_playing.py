"""A scenario is played to a real program, and what it does is judged."""

import json
from datetime import timedelta

import pytest
from tests.testing.actors import EAGER, IDLE, an_actor

from forewarn.core.announcing import Order
from forewarn.core.causes import Operation
from forewarn.protocol.types import EventType
from forewarn.server.faults import Fault, FaultKind
from forewarn.testing import scenario as s
from forewarn.testing.fleets import fleet_of
from forewarn.testing.playing import Production, play
from forewarn.testing.verdicts import Played, Result, Verdict

REBOOT = s.Operate(operation=Operation.RESTART, vm="web-0", called="reboot")
SEEN = s.Expect(demand=s.Demand.SEEN, event="reboot", seconds=10)
APPROVED = s.Expect(demand=s.Demand.APPROVED, event="reboot", by="web-0", seconds=10)
POLLED = s.Expect(demand=s.Demand.POLLED, seconds=10)
START = s.AdvanceTo(event="reboot")
END = s.AdvanceTo(event="reboot", is_end=True)


class Heard:
    """Takes down what it is told."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.ended: list[Result] = []

    def begin(self, number: int, what: str) -> None:
        del what
        self.begun.append(number)

    def end(self, result: Result) -> None:
        self.ended.append(result)


def played(
    *steps: s.Step,
    by: object = EAGER,
    throughout: s.Throughout | None = None,
    seed: int | None = None,
    timeout: float = 60.0,
    heard: Heard | None = None,
) -> Played:
    assert isinstance(by, list)
    scenario = s.Scenario(
        name="test",
        title="A test",
        fleet=fleet_of(),
        vm="web-0",
        steps=steps,
        throughout=throughout or s.Throughout(),
    )
    production = Production(command=by, seed=seed, timeout=timeout)
    return play(scenario, production, heard or Heard())


def failure(found: Played) -> Result:
    """The first thing that went wrong."""
    return found.failed[0]


def test_a_program_that_approves_passes_a_whole_life() -> None:
    heard = Heard()
    steps = (REBOOT, SEEN, APPROVED, START, POLLED, END, POLLED)
    found = played(*steps, heard=heard)
    assert found.has_passed, found.failed
    assert heard.begun == [0, 1, 2, 3, 4, 5, 6, 7]
    assert heard.ended == found.results


def test_a_program_that_never_approves_fails_with_the_reason() -> None:
    soon = s.Expect(demand=s.Demand.APPROVED, event="reboot", seconds=0.3)
    found = played(REBOOT, SEEN, soon, START, by=IDLE)
    assert not found.has_passed
    assert failure(found).number == 3
    assert "it posted no approval" in (failure(found).reason or "")
    assert found.results[4].verdict is Verdict.NOT_REACHED
    assert found.results[5].what == "the program keeps running"
    assert found.results[5].verdict is Verdict.NOT_REACHED


def test_who_asks_less_often_than_expected_fails() -> None:
    often = s.Expect(demand=s.Demand.POLLED, times=50, seconds=0.2)
    found = played(REBOOT, SEEN, often, by=IDLE)
    assert failure(found).number == 3


def test_a_program_that_must_wait_is_found_out_when_it_approves() -> None:
    patient = s.Expect(demand=s.Demand.NOT_APPROVED, event="reboot", seconds=10)
    found = played(REBOOT, patient)
    assert failure(found).reason == "reboot was approved by web-0"
    assert failure(found).seconds < 9


def test_a_program_that_waits_passes_where_nothing_may_be_approved() -> None:
    patient = s.Expect(demand=s.Demand.NOT_APPROVED, event="reboot", seconds=0.1)
    throughout = s.Throughout(approves_nothing=True)
    assert played(REBOOT, SEEN, patient, by=IDLE, throughout=throughout).has_passed


def test_another_than_who_must_approve_is_named() -> None:
    other = s.Approve(event="reboot", by="web-1")
    found = played(REBOOT, SEEN, other, APPROVED, by=IDLE)
    assert failure(found).reason == "reboot was approved by web-1, not by web-0"


def test_an_approval_by_a_step_is_not_the_programs() -> None:
    throughout = s.Throughout(approves_nothing=True)
    other = s.Approve(event="reboot", by="web-0")
    assert played(REBOOT, SEEN, other, by=IDLE, throughout=throughout).has_passed


def test_a_program_that_ends_is_not_waited_for() -> None:
    found = played(REBOOT, SEEN, APPROVED, by=an_actor("ask(); sys.exit('broken')"))
    assert failure(found).number == 2
    assert failure(found).reason == "the program ended with exit code 1"
    assert failure(found).seconds < 9
    assert found.output == "broken"


def test_a_program_that_never_asks_is_told_where_to() -> None:
    found = played(REBOOT, by=an_actor("print('bye')"))
    assert failure(found).number == 0


def test_a_program_may_be_expected_to_end() -> None:
    ended = s.Expect(demand=s.Demand.ENDED, code=7, seconds=10)
    ends = an_actor("while not scheduled(): time.sleep(0.02)\nsys.exit(7)")
    throughout = s.Throughout(keeps_running=False)
    assert played(REBOOT, ended, by=ends, throughout=throughout).has_passed
    wrong = s.Expect(demand=s.Demand.ENDED, code=0, seconds=10)
    found = played(REBOOT, wrong, by=ends, throughout=throughout)
    assert failure(found).reason == "the program ended with exit code 7, not with 0"


def test_an_approval_after_the_mark_passes() -> None:
    marks = an_actor("forever(lambda e: (mark('ready'), approve(e)))")
    after = s.Expect(
        demand=s.Demand.APPROVED, event="reboot", after_mark="ready", seconds=10
    )
    marked = s.Expect(demand=s.Demand.MARKED, mark="ready", seconds=10)
    assert played(REBOOT, marked, after, by=marks).has_passed


def test_an_approval_before_the_mark_fails() -> None:
    hasty = an_actor("forever(lambda e: (approve(e), mark('ready')))")
    marked = s.Expect(demand=s.Demand.MARKED, mark="ready", seconds=10)
    after = s.Expect(
        demand=s.Demand.APPROVED, event="reboot", after_mark="ready", seconds=10
    )
    reason = failure(played(REBOOT, marked, after, by=hasty)).reason or ""
    assert "before the mark 'ready'" in reason


def test_a_step_that_the_service_refuses_fails_with_its_sentence() -> None:
    early = Order(type=EventType.REBOOT, vms=("web-0",), notice=timedelta(minutes=1))
    found = played(s.Announce(order=early, called="reboot"), by=IDLE)
    assert failure(found).number == 1
    assert "needs 15 minutes of notice" in (failure(found).reason or "")


def test_a_rehearsal_that_takes_too_long_is_ended() -> None:
    found = played(REBOOT, APPROVED, by=IDLE, timeout=1.0)
    assert failure(found).seconds < 5
    assert "no more time" in (failure(found).reason or "")


def test_with_a_seed_the_transcript_is_the_same_byte_for_byte() -> None:
    steps = (REBOOT, SEEN, APPROVED, START, POLLED, END, POLLED)
    one, two = played(*steps, seed=7), played(*steps, seed=7)
    assert one.has_passed
    assert one.transcript == two.transcript
    assert any('"fact": "Approved"' in line for line in one.transcript)
    assert played(*steps, seed=8).transcript != one.transcript


@pytest.mark.parametrize("called", ["own", None])
def test_approving_what_is_others_is_found(called: str | None) -> None:
    other = Order(type=EventType.REBOOT, vms=("web-1",))
    approved = s.Expect(demand=s.Demand.APPROVED, event="other", seconds=10)
    own = s.Operate(operation=Operation.RESTART, vm="web-0", called=called)
    throughout = s.Throughout(approves_only_its_own=True)
    announce = s.Announce(order=other, called="other")
    found = played(own, announce, approved, throughout=throughout)
    assert failure(found).reason == "it approved other, which lists web-1"


# --- faults ------------------------------------------------------------------


def test_a_program_that_asks_for_something_else_has_not_asked_again() -> None:
    other = "URL = URL.replace('scheduledevents', 'instance')"
    program = an_actor(f"ask()\n{other}\nforever(lambda event: None)")
    soon = s.Expect(demand=s.Demand.POLLED, seconds=0.3)
    assert failure(played(REBOOT, soon, by=program)).number == 2


@pytest.mark.parametrize("kind", [FaultKind.STALE, FaultKind.ERROR])
def test_a_program_that_asks_in_vain_has_asked(kind: FaultKind) -> None:
    fault = s.SetFault(fault=Fault(kind=kind))
    several = s.Expect(demand=s.Demand.POLLED, times=3, seconds=10)
    assert played(POLLED, fault, REBOOT, several, by=IDLE).has_passed


def test_faults_that_come_first_meet_the_first_request() -> None:
    fault = s.SetFault(fault=Fault(kind=FaultKind.UNAVAILABLE, count=1))
    first = "try:\n    ask()\nexcept OSError as error:\n    print(error, flush=True)\n"
    found = played(fault, REBOOT, APPROVED, by=an_actor(f"{first}forever(approve)"))
    assert found.has_passed, found.failed
    assert "503" in found.output
    assert [each.number for each in found.results[:3]] == [1, 2, 3]


def test_a_pause_is_over_when_the_program_is() -> None:
    ends = an_actor("ask()")
    found = played(s.Wait(seconds=60.0), by=ends)
    assert found.seconds < 20
    assert failure(found).reason == "the program ended with exit code 0"


def test_an_outage_is_over_and_the_program_comes_back() -> None:
    outage = s.Outage(lasts=timedelta(minutes=20), seconds=0.2)
    found = played(REBOOT, APPROVED, outage, POLLED, END, POLLED)
    assert found.has_passed, found.failed
    assert any('"fact": "OutageEnded"' in line for line in found.transcript)


# --- what steps do -----------------------------------------------------------


def facts(found: Played) -> list[tuple[str, float]]:
    """What happened to maintenances, and when by the service's clock."""
    told = [json.loads(line) for line in found.transcript]
    kinds = ("Announced", "Started", "Completed", "Canceled")
    return [(each["fact"], each["at"]) for each in told if each.get("fact") in kinds]


def test_what_is_called_off_is_canceled() -> None:
    found = played(REBOOT, SEEN, s.Cancel(event="reboot"), POLLED, by=IDLE)
    assert found.has_passed
    assert facts(found) == [("Announced", 0), ("Canceled", 0)]


def test_degraded_hardware_is_given_up_when_it_is_predicted_to_fail() -> None:
    degrade = s.Degrade(host="host-a", fails_by=timedelta(hours=2), called="bad")
    start = s.AdvanceTo(event="bad")
    found = played(degrade, start, POLLED, by=IDLE)
    assert found.has_passed
    assert facts(found)[:2] == [("Announced", 0), ("Started", 7200)]


def test_a_host_that_fails_starts_at_once_and_ends_when_it_is_well_again() -> None:
    fail = s.Fail(host="host-a", called="failure")
    minute, well = s.Advance(by=timedelta(minutes=1)), s.Recover(host="host-a")
    found = played(fail, POLLED, minute, well, POLLED, by=IDLE)
    assert found.has_passed
    assert facts(found) == [("Announced", 0), ("Started", 0), ("Completed", 60)]


def test_work_that_is_said_to_be_done_ends_a_failure() -> None:
    fail = s.Fail(host="host-a", called="failure")
    minute, done = s.Advance(by=timedelta(minutes=1)), s.Complete(event="failure")
    found = played(fail, POLLED, minute, done, POLLED, by=IDLE)
    assert facts(found)[-1] == ("Completed", 60)
