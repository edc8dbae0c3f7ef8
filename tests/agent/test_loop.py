"""What the agent does about an event, turn by turn: approving, and the disk."""

from pathlib import Path

from tests.agent.hook_builders import Word
from tests.agent.lives import MINUTE, NOON, an_event
from tests.agent.loop import Staging, going_on, seeing

from forewarn.agent.plan import Approve, Together
from forewarn.errors import Refused, Unreachable


def test_an_event_is_approved_when_its_hook_has_ended(stage: Staging) -> None:
    now = stage()
    now.turn(seeing(an_event()))
    assert now.approver.approved == []
    now.turn()
    now.turn()
    assert now.approver.approved == ["E1"]
    assert now.life().approved_at is not None
    assert now.life().posted_at is not None
    assert now.metrics.value("approvals_total", answer="200") == 1
    assert now.metrics.value("hooks_total", step="prepare", outcome="done") == 1
    assert [line["answer"] for line in now.lines("approved")] == ["200"]


def test_what_is_approved_once_is_not_approved_again(stage: Staging) -> None:
    now = stage()
    now.turn(seeing(an_event()))
    now.turn()
    now.turn()
    now.turn(seeing(an_event()))
    now.hands.stop()
    assert now.approver.approved == ["E1"]


def test_a_failed_hook_leaves_it_unapproved_and_that_is_said_once(
    stage: Staging,
) -> None:
    now = stage(hooks={"drain": "exit 3"})
    now.turn(seeing(an_event()))
    now.turn()
    now.turn(seeing(an_event(), at=NOON + MINUTE))
    now.turn(seeing(an_event(), at=NOON + 2 * MINUTE))
    assert now.approver.approved == []
    assert now.runs() == [("drain", "failed", 1)]
    (line,) = now.lines("not-approved")
    assert str(line["reason"]).startswith("drain: ")
    assert now.metrics.value("hooks_total", step="prepare", outcome="failed") == 1


def test_while_a_hook_runs_nothing_is_said_of_the_approval(
    stage: Staging, word: Word
) -> None:
    now = stage(hooks={"drain": going_on(word)})
    now.turn(seeing(an_event()))
    word.hear()
    now.turn(seeing(an_event()))
    assert now.lines("not-approved") == []


def test_at_once_is_before_the_hook_has_ended(stage: Staging, word: Word) -> None:
    now = stage(approve=Approve.AT_ONCE, hooks={"drain": going_on(word)})
    now.turn(seeing(an_event()))
    word.hear()
    now.turn()
    assert now.approver.approved == ["E1"]
    assert now.runs() == [("drain", "running", 1)]
    assert now.metrics.value("hook_running") == 1


def test_who_is_not_named_first_does_not_approve_and_says_who_is_to(
    stage: Staging,
) -> None:
    now = stage()
    event = an_event(resources=["web-1", "web-0"])
    now.turn(seeing(event))
    now.turn()
    now.turn(seeing(event))
    assert now.approver.approved == []
    (line,) = now.lines("not-approved")
    assert "web-1 is named first" in str(line["reason"])


def test_all_are_asked_until_they_are_ready(stage: Staging, tmp_path: Path) -> None:
    flag = tmp_path / "all-drained"
    now = stage(
        together=Together.WHEN_READY,
        ready="all",
        hooks={"all": f"test -e {flag} || {{ echo web-1 is not; exit 1; }}"},
    )
    now.turn(seeing(an_event()))
    now.turn()  # drain has ended; all are asked
    now.turn()  # they are not ready; they are asked again
    assert now.approver.approved == []
    assert "not all are ready: " in str(now.lines("not-approved")[0]["reason"])
    flag.touch()
    while not now.approver.approved:
        now.turn()
    assert now.approver.approved == ["E1"]
    assert now.runs() == [("drain", "done", 1)]


def test_a_dry_run_runs_nothing_and_approves_nothing(stage: Staging) -> None:
    now = stage(is_dry=True, approve=Approve.AT_ONCE)
    now.turn(seeing(an_event()))
    now.turn(seeing(at=NOON + MINUTE))
    now.hands.stop()
    assert now.approver.approved == []
    assert now.runs() == []
    assert [line["rule"] for line in now.lines("decided")] == ["all"]
    assert now.life().over_at is not None


def test_an_approval_that_is_refused_is_written_down_and_not_sent_at_once(
    stage: Staging,
) -> None:
    now = stage()
    now.approver.refusals = [Refused("no such event", status=400)]
    now.turn(seeing(an_event()))
    now.turn()
    now.turn()
    now.turn(seeing(an_event()))
    now.hands.stop()
    assert now.approver.approved == []
    assert now.life().approved_at is None
    assert [line["reason"] for line in now.lines("approval-failed")] == [
        "no such event"
    ]
    assert now.metrics.value("approvals_total", answer="400") == 1
    assert now.metrics.value("approvals_total", answer="200") == 0


def test_an_approval_is_sent_after_a_restart_if_its_answer_is_not_known(
    stage: Staging,
) -> None:
    before = stage()
    before.approver.refusals = [Unreachable("nobody is there")]
    before.turn(seeing(an_event()))
    before.turn()
    before.turn()
    assert before.metrics.value("approvals_total", answer="unreachable") == 1
    now = stage()
    now.turn(seeing(an_event()))
    now.turn()
    assert now.approver.approved == ["E1"]
    assert now.runs() == [("drain", "done", 1)]


# --- what is not on disk ------------------------------------------------------


def test_what_is_not_on_disk_is_prepared_for_and_not_approved(stage: Staging) -> None:
    now = stage()
    now.space.is_full = True
    now.turn(seeing(an_event()))
    now.turn()
    now.turn(seeing(an_event()))
    now.hands.stop()
    assert now.runs() == [("drain", "done", 1)]
    assert now.approver.approved == []
    assert "state-unwritable" in now.conditions.are_there()
    assert now.metrics.value("state_errors_total")


def test_it_is_approved_when_the_disk_takes_it(stage: Staging) -> None:
    now = stage()
    now.space.is_full = True
    now.turn(seeing(an_event()))
    now.turn()
    now.space.is_full = False
    now.turn(seeing(an_event()))
    now.turn()
    assert now.approver.approved == ["E1"]
    assert now.conditions.are_there() == {}


def test_what_is_over_is_kept_when_the_disk_takes_it(stage: Staging) -> None:
    now = stage(steps={}, approve=Approve.NEVER)
    now.turn(seeing(an_event()))
    now.space.is_full = True
    now.turn(seeing())
    assert now.life().over_at is not None
    assert "state-unwritable" in now.conditions.are_there()
    now.space.is_full = False
    now.turn(seeing())
    assert now.conditions.are_there() == {}


def test_an_approval_that_the_disk_does_not_know_of_is_not_sent_until_it_does(
    stage: Staging,
) -> None:
    now = stage(together=Together.WHEN_READY, ready="all")
    now.turn(seeing(an_event()))
    now.turn()  # drain has ended; all are asked
    now.space.is_full = True
    now.turn()  # they are ready
    now.hands.stop()
    assert now.approver.approved == []
    now.space.is_full = False
    now.turn(seeing(an_event()))
    now.turn()
    assert now.approver.approved == ["E1"]
