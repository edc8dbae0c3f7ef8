"""Agent metrics: how audit entries are counted."""

from dataclasses import replace

from tests.agent.lives import NOON, a_life, a_run, an_event

from forewarn.agent import counting
from forewarn.agent.lives import Impact, Outcome, Seen
from forewarn.agent.metrics import Metrics
from forewarn.agent.notes import Note, ended, note
from forewarn.errors import Refused, Unreachable


def counted(*notes: Note, life: Impact | None = None) -> Metrics:
    metrics = Metrics()
    for entry in notes:
        counting.count(entry, replace(a_life(), impact=life or Impact()), metrics)
    return metrics


def total(metrics: Metrics, series: str) -> str:
    """Return the rendered value of a series, or "none"."""
    lines = dict(
        line.rsplit(" ", 1)
        for line in metrics.render().splitlines()
        if not line.startswith("#")
    )
    return lines.get(f"forewarn_agent_{series}", "none")


def test_a_decision_counts_for_its_rule_with_the_notice_given() -> None:
    metrics = counted(
        note("decided", a_life(), NOON, rule="all"),
        note("decided", a_life(), NOON, rule=None),
    )
    assert metrics.value("decisions_total", rule="all") == 1
    assert metrics.value("decisions_total", rule="none") == 1
    assert total(metrics, 'notice_given_seconds_sum{type="Reboot"}') == "1800"


def test_a_hook_counts_by_step_and_outcome_with_its_duration() -> None:
    failed = a_run(outcome=Outcome.FAILED)
    metrics = counted(ended(a_life(), failed, NOON), ended(a_life(), a_run(), NOON))
    assert metrics.value("hooks_total", step="prepare", outcome="failed") == 1
    assert metrics.value("hooks_total", step="prepare", outcome="done") == 1
    assert total(metrics, 'hook_seconds_sum{step="prepare"}') == "2"


def test_an_approval_counts_with_the_notice_used() -> None:
    used = {"notice_seconds_used": 42}
    metrics = counted(note("approved", a_life(), NOON, **used))
    assert metrics.value("approvals_total", answer="200") == 1
    assert total(metrics, 'notice_used_seconds_sum{type="Reboot"}') == "42"


def test_a_failed_approval_counts_by_its_response() -> None:
    metrics = Metrics()
    counting.count_refusal(Refused("no", status=400), metrics)
    counting.count_refusal(Unreachable("nobody is there"), metrics)
    assert metrics.value("approvals_total", answer="400") == 1
    assert metrics.value("approvals_total", answer="unreachable") == 1


def test_only_a_start_approved_elsewhere_counts_as_such() -> None:
    metrics = counted(
        note("started", a_life(), NOON, approved_elsewhere=True),
        note("started", a_life(), NOON, approved_elsewhere=False),
    )
    assert metrics.value("approved_elsewhere_total") == 1


def test_the_impact_counts_only_if_the_event_took_place() -> None:
    felt = Impact(boots=1, seconds=9.0, total=12.0)
    metrics = counted(note("gone", a_life(), NOON, after_start=True), life=felt)
    assert metrics.value("boots_total") == 1
    assert total(metrics, 'impact_seconds_sum{type="Reboot"}') == "9"
    metrics = counted(note("gone", a_life(), NOON, after_start=False), life=felt)
    assert metrics.value("boots_total") == 0
    assert total(metrics, 'impact_seconds_count{type="Reboot"}') in ("none", "0")


def test_only_events_in_the_document_are_shown() -> None:
    metrics = Metrics()
    gone = a_life(event=an_event("E2"), seen=Seen.GONE)
    counting.show([a_life(), gone], metrics)
    labels = {"type": "Reboot", "mine": "1"}
    assert metrics.value("events", status="Scheduled", **labels) == 1
    assert metrics.value("events", status="gone", **labels) is None
    counting.show([gone], metrics)
    assert metrics.value("events", status="Scheduled", **labels) is None
