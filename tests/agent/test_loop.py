"""Agent loop, turn by turn: hooks, approvals and a full disk."""

from pathlib import Path

from tests.agent.support.agent_loop import Staging, a_document_read, endless_hook
from tests.agent.support.events import MINUTE, NOON, an_event
from tests.agent.support.hook_builders import ReadyPipe

from forewarn.agent.config.plan import ApprovalPolicy, SharedApproval
from forewarn.errors import Refused, Unreachable


def test_an_event_is_approved_when_its_hook_has_ended(agent_factory: Staging) -> None:
    agent = agent_factory()
    agent.turn(a_document_read(an_event()))
    assert agent.approver.approved == []
    agent.turn()
    agent.turn()
    assert agent.approver.approved == ["E1"]
    assert agent.state().approved_at is not None
    assert agent.state().posted_at is not None
    assert agent.metrics.value("approvals_total", answer="200") == 1
    assert agent.metrics.value("hooks_total", step="prepare", outcome="done") == 1
    assert [line["answer"] for line in agent.lines("approved")] == ["200"]


def test_an_approved_event_is_not_approved_again(agent_factory: Staging) -> None:
    agent = agent_factory()
    agent.turn(a_document_read(an_event()))
    agent.turn()
    agent.turn()
    agent.turn(a_document_read(an_event()))
    agent.executor.stop()
    assert agent.approver.approved == ["E1"]


def test_a_failed_hook_prevents_approval_which_is_recorded_once(
    agent_factory: Staging,
) -> None:
    agent = agent_factory(hooks={"drain": "exit 3"})
    agent.turn(a_document_read(an_event()))
    agent.turn()
    agent.turn(a_document_read(an_event(), at=NOON + MINUTE))
    agent.turn(a_document_read(an_event(), at=NOON + 2 * MINUTE))
    assert agent.approver.approved == []
    assert agent.runs() == [("drain", "failed", 1)]
    (line,) = agent.lines("not-approved")
    assert str(line["reason"]).startswith("hook drain ")
    assert agent.metrics.value("hooks_total", step="prepare", outcome="failed") == 1


def test_nothing_is_recorded_about_approval_while_a_hook_runs(
    agent_factory: Staging, ready_pipe: ReadyPipe
) -> None:
    agent = agent_factory(hooks={"drain": endless_hook(ready_pipe)})
    agent.turn(a_document_read(an_event()))
    ready_pipe.read()
    agent.turn(a_document_read(an_event()))
    assert agent.lines("not-approved") == []


def test_approve_at_once_does_not_wait_for_the_hook(
    agent_factory: Staging, ready_pipe: ReadyPipe
) -> None:
    agent = agent_factory(
        approve=ApprovalPolicy.AT_ONCE, hooks={"drain": endless_hook(ready_pipe)}
    )
    agent.turn(a_document_read(an_event()))
    ready_pipe.read()
    agent.turn()
    assert agent.approver.approved == ["E1"]
    assert agent.runs() == [("drain", "running", 1)]
    assert agent.metrics.value("hook_running") == 1


def test_a_vm_not_listed_first_does_not_approve_and_names_the_one_that_does(
    agent_factory: Staging,
) -> None:
    agent = agent_factory()
    event = an_event(resources=["web-1", "web-0"])
    agent.turn(a_document_read(event))
    agent.turn()
    agent.turn(a_document_read(event))
    assert agent.approver.approved == []
    (line,) = agent.lines("not-approved")
    assert "web-1 is the first VM" in str(line["reason"])


def test_readiness_is_checked_until_all_are_ready(
    agent_factory: Staging, tmp_path: Path
) -> None:
    flag = tmp_path / "all-drained"
    agent = agent_factory(
        together=SharedApproval.WHEN_READY,
        ready="all",
        hooks={"all": f"test -e {flag} || {{ echo web-1 is not; exit 1; }}"},
    )
    agent.turn(a_document_read(an_event()))
    agent.turn()  # drain has ended; readiness is checked
    agent.turn()  # not ready; checked again
    assert agent.approver.approved == []
    assert "not all VMs are ready: " in str(agent.lines("not-approved")[0]["reason"])
    flag.touch()
    while not agent.approver.approved:
        agent.turn()
    assert agent.approver.approved == ["E1"]
    assert agent.runs() == [("drain", "done", 1)]


def test_a_dry_run_runs_nothing_and_approves_nothing(agent_factory: Staging) -> None:
    agent = agent_factory(is_dry=True, approve=ApprovalPolicy.AT_ONCE)
    agent.turn(a_document_read(an_event()))
    agent.turn(a_document_read(at=NOON + MINUTE))
    agent.executor.stop()
    assert agent.approver.approved == []
    assert agent.runs() == []
    assert [line["rule"] for line in agent.lines("decided")] == ["all"]
    assert agent.state().over_at is not None


def test_a_refused_approval_is_recorded_and_not_repeated_immediately(
    agent_factory: Staging,
) -> None:
    agent = agent_factory()
    agent.approver.refusals = [Refused("no such event", status=400)]
    agent.turn(a_document_read(an_event()))
    agent.turn()
    agent.turn()
    agent.turn(a_document_read(an_event()))
    agent.executor.stop()
    assert agent.approver.approved == []
    assert agent.state().approved_at is None
    assert [line["reason"] for line in agent.lines("approval-failed")] == [
        "no such event"
    ]
    assert agent.metrics.value("approvals_total", answer="400") == 1
    assert agent.metrics.value("approvals_total", answer="200") == 0


def test_an_approval_without_a_known_result_is_sent_after_a_restart(
    agent_factory: Staging,
) -> None:
    before = agent_factory()
    before.approver.refusals = [Unreachable("nobody is there")]
    before.turn(a_document_read(an_event()))
    before.turn()
    before.turn()
    assert before.metrics.value("approvals_total", answer="unreachable") == 1
    agent = agent_factory()
    agent.turn(a_document_read(an_event()))
    agent.turn()
    assert agent.approver.approved == ["E1"]
    assert agent.runs() == [("drain", "done", 1)]


# --- full disk ---------------------------------------------------------------


def test_an_unsaved_event_is_prepared_but_not_approved(agent_factory: Staging) -> None:
    agent = agent_factory()
    agent.space.is_full = True
    agent.turn(a_document_read(an_event()))
    agent.turn()
    agent.turn(a_document_read(an_event()))
    agent.executor.stop()
    assert agent.runs() == [("drain", "done", 1)]
    assert agent.approver.approved == []
    assert "state-unwritable" in agent.conditions.active()
    assert agent.metrics.value("state_errors_total")


def test_it_is_approved_once_the_disk_has_space(agent_factory: Staging) -> None:
    agent = agent_factory()
    agent.space.is_full = True
    agent.turn(a_document_read(an_event()))
    agent.turn()
    agent.space.is_full = False
    agent.turn(a_document_read(an_event()))
    agent.turn()
    assert agent.approver.approved == ["E1"]
    assert agent.conditions.active() == {}


def test_a_finished_event_is_saved_once_the_disk_has_space(
    agent_factory: Staging,
) -> None:
    agent = agent_factory(steps={}, approve=ApprovalPolicy.NEVER)
    agent.turn(a_document_read(an_event()))
    agent.space.is_full = True
    agent.turn(a_document_read())
    assert agent.state().over_at is not None
    assert "state-unwritable" in agent.conditions.active()
    agent.space.is_full = False
    agent.turn(a_document_read())
    assert agent.conditions.active() == {}


def test_an_approval_is_not_sent_until_it_is_on_disk(
    agent_factory: Staging,
) -> None:
    agent = agent_factory(together=SharedApproval.WHEN_READY, ready="all")
    agent.turn(a_document_read(an_event()))
    agent.turn()  # drain has ended; readiness is checked
    agent.space.is_full = True
    agent.turn()  # all are ready
    agent.executor.stop()
    assert agent.approver.approved == []
    agent.space.is_full = False
    agent.turn(a_document_read(an_event()))
    agent.turn()
    assert agent.approver.approved == ["E1"]
