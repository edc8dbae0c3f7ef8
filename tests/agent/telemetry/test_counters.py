"""Agent metrics: how audit entries are counted."""

from dataclasses import replace

from tests.agent.support.events import NOON, SECOND, a_run, a_state

from forewarn.agent.audit import entries as e
from forewarn.agent.events import progress
from forewarn.agent.events.state import HookOutcome, Impact
from forewarn.agent.telemetry import recorder
from forewarn.agent.telemetry.metrics import AgentMetrics


def counted(*entries: e.AuditEntry, state: Impact | None = None) -> AgentMetrics:
    metrics = AgentMetrics()
    for entry in entries:
        recorder.count_entry(
            entry, replace(a_state(), impact=state or Impact()), metrics
        )
    return metrics


def total(metrics: AgentMetrics, series: str) -> str:
    """Return the rendered value of a series, or "none"."""
    lines = dict(
        line.rsplit(" ", 1)
        for line in metrics.render().splitlines()
        if not line.startswith("#")
    )
    return lines.get(f"forewarn_agent_{series}", "none")


def test_a_decision_counts_for_its_rule_with_the_notice_given() -> None:
    decided = e.DecidedEntry(at=NOON, rule="all", why=(), approve=None, hooks={})
    metrics = counted(decided, replace(decided, rule=None))
    assert metrics.value("decisions_total", rule="all") == 1
    assert metrics.value("decisions_total", rule="none") == 1
    assert total(metrics, 'notice_given_seconds_sum{type="Reboot"}') == "1800"


def test_a_hook_counts_by_step_and_outcome_with_its_duration() -> None:
    failed = a_run(outcome=HookOutcome.FAILED)
    metrics = counted(
        *progress.end_hook(a_state(), failed, NOON).entries,
        *progress.end_hook(a_state(), a_run(), NOON).entries,
    )
    assert metrics.value("hooks_total", step="prepare", outcome="failed") == 1
    assert metrics.value("hooks_total", step="prepare", outcome="done") == 1
    assert total(metrics, 'hook_seconds_sum{step="prepare"}') == "2"


def test_an_approval_counts_with_the_notice_used() -> None:
    approved = progress.mark_approved(a_state(), NOON + 42 * SECOND)
    metrics = counted(*approved.entries)
    assert metrics.value("approvals_total", answer="200") == 1
    assert total(metrics, 'notice_used_seconds_sum{type="Reboot"}') == "42"


def test_only_a_start_approved_elsewhere_counts_as_such() -> None:
    started = e.StartedEntry(
        at=NOON, early=True, approved_elsewhere=True, without_notice=False
    )
    metrics = counted(started, replace(started, approved_elsewhere=False))
    assert metrics.value("approved_elsewhere_total") == 1


def test_the_impact_counts_only_if_the_event_took_place() -> None:
    impact = Impact(boots=1, seconds=9.0, total=12.0)
    gone = e.GoneEntry(
        at=NOON,
        after_start=True,
        canceled=False,
        impact=impact,
        announced_seconds=None,
    )
    metrics = counted(gone, state=impact)
    assert metrics.value("boots_total") == 1
    assert total(metrics, 'impact_seconds_sum{type="Reboot"}') == "9"
    metrics = counted(replace(gone, after_start=False), state=impact)
    assert metrics.value("boots_total") == 0
    assert total(metrics, 'impact_seconds_count{type="Reboot"}') in ("none", "0")
