"""Event stories and verdicts, from any audit log."""

from collections.abc import Iterable
from dataclasses import replace

import pytest
from tests.agent.support.audit_records import (
    A_REBOOT,
    APPROVED,
    CALLED_OFF,
    DECIDED,
    GONE,
    OVER,
    STARTED,
    Line,
    a_hook,
    a_line,
    a_sighting,
)
from tests.agent.support.events import a_state
from tests.agent.support.stored_states import ID, NOON, read, shown

from forewarn.agent.audit.entries import (
    DecidedEntry,
    NotApprovedEntry,
    read_entry,
    read_number,
)
from forewarn.agent.audit.sentences import (
    EventStory,
    is_failure,
    log_text,
    sentence,
    story_of_event,
)
from forewarn.agent.audit.summary import summarize
from forewarn.agent.events.state import Impact


def tell_story(lines: Iterable[Line], event: str = ID) -> EventStory:
    return story_of_event(event, map(read_entry, lines))


def verdict(*lines: Line) -> list[str]:
    return [*tell_story(lines).verdict]


# --- line by line ------------------------------------------------------------


def test_entries_have_a_time_and_an_offset_from_first_sight() -> None:
    story = tell_story(A_REBOOT)
    assert story.entries[0].at == NOON
    assert [entry.after for entry in story.entries[:4]] == [0, 0, 0, 123]


def test_a_story_includes_the_last_output_of_a_hook() -> None:
    lines = (*A_REBOOT, a_line("sung", output="la\nla"))
    outputs = [entry.output for entry in tell_story(lines).entries if entry.output]
    assert outputs == [("evicting web", "node drained"), ("la", "la")]


def test_other_events_are_separate_stories() -> None:
    lines = [a_sighting("E1"), *A_REBOOT, a_line("over", event="E1", outcome="x")]
    assert tell_story(lines) == tell_story(A_REBOOT)


def test_agent_entries_before_and_after_the_event_are_omitted() -> None:
    around = a_line("blind", event=None, seconds=30.2)
    assert tell_story([around, *A_REBOOT, around]) == tell_story(A_REBOOT)


def test_ids_ignore_case() -> None:
    assert len(tell_story(A_REBOOT, ID.lower()).entries) == len(A_REBOOT)


def test_an_unknown_event_has_no_story() -> None:
    assert tell_story(A_REBOOT, "E9").entries == ()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (a_line("seen"), "first seen: without a status; it does not list this VM"),
        (a_line("decided", rule=None, why=["x"]), "no rule matches: x"),
        (
            a_hook(outcome="failed", code=3, seconds=1.5),
            "prepare: drain failed after 1.5 s: exit code 3",
        ),
        (
            a_hook(outcome="cut", reason="time limit reached", tries=3, seconds=60),
            "prepare: drain was stopped after 1 min and 3 attempts: time limit reached",
        ),
        (
            a_hook(outcome="cut", reason="no time was left to start it", tries=0),
            "prepare: drain did not finish: no time was left to start it",
        ),
        (a_line("started"), "the event started"),
        (a_line("began", dry_run=True), "the agent was started with --dry-run"),
        (a_line("sung", key="C"), 'sung {"key": "C"}'),
        (a_line("sung"), "sung"),
        ({}, "?"),
    ],
)
def test_incomplete_and_unknown_entries_are_shown(line: Line, said: str) -> None:
    assert sentence(read_entry(line)) == said


# --- verdicts ----------------------------------------------------------------


def test_a_verdict_explains_a_missing_approval_and_a_cancellation() -> None:
    assert [*tell_story(CALLED_OFF, "E2").verdict] == [
        "The notice was 15 min. This agent did not approve the event: drain: exit code"
        " 3.",
        "It was canceled 10 min after the agent first saw it.",
        "Hook drain (prepare) failed: exit code 3.",
    ]


def test_a_later_success_hides_earlier_approval_failures() -> None:
    lines = (a_sighting(), a_line("approval-failed", reason="503"), APPROVED)
    assert "503" not in " ".join(verdict(*lines))


def test_a_verdict_mentions_an_approval_from_elsewhere() -> None:
    started = a_line("started", 300, early=True, approved_elsewhere=True)
    assert verdict(a_sighting(), started) == [
        "It started 10 min early, but this agent had not approved it.",
        "According to the audit log, it is in progress.",
    ]


def test_a_verdict_mentions_missing_notice() -> None:
    started = a_line("started", without_notice=True)
    assert verdict(a_sighting(), started)[0] == "It started without notice."


def test_a_log_may_end_before_the_event_does() -> None:
    assert verdict(a_sighting(), DECIDED)[1] == (
        "According to the audit log, it has not started yet."
    )


def test_an_event_may_take_place_unseen() -> None:
    assert verdict(a_sighting(), GONE)[1] == (
        "It took place, but the agent did not see it start."
    )


@pytest.mark.parametrize(
    ("impact", "said"),
    [
        (
            {},
            "No interruption was measured on this VM. The announced duration was 9 s.",
        ),
        (
            {"boots": 0, "seconds": 4.2, "total": 4.2},
            "This VM was interrupted for 4.2 s. The announced duration was 9 s.",
        ),
        (
            {"boots": 0, "seconds": 12, "total": 15},
            "This VM was interrupted for 15 s in total, at most 12 s at a time."
            " The announced duration was 9 s; the interruption exceeded it by 6"
            " s.",
        ),
        (
            {"boots": 2, "seconds": 5, "total": 8},
            "This VM was restarted twice and was down for 8 s. The announced duration"
            " was 9 s.",
        ),
    ],
)
def test_impact_is_compared_with_the_announced_duration(
    impact: dict[str, object], said: str
) -> None:
    gone = {**GONE, "impact": impact}
    assert verdict(a_sighting(), STARTED, gone)[-1] == said


def test_impact_without_an_announced_duration_is_included() -> None:
    event = shown(DurationInSeconds=-1)
    observation = a_line("seen", event_as_shown=event, mine=True)
    assert verdict(observation, STARTED, GONE)[-1].endswith(
        "down for 48 s. No duration was announced."
    )


def test_impact_of_events_of_others_is_omitted() -> None:
    assert len(verdict({**a_sighting(), "mine": False}, STARTED, GONE)) == 2


# --- summaries ---------------------------------------------------------------


def test_a_returned_event_is_summarized_in_its_current_state() -> None:
    lines = (*A_REBOOT, a_line("came-back", 500), {**a_sighting(), "at": None})
    summary = summarize(map(read_entry, lines))[ID]
    assert summary.approved_at is None
    assert summary.ran == {}
    assert summary.notice == 900


def test_a_repeated_hook_counts_once_with_its_last_outcome() -> None:
    lines = (a_sighting(), a_hook(outcome="failed"), a_hook(200))
    assert summarize(map(read_entry, lines))[ID].failed == ()


def test_a_summary_has_the_measurements() -> None:
    summary = summarize(map(read_entry, A_REBOOT))[ID]
    assert summary.impact == Impact(boots=1, seconds=48.0, total=48.0)
    assert (summary.notice, summary.used, summary.left) == (900, 123, 777)
    assert (summary.rule, summary.outcome) == ("reboots", "it took place")


# --- odd entries -------------------------------------------------------------

ODD: tuple[object, ...] = (
    *(None, True, "", "x", "NaN", [], [[]], {}, {"x": 1}, {"prepare": 1}),
    *(-1, 1e308, float("inf"), float("nan"), 10**400, "0001-01-01T00:00:00+14:00"),
)


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: str(odd)[:12])
def test_a_malformed_entry_does_not_break_the_story(odd: object) -> None:
    for line in (*A_REBOOT, *CALLED_OFF):
        for name in line:
            story = tell_story([*A_REBOOT, {**line, name: odd}, OVER])
            assert all(entry.text for entry in story.entries)
            assert story.verdict


@pytest.mark.parametrize("odd", [True, "3", float("nan"), float("inf"), 10**400])
def test_an_invalid_number_is_read_as_none(odd: object) -> None:
    assert read_number(odd) is None


# --- log messages; `test_golden.py` has one of each kind ----------------------


@pytest.mark.parametrize(
    ("is_mine", "text"),
    [(True, "no rule matches: it is a Reboot"), (False, "no rule matches")],
)
def test_a_missing_rule_is_explained_only_if_this_vm_is_listed(
    is_mine: bool, text: str
) -> None:
    state = replace(a_state(event=read(shown())), course=None, is_mine=is_mine)
    why = ("it is a Reboot",)
    decided = DecidedEntry(at=NOON, rule=None, why=why, approve=None, hooks={})
    assert log_text(decided, state) == f"Reboot {ID[:8]}: {text}"
    assert not is_failure(decided)
    held = NotApprovedEntry(at=NOON, reason="no rule matches")
    assert log_text(held, state) is None
