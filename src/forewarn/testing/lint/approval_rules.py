"""Lint rules for approvals: what a program approves and when."""

from collections.abc import Sequence

from forewarn.formats import count, format_times, join_all
from forewarn.protocol.types import EventSource, EventType
from forewarn.protocol.versions import VERSIONS
from forewarn.server.metadata.faults.observer import RequestRecord
from forewarn.testing.lint.evidence import AnnouncedEvent, CoursePart, Evidence
from forewarn.testing.lint.findings import (
    LintRule,
    RuleResult,
    Severity,
    format_seconds,
    format_share,
    found,
    passed,
    unseen,
)

_AT_ONCE = 0.05  # seconds; too short to prepare anything


def _others(evidence: Evidence) -> RuleResult:
    others = [e for e in evidence.announced if evidence.vm not in e.resources]
    seen = [event for event in others if evidence.first_shown(event.id) is not None]
    if not seen:
        return unseen("it received no event for another VM")
    done = [event for event in others if event.id in _approved(evidence)]
    if done:
        times = [_first_approval(evidence, event.id) for event in done]
        return found(f"approved {_names_of(done)}", at=min(filter(None, times)))
    return passed(f"did not approve {_names_of(seen)}")


def _unprepared(evidence: Evidence) -> RuleResult:
    took = [
        (approved - shown, approved, item)
        for item in evidence.announced
        if _needs_work(item, evidence.vm)
        and (shown := evidence.first_shown(item.id)) is not None
        and (approved := _first_approval(evidence, item.id)) is not None
    ]
    if not took:
        return unseen("it did not approve a platform Reboot of its own VM")
    after, at, event = min(took, key=lambda item: item[0])
    text = f"approved {_name_of(event)} {format_seconds(after)} after receiving it"
    return found(text, at=at) if after < _AT_ONCE else passed(text)


def _in_vain(evidence: Evidence) -> RuleResult:
    if not evidence.approvals:
        return unseen("it sent no approvals")
    total = len(evidence.approvals)
    refused = [approval for approval in evidence.approvals if approval.status == 400]
    late = [approval for approval in refused if _is_late(approval, evidence)]
    bad = [approval for approval in refused if approval not in late]
    if bad:
        share = format_share(len(bad), total, "approval")
        return found(f"{share} failed with 400", at=bad[0].since)
    if late:
        share = format_share(len(late), total, "approval")
        return passed(f"sent {share} after the event was canceled")
    which = "which was" if total == 1 else "all of them"
    return passed(f"sent {count(total, 'approval')}, {which} valid")


def _twice(evidence: Evidence) -> RuleResult:
    times: dict[str, list[float]] = {}
    for approval in evidence.approvals:
        if approval.status == 200:
            for event in approval.events:
                times.setdefault(event.upper(), []).append(approval.since)
    if not times:
        return unseen("it did not approve any events")
    most = max(times.values(), key=len)
    if len(most) == 1:
        return passed("approved each event once")
    return found(f"approved an event {format_times(len(most))}", at=sorted(most)[1])


def _nothing(evidence: Evidence) -> RuleResult:
    own = [e for e in evidence.announced if evidence.vm in e.resources]
    seen = [event for event in own if evidence.first_shown(event.id) is not None]
    if not seen:
        return unseen("it received no event for its own VM")
    done = [event for event in seen if event.id in _approved(evidence)]
    if done:
        return passed(f"approved {_names_of(done)}")
    names = sorted({event.type for event in seen})
    return found(
        f"did not approve any {' or '.join(names)} event for its own VM within"
        f" {format_seconds(_time_to_approve(seen, evidence))}",
        at=evidence.first_shown(seen[0].id),
    )


def _needs_work(event: AnnouncedEvent, vm: str) -> bool:
    """Return whether the VM must prepare for this event before approving it."""
    is_planned = event.source == EventSource.PLATFORM
    return is_planned and event.type == EventType.REBOOT and vm in event.resources


def _approved(evidence: Evidence) -> set[str]:
    """Return the events that were approved, even if after they had been canceled."""
    return {
        event.upper()
        for approval in evidence.approvals
        if approval.status == 200 or _is_late(approval, evidence)
        for event in approval.events
    }


def _is_late(approval: RequestRecord, evidence: Evidence) -> bool:
    """Return whether an approval was rejected only because its events had ended."""
    known = {event.id for event in evidence.announced}
    is_valid = approval.is_marked and approval.version in VERSIONS and approval.events
    return (
        approval.status == 400
        and bool(is_valid)
        and ({event.upper() for event in approval.events} <= known)
    )


def _time_to_approve(events: Sequence[AnnouncedEvent], evidence: Evidence) -> float:
    """Return for how long, at most, the program could have approved one of `events`."""
    gone = evidence.span(CoursePart.GONE)
    until = evidence.until if gone is None else gone.began
    shown = [evidence.first_shown(event.id) for event in events]
    return max((until - at for at in shown if at is not None), default=0.0)


def _first_approval(evidence: Evidence, event: str) -> float | None:
    return min(
        (
            approval.since
            for approval in evidence.approvals
            if event in (id_.upper() for id_ in approval.events)
        ),
        default=None,
    )


def _names_of(events: Sequence[AnnouncedEvent]) -> str:
    return join_all([*map(_name_of, events)])


def _name_of(event: AnnouncedEvent) -> str:
    kind = "user" if event.source == EventSource.USER else "platform"
    return f"the {kind} {event.type} of {', '.join(event.resources)}"


RULES: Sequence[LintRule] = (
    LintRule(
        id="approves-others",
        severity=Severity.ERROR,
        hurts="An approval applies to all VMs that the event lists: the event starts"
        " immediately for the other VM, even if that VM is not ready.",
        remedy="Approve only events that list this VM (compute.name of"
        " /metadata/instance). If one VM approves events for all VMs, the"
        " others should report to it when they are ready.",
        facts=("6.5c", "9.7", "14.1"),
        check=_others,
    ),
    LintRule(
        id="approves-unprepared",
        severity=Severity.WARNING,
        hurts="An approved event may start before NotBefore, so the program loses the"
        " rest of its 15 minutes of notice.",
        remedy="Approve the event after the work has moved elsewhere, not when the"
        " event appears.",
        facts=("6.1a", "6.5a"),
        check=_unprepared,
    ),
    LintRule(
        id="approves-in-vain",
        severity=Severity.ERROR,
        hurts=(
            "A rejected approval has no effect, so the event starts only at NotBefore."
        ),
        remedy='POST {"StartRequests": [{"EventId": "..."}]} with the Metadata'
        " header and an event ID from the document.",
        facts=("2.2a", "8.0d", "9.1a", "9.6a"),
        check=_in_vain,
    ),
    LintRule(
        id="approves-twice",
        severity=Severity.SUGGESTION,
        hurts=(
            "This is harmless, but the extra requests count toward the VM's limit"
            " of five per second."
        ),
        remedy="Remember which events were approved until they disappear.",
        facts=("8.3b", "9.3a"),
        check=_twice,
    ),
    LintRule(
        id="approves-nothing",
        severity=Severity.SUGGESTION,
        hurts=(
            "Each event starts only at NotBefore, even a restart that a user requested."
        ),
        remedy="Ignore this if it is intended. Otherwise, approve events that list this"
        " VM as soon as it is ready.",
        facts=("6.4a", "6.12b", "14.3"),
        check=_nothing,
    ),
)
