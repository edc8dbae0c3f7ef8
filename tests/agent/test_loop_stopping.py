"""How the agent stops, goes on, and comes to the end of an event, turn by turn."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.agent.hook_builders import Word
from tests.agent.lives import MINUTE, NOON, an_event
from tests.agent.loop import AWAY, STARTED, Staging, going_on, seeing

from forewarn.agent.agent import Stop
from forewarn.agent.eyes import Named
from forewarn.agent.hands import HookEnded
from forewarn.agent.lives import Outcome, Seen
from forewarn.agent.plan import Approve, Step, Together
from forewarn.errors import Refused


def test_a_hook_that_is_cut_because_the_agent_stops_is_run_again(
    stage: Staging, word: Word
) -> None:
    before = stage(hooks={"drain": going_on(word)})
    before.turn(seeing(an_event()))
    word.hear()
    before.turn(Stop())
    before.hands.stop()
    before.turn()
    assert before.runs() == [("drain", "running", 1)]
    now = stage()
    now.turn(seeing(an_event()))
    now.turn()
    assert now.runs() == [("drain", "done", 2)]


@pytest.mark.parametrize(
    ("ended", "kept"), [(Outcome.DONE, "done"), (Outcome.FAILED, "running")]
)
def test_of_hooks_that_end_while_the_agent_stops_only_success_is_kept(
    stage: Staging, word: Word, ended: Outcome, kept: str
) -> None:
    now = stage(hooks={"drain": going_on(word)})
    now.turn(seeing(an_event()))
    word.hear()
    run = replace(now.life().runs[0], outcome=ended, ended_at=NOON)
    now.turn(Stop())
    now.hands.stop()
    now.turn(HookEnded(event="E1", run=run))
    assert now.runs() == [("drain", kept, 1)]
    assert now.approver.approved == []


def test_what_is_prepared_for_goes_on_though_no_document_can_be_read(
    stage: Staging, word: Word
) -> None:
    before = stage(hooks={"drain": going_on(word)})
    before.turn(seeing(an_event(not_before=NOON.replace(year=9000))))
    word.hear()
    now = stage()
    now.turn(AWAY)
    now.turn()
    assert now.runs() == [("drain", "done", 2)]


def test_nothing_is_begun_by_a_clock_that_the_service_has_not_set(
    stage: Staging, word: Word
) -> None:
    before = stage(hooks={"drain": going_on(word)})
    before.turn(seeing(an_event()))
    word.hear()
    now = stage()  # whose own clock is months ahead of the service's
    now.turn(Named(name="web-0"))
    now.turn(seeing(an_event()))
    now.turn()
    assert now.runs() == [("drain", "done", 2)]


def test_after_a_restart_of_the_vm_a_document_is_waited_for(
    stage: Staging, word: Word
) -> None:
    before = stage(hooks={"drain": going_on(word)})
    before.turn(seeing(an_event()))
    word.hear()
    now = stage(boot="boot-2")
    now.turn(AWAY)
    assert now.runs() == [("drain", "running", 1)]
    now.turn(seeing(at=NOON + 16 * MINUTE))
    while now.life().over_at is None:
        now.turn()
    assert now.runs() == [("drain", "cut", 1), ("fill", "done", 1)]


def test_what_has_started_may_be_over_so_a_document_is_waited_for(
    stage: Staging, word: Word
) -> None:
    before = stage(hooks={"tell": going_on(word)})
    before.turn(seeing(an_event()))
    before.turn()
    before.turn()
    before.turn(seeing(STARTED, at=NOON + 15 * MINUTE))
    word.hear()
    now = stage()
    now.turn(AWAY)
    assert now.runs() == [("drain", "done", 1), ("tell", "running", 1)]


def test_a_question_that_is_cut_because_the_agent_stops_says_nothing_of_the_others(
    stage: Staging, word: Word
) -> None:
    now = stage(
        together=Together.WHEN_READY, ready="all", hooks={"all": going_on(word)}
    )
    now.turn(seeing(an_event()))
    now.turn()
    word.hear()
    now.turn(Stop())
    now.hands.stop()
    now.turn()
    assert now.lines("not-approved") == []


def test_a_start_cuts_the_preparation_and_then_runs_its_own_hook(
    stage: Staging, word: Word
) -> None:
    now = stage(hooks={"drain": going_on(word)})
    now.turn(seeing(an_event()))
    word.hear()
    now.turn(seeing(STARTED, at=NOON + 15 * MINUTE))
    now.turn()
    now.turn()
    assert now.runs() == [("drain", "cut", 1), ("tell", "done", 1)]


def test_an_event_is_over_when_its_last_hook_has_ended(stage: Staging) -> None:
    now = stage(steps={Step.UNDO: ("resume",)}, approve=Approve.NEVER)
    now.turn(seeing(an_event()))
    now.turn(seeing(at=NOON + MINUTE))
    assert now.life().over_at is None
    now.turn()
    assert now.life().over_at is not None
    assert [line["outcome"] for line in now.lines("over")] == ["it was called off"]


def test_what_is_announced_anew_is_prepared_for_and_approved_anew(
    stage: Staging,
) -> None:
    now = stage()
    now.turn(seeing(an_event()))
    now.turn()
    now.turn()
    now.turn(seeing(at=NOON + MINUTE))
    while now.life().over_at is None:
        now.turn()
    now.turn(seeing(an_event(), at=NOON + 2 * MINUTE))
    now.turn()
    now.turn()
    assert now.approver.approved == ["E1", "E1"]
    assert len(now.lines("came-back")) == 1


def test_what_is_announced_anew_does_not_wait_for_the_former_approval(
    stage: Staging, word: Word
) -> None:
    now = stage(hooks={"resume": going_on(word)})
    now.approver.refusals = [Refused("no such event", status=400)]
    now.turn(seeing(an_event()))
    now.turn()
    now.turn()
    now.turn(seeing(at=NOON + MINUTE))
    word.hear()
    now.turn(seeing(an_event(), at=NOON + 2 * MINUTE))  # resume is cut
    now.turn()
    now.turn()
    now.turn()
    assert now.approver.approved == ["E1"]


def test_what_is_announced_anew_and_fails_anew_is_said_anew(stage: Staging) -> None:
    now = stage(hooks={"drain": "exit 3"}, steps={Step.PREPARE: ("drain",)})
    for minute in (0, 2):
        now.turn(seeing(an_event(), at=NOON + minute * MINUTE))
        now.turn()
        now.turn(seeing(at=NOON + (minute + 1) * MINUTE))
    assert len(now.lines("not-approved")) == 2


def test_what_was_over_a_week_ago_is_forgotten(stage: Staging) -> None:
    now = stage(steps={}, approve=Approve.NEVER)
    now.turn(seeing(an_event()))
    now.turn(seeing())
    now.turn(seeing(at=NOON + timedelta(days=8)))
    assert now.memory.find("E1") is None


def test_running_ends_when_it_is_told_to_stop(stage: Staging) -> None:
    now = stage()
    now.agent.inbox.put(seeing(an_event()))
    now.agent.inbox.put(Stop())
    now.agent.run(now.hands)
    assert now.life().seen is Seen.SCHEDULED
