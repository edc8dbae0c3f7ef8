"""Scenarios played to real programs, and the verdicts."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from tests.testing.support.actors import EAGER, IDLE, an_actor

from forewarn.core.faults import Fault, FaultKind
from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.operations import VmOperation
from forewarn.protocol.types import EventType
from forewarn.testing.rehearsal.options import fleet_of
from forewarn.testing.scenario import model as s
from forewarn.testing.scenario.player import ScenarioRun, play
from forewarn.testing.scenario.results import ScenarioResult, StepResult, StepVerdict

pytestmark = pytest.mark.slow

REBOOT = s.OperateStep(operation=VmOperation.RESTART, vm="web-0", name="reboot")
SEEN = s.ExpectStep(expectation=s.Expectation.SEEN, event="reboot", seconds=60)
APPROVED = s.ExpectStep(
    expectation=s.Expectation.APPROVED, event="reboot", by="web-0", seconds=60
)
AFTER_MARK = replace(APPROVED, after_mark="ready")
NOT_APPROVED = replace(APPROVED, expectation=s.Expectation.NOT_APPROVED, by=None)
POLLED = s.ExpectStep(expectation=s.Expectation.POLLED, seconds=60)
MARKED = s.ExpectStep(expectation=s.Expectation.MARKED, mark="ready", seconds=60)
ENDED = s.ExpectStep(expectation=s.Expectation.ENDED, code=7, seconds=60)
FAILURE = s.FailStep(host="host-a", name="failure")
MINUTE = s.AdvanceStep(by=timedelta(minutes=1))
START = s.AdvanceToStep(event="reboot")
END = s.AdvanceToStep(event="reboot", is_end=True)


class RecordingProgressObserver:
    """An observer that records progress."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.ended: list[StepResult] = []

    def begin(self, number: int, what: str) -> None:
        del what
        self.begun.append(number)

    def end(self, result: StepResult) -> None:
        self.ended.append(result)


def played(
    *steps: s.Step,
    by: object = EAGER,
    throughout: s.Throughout | None = None,
    seed: int | None = None,
    timeout: float = 60.0,
    heard: RecordingProgressObserver | None = None,
) -> ScenarioResult:
    assert isinstance(by, list)
    scenario = s.Scenario(
        name="test",
        title="A test",
        fleet=fleet_of(),
        vm="web-0",
        steps=steps,
        throughout=throughout or s.Throughout(),
    )
    production = ScenarioRun(command=by, seed=seed, timeout=timeout)
    return play(scenario, production, heard or RecordingProgressObserver())


def failure(found: ScenarioResult) -> StepResult:
    """Return the first failed result."""
    return found.failed[0]


def test_program_that_approves_passes_a_complete_scenario() -> None:
    heard = RecordingProgressObserver()
    steps = (REBOOT, SEEN, APPROVED, START, POLLED, END, POLLED)
    outcome = played(*steps, heard=heard)
    assert outcome.has_passed, outcome.failed
    assert heard.begun == [0, 1, 2, 3, 4, 5, 6, 7]
    assert heard.ended == outcome.results


def test_program_that_never_approves_fails_with_the_reason() -> None:
    soon = replace(APPROVED, seconds=0.3)
    outcome = played(REBOOT, SEEN, soon, START, by=IDLE)
    assert not outcome.has_passed
    assert failure(outcome).number == 3
    assert "but no approval" in (failure(outcome).reason or "")
    assert outcome.results[4].verdict is StepVerdict.NOT_REACHED
    assert outcome.results[5].what == "the program keeps running"
    assert outcome.results[5].verdict is StepVerdict.NOT_REACHED


def test_polling_less_often_than_expected_fails() -> None:
    often = replace(POLLED, times=50, seconds=0.2)
    outcome = played(REBOOT, SEEN, often, by=IDLE)
    assert failure(outcome).number == 3


def test_approving_when_waiting_is_expected_fails() -> None:
    outcome = played(REBOOT, NOT_APPROVED)
    assert failure(outcome).reason == "reboot was approved by web-0"
    assert failure(outcome).seconds < 30


def test_program_that_waits_passes_if_nothing_may_be_approved() -> None:
    patient = replace(NOT_APPROVED, seconds=0.1)
    throughout = s.Throughout(approves_nothing=True)
    assert played(REBOOT, SEEN, patient, by=IDLE, throughout=throughout).has_passed


def test_approval_by_another_vm_is_named() -> None:
    other = s.ApproveStep(event="reboot", by="web-1")
    outcome = played(REBOOT, SEEN, other, APPROVED, by=IDLE)
    assert failure(outcome).reason == "reboot was approved by web-1, not by web-0"


def test_approval_by_a_step_is_not_attributed_to_the_program() -> None:
    throughout = s.Throughout(approves_nothing=True)
    other = s.ApproveStep(event="reboot", by="web-0")
    assert played(REBOOT, SEEN, other, by=IDLE, throughout=throughout).has_passed


def test_wait_for_an_approval_ends_with_the_program() -> None:
    outcome = played(
        REBOOT, SEEN, APPROVED, by=an_actor("request(); sys.exit('broken')")
    )
    assert failure(outcome).number == 2
    assert failure(outcome).reason == "the program ended with exit code 1"
    assert failure(outcome).seconds < 30
    assert outcome.output == "broken"


def test_program_that_never_polls_fails() -> None:
    outcome = played(REBOOT, by=an_actor("print('bye')"))
    assert failure(outcome).number == 0


def test_a_program_may_be_expected_to_end() -> None:
    ends = an_actor("while not scheduled(): time.sleep(0.02)\nsys.exit(7)")
    throughout = s.Throughout(keeps_running=False)
    assert played(REBOOT, ENDED, by=ends, throughout=throughout).has_passed
    wrong = replace(ENDED, code=0)
    outcome = played(REBOOT, wrong, by=ends, throughout=throughout)
    assert (
        failure(outcome).reason
        == "the program ended with exit code 7; expected exit code 0"
    )


def test_an_approval_after_the_mark_passes() -> None:
    marks = an_actor("forever(lambda e: (mark('ready'), approve(e)))")
    assert played(REBOOT, MARKED, AFTER_MARK, by=marks).has_passed


def test_a_printed_line_is_a_mark_that_the_scenario_expects() -> None:
    prints = an_actor(
        "forever(lambda e: (print('is ready now', flush=True), approve(e)))"
    )
    assert played(REBOOT, MARKED, AFTER_MARK, by=prints).has_passed


def test_an_approval_before_the_mark_fails() -> None:
    hasty = an_actor("forever(lambda e: (approve(e), mark('ready')))")
    reason = failure(played(REBOOT, MARKED, AFTER_MARK, by=hasty)).reason or ""
    assert "before mark 'ready'" in reason


def test_step_refused_by_the_service_fails_with_its_message() -> None:
    early = Order(type=EventType.REBOOT, vms=("web-0",), notice=timedelta(minutes=1))
    outcome = played(s.AnnounceStep(order=early, name="reboot"), by=IDLE)
    assert failure(outcome).number == 1
    assert "requires 15 minutes of notice" in (failure(outcome).reason or "")


def test_a_rehearsal_that_takes_too_long_is_ended() -> None:
    outcome = played(REBOOT, APPROVED, by=IDLE, timeout=1.0)
    assert failure(outcome).seconds < 30
    assert "ran out of time" in (failure(outcome).reason or "")


def test_seed_makes_the_transcript_identical() -> None:
    steps = (REBOOT, SEEN, APPROVED, START, POLLED, END, POLLED)
    first, second = played(*steps, seed=7), played(*steps, seed=7)
    assert first.has_passed
    assert first.transcript == second.transcript
    assert any('"fact": "Approved"' in line for line in first.transcript)
    assert played(*steps, seed=8).transcript != first.transcript


@pytest.mark.parametrize("called", ["own", None])
def test_approving_an_event_of_others_fails(called: str | None) -> None:
    other = Order(type=EventType.REBOOT, vms=("web-1",))
    approved = replace(APPROVED, event="other", by=None)
    own = s.OperateStep(operation=VmOperation.RESTART, vm="web-0", name=called)
    throughout = s.Throughout(approves_only_its_own=True)
    announce = s.AnnounceStep(order=other, name="other")
    outcome = played(own, announce, approved, throughout=throughout)
    assert failure(outcome).reason == "it approved other, which lists web-1"


# --- faults ------------------------------------------------------------------


def test_request_for_another_path_is_not_a_poll() -> None:
    other = "URL = URL.replace('scheduledevents', 'instance')"
    program = an_actor(f"request()\n{other}\nforever(lambda event: None)")
    soon = replace(POLLED, seconds=0.3)
    assert failure(played(REBOOT, soon, by=program)).number == 2


@pytest.mark.parametrize("kind", [FaultKind.STALE, FaultKind.ERROR])
def test_poll_that_gets_a_fault_still_counts(kind: FaultKind) -> None:
    fault = s.SetFaultStep(fault=Fault(kind=kind))
    several = replace(POLLED, times=3)
    assert played(POLLED, fault, REBOOT, several, by=IDLE).has_passed


def test_fault_set_first_applies_to_the_first_request() -> None:
    fault = s.SetFaultStep(fault=Fault(kind=FaultKind.UNAVAILABLE, count=1))
    first = (
        "try:\n    request()\nexcept OSError as error:\n    print(error, flush=True)\n"
    )
    outcome = played(fault, REBOOT, APPROVED, by=an_actor(f"{first}forever(approve)"))
    assert outcome.has_passed, outcome.failed
    assert "503" in outcome.output
    assert [result.number for result in outcome.results[:3]] == [1, 2, 3]


def test_wait_ends_when_the_program_ends() -> None:
    ends = an_actor("request()")
    outcome = played(s.WaitStep(seconds=60.0), by=ends)
    assert outcome.seconds < 20
    assert failure(outcome).reason == "the program ended with exit code 0"


def test_program_continues_after_an_outage() -> None:
    outage = s.OutageStep(duration=timedelta(minutes=20), seconds=0.2)
    outcome = played(REBOOT, APPROVED, outage, POLLED, END, POLLED)
    assert outcome.has_passed, outcome.failed
    assert any('"fact": "OutageEnded"' in line for line in outcome.transcript)


# --- effects of steps --------------------------------------------------------


def facts(found: ScenarioResult) -> list[tuple[str, float]]:
    """Return what happened to maintenance, and when by the service's clock."""
    facts_written = [json.loads(line) for line in found.transcript]
    kinds = ("Announced", "Started", "Completed", "Canceled")
    return [
        (fact["fact"], fact["at"])
        for fact in facts_written
        if fact.get("fact") in kinds
    ]


def test_canceled_maintenance_is_recorded() -> None:
    outcome = played(REBOOT, SEEN, s.CancelStep(event="reboot"), POLLED, by=IDLE)
    assert outcome.has_passed
    assert facts(outcome) == [("Announced", 0), ("Canceled", 0)]


def test_degraded_host_fails_at_the_predicted_time() -> None:
    degrade = s.DegradeStep(host="host-a", fails_by=timedelta(hours=2), name="bad")
    start = s.AdvanceToStep(event="bad")
    outcome = played(degrade, start, POLLED, by=IDLE)
    assert outcome.has_passed
    assert facts(outcome)[:4] == [*[("Announced", 0)] * 3, ("Started", 7200)]


def test_failed_host_starts_immediately_and_ends_on_recovery() -> None:
    recover = s.RecoverStep(host="host-a")
    outcome = played(FAILURE, POLLED, MINUTE, recover, POLLED, by=IDLE)
    assert outcome.has_passed
    assert facts(outcome) == [("Announced", 0), ("Started", 0), ("Completed", 60)]


def test_completing_the_work_ends_a_failure() -> None:
    done = s.CompleteStep(event="failure")
    outcome = played(FAILURE, POLLED, MINUTE, done, POLLED, by=IDLE)
    assert facts(outcome)[-1] == ("Completed", 60)
