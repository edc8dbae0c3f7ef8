"""Audit entries as log messages; `test_golden.py` has one of each kind."""

from dataclasses import replace

import pytest
from tests.agent.support.events import NOON, a_state
from tests.agent.support.stored_states import read, shown

from forewarn.agent.audit.entries import DecidedEntry, NotApprovedEntry
from forewarn.agent.audit.sentences import is_failure, log_text
from forewarn.agent.events.state import EventState

EVENT = read(shown())
ABOUT = f"Reboot {EVENT.id[:8]}"


def a_reboot() -> EventState:
    return a_state(event=EVENT)


@pytest.mark.parametrize(
    ("is_mine", "text"),
    [(True, "no rule matches: it is a Reboot"), (False, "no rule matches")],
)
def test_a_missing_rule_is_explained_only_if_this_vm_is_listed(
    is_mine: bool, text: str
) -> None:
    state = replace(a_reboot(), course=None, is_mine=is_mine)
    why = ("it is a Reboot",)
    decided = DecidedEntry(at=NOON, rule=None, why=why, approve=None, hooks={})
    assert log_text(decided, state) == f"{ABOUT}: {text}"
    assert not is_failure(decided)
    held = NotApprovedEntry(at=NOON, reason="no rule matches")
    assert log_text(held, state) is None
