"""Audit entries as log messages for an on-call engineer."""

import logging
from dataclasses import replace

import pytest
from tests.agent.support.events import NOON, a_run, a_state
from tests.agent.support.stored_states import read, shown

from forewarn.agent.audit.entries import AuditEntry, event_entry, hook_ended_entry
from forewarn.agent.audit.sentences import LogLine, log_line
from forewarn.agent.config.plan import HookPoint
from forewarn.agent.events.state import EventState, HookOutcome

EVENT = read(shown(EventSource="Platform", Description="Host server is maintained."))
ABOUT = f"Reboot {EVENT.id[:8]}"


def a_reboot() -> EventState:
    return a_state(event=EVENT)


def log_text(a_note: AuditEntry, state: EventState | None) -> str:
    saying = log_line(a_note, state)
    assert saying is not None
    return saying.text


def test_the_first_message_about_an_event_has_the_essentials() -> None:
    observation = {"event_as_shown": EVENT.raw, "notice_seconds": 900.0, "leader": True}
    assert log_text(
        event_entry("seen", a_reboot(), NOON, **observation), a_reboot()
    ) == (
        f"Reboot {EVENT.id}: first seen: Scheduled, with 15 min of notice; it names"
        " this VM first (web-0; not before 2026-11-15T12:15:00Z; Platform: Host server"
        " is maintained.)"
    )


def test_a_decision_is_logged_with_its_reasons() -> None:
    hooks = {HookPoint.PREPARE: ("drain",)}
    decided = event_entry(
        "decided", a_reboot(), NOON, rule="all", why=("so",), hooks=hooks
    )
    assert log_text(decided, a_reboot()) == (
        f'{ABOUT}: rule "all" matches: so; so: prepare by drain'
    )


@pytest.mark.parametrize(
    ("is_mine", "text"),
    [(True, "no rule matches: it is a Reboot"), (False, "no rule matches")],
)
def test_a_missing_rule_is_explained_only_if_this_vm_is_listed(
    is_mine: bool, text: str
) -> None:
    state = replace(a_reboot(), course=None, is_mine=is_mine)
    why = ["it is a Reboot"]
    assert log_text(event_entry("decided", state, NOON, rule=None, why=why), state) == (
        f"{ABOUT}: {text}"
    )
    assert (
        log_line(
            event_entry("not-approved", state, NOON, reason="no rule matches"), state
        )
        is None
    )


def test_a_failed_hook_is_a_warning_with_its_last_output() -> None:
    run = replace(
        a_run(outcome=HookOutcome.FAILED),
        ended_at=NOON,
        code=3,
        output="draining\nno such node\n\n",
    )
    assert log_line(hook_ended_entry(a_reboot(), run, NOON), a_reboot()) == LogLine(
        level=logging.WARNING,
        text=f"{ABOUT}: prepare: drain failed after 0 s: exit code 3; it wrote last:"
        " no such node",
    )


def test_a_successful_hook_is_not_a_warning() -> None:
    run = replace(a_run(), ended_at=NOON, output="drained\n", code=0)
    assert log_line(hook_ended_entry(a_reboot(), run, NOON), a_reboot()) == LogLine(
        level=logging.INFO, text=f"{ABOUT}: prepare: drain succeeded after 0 s"
    )


def test_a_failed_approval_is_a_warning() -> None:
    refused = event_entry("approval-failed", a_reboot(), NOON, reason="nobody answers")
    assert log_line(refused, a_reboot()) == LogLine(
        level=logging.WARNING,
        text=f"{ABOUT}: the approval was not taken: nobody answers",
    )


@pytest.mark.parametrize("what", ["blind", "sees-again", "name-mismatch"])
def test_conditions_are_not_logged_twice(what: str) -> None:
    assert log_line(AuditEntry(at=NOON, what=what), None) is None


def test_a_message_about_the_agent_names_no_event() -> None:
    assert log_text(AuditEntry(at=NOON, what="ended"), None) == "the agent was stopped"
