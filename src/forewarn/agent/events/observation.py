"""Comparison of a document with known event states: what appears, changes, ends.

1. Ids identify events, not the document's counter, which can restart.
2. An event never goes back: once seen as Started, it stays so until it is gone.
3. What to do about an event is decided once, when it is first seen, and saved. It is
   decided again only if the event turns out to name this VM: its name may be learned
   late.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from forewarn.agent.audit.entries import AuditEntry, event_entry, impact_fields
from forewarn.agent.events.state import (
    UNTOUCHED,
    EventState,
    Impact,
    LastStatus,
    ResponsePlan,
)
from forewarn.protocol.types import Document, EventStatus, EventType, ScheduledEvent

_EARLY = timedelta(seconds=2)  # the service's date has whole seconds
#: Types that this VM would not survive without a new boot.
_RESTARTS = frozenset(
    {EventType.REBOOT, EventType.REDEPLOY, EventType.PREEMPT, EventType.TERMINATE}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleDecision:
    """What to do about an event, and why."""

    course: ResponsePlan | None  # None if nothing
    why: tuple[str, ...] = ()


#: Decides about an event: whether it names this VM, and the seconds of notice left.
Judge = Callable[[ScheduledEvent, bool, float | None], RuleDecision]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Context in which a document is read."""

    now: datetime  # the service's time
    boot: str  # id of this VM's current boot
    position: Callable[[Sequence[str]], int | None]  # index of this VM
    judge: Judge
    felt: Impact = UNTOUCHED  # since the last document
    was_away: bool = False  # a document may have been missed


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedEvents:
    """The event states that have changed, and the audit entries about them."""

    lives: tuple[EventState, ...] = ()
    notes: tuple[AuditEntry, ...] = ()


def normalize_event_id(event_id: str) -> str:
    """Return an id in the form used for comparison."""
    return event_id.upper()


def observe(
    lives: Mapping[str, EventState], document: Document, sight: Observation
) -> ObservedEvents:
    """Compare `document` with the known states."""
    listed = {normalize_event_id(event.id): event for event in document.events}
    steps = [
        _see(lives.get(name), event, document.incarnation, sight)
        for name, event in listed.items()
    ]
    steps += [
        _miss(life, sight)
        for name, life in lives.items()
        if name not in listed and life.seen is not LastStatus.GONE
    ]
    return ObservedEvents(
        lives=tuple(life for life, _ in steps if life is not None),
        notes=tuple(entry for _, notes in steps for entry in notes),
    )


_Step = tuple[EventState | None, Iterable[AuditEntry]]
_NOTHING: _Step = (None, ())


def _see(
    life: EventState | None, event: ScheduledEvent, incarnation: int, sight: Observation
) -> _Step:
    if event.status not in (EventStatus.SCHEDULED, EventStatus.STARTED):
        return _NOTHING  # a status of a later version, which cannot be handled
    if life is None or life.seen is LastStatus.GONE:
        return _begin(life, event, incarnation, sight)
    if _is_mine_after_all(life, event, sight):
        return _begin(None, event, incarnation, sight)
    if life.seen is LastStatus.SCHEDULED and event.status == EventStatus.STARTED:
        return _start(life, event, sight)
    latest = event if event.status == life.seen else life.event
    changed = replace(_touched(life, sight), event=latest)
    return (None if changed == life else changed), ()


def _is_mine_after_all(
    life: EventState, event: ScheduledEvent, sight: Observation
) -> bool:
    is_untouched = not life.is_mine and not life.runs and life.posted_at is None
    return is_untouched and sight.position(event.resources) is not None


def _begin(
    former: EventState | None,
    event: ScheduledEvent,
    incarnation: int,
    sight: Observation,
) -> _Step:
    has_started = event.status == EventStatus.STARTED
    left = None if has_started else _seconds_left(event, sight.now)
    position = sight.position(event.resources)
    decision = sight.judge(event, position is not None, left)
    life = EventState(
        event=event,
        seen=LastStatus.STARTED if has_started else LastStatus.SCHEDULED,
        first_at=sight.now,
        last_at=sight.now,
        notice=left,
        is_sudden=has_started,
        is_mine=position is not None,
        is_leader=position == 0,
        boot=sight.boot,
        course=decision.course,
        started_at=sight.now if has_started else None,
    )
    return life, _beginning(life, former, decision, incarnation)


def _beginning(
    life: EventState,
    former: EventState | None,
    decision: RuleDecision,
    incarnation: int,
) -> Iterable[AuditEntry]:
    at, course = life.first_at, life.course
    if former is not None:
        yield event_entry("came-back", life, at)
    yield event_entry(
        "seen",
        life,
        at,
        event_as_shown=life.event.raw,
        incarnation=incarnation,
        notice_seconds=life.notice,
        mine=life.is_mine,
        leader=life.is_leader,
    )
    if life.started_at is not None:
        yield _started(life, is_early=False)
    yield event_entry(
        "decided",
        life,
        at,
        rule=None if course is None else course.rule,
        why=decision.why,
        approve=None if course is None else course.approve,
        hooks={} if course is None else course.hooks,
    )


def _start(life: EventState, event: ScheduledEvent, sight: Observation) -> _Step:
    due = life.event.not_before
    is_early = due is not None and due - sight.now > _EARLY
    started = replace(
        _touched(life, sight),
        event=event,
        seen=LastStatus.STARTED,
        last_at=sight.now,
        started_at=sight.now,
        approved_elsewhere=is_early and life.posted_at is None,
    )
    return started, [_started(started, is_early=is_early)]


def _started(life: EventState, *, is_early: bool) -> AuditEntry:
    return event_entry(
        "started",
        life,
        life.last_at,
        early=is_early,
        approved_elsewhere=life.approved_elsewhere,
        without_notice=life.is_sudden,
    )


def _miss(life: EventState, sight: Observation) -> _Step:
    happened = _has_happened(life, sight)
    gone = replace(
        _touched(life, sight),
        seen=LastStatus.GONE,
        last_at=sight.now,
        gone_at=sight.now,
        started_at=life.started_at or (life.last_at if happened else None),
    )
    entry = event_entry(
        "gone",
        gone,
        sight.now,
        after_start=happened,
        canceled=not happened,
        impact=impact_fields(gone.impact),
        announced_seconds=gone.event.duration,
    )
    return gone, [entry]


def _has_happened(life: EventState, sight: Observation) -> bool:
    """Return whether an event that is gone took place, even if not seen as Started."""
    if life.started_at is not None or life.boot != sight.boot:
        return True
    if life.is_mine and life.event.type in _RESTARTS and not sight.was_away:
        return False  # not shown as Started, and this VM would not have survived
    due = life.event.not_before
    return life.posted_at is not None or (due is not None and sight.now >= due)


def _touched(life: EventState, sight: Observation) -> EventState:
    """Add the impact on this VM since the last document."""
    boots = 0 if life.boot == sight.boot else 1
    felt = life.impact + sight.felt + Impact(boots=boots)
    return replace(life, boot=sight.boot, impact=felt)


def _seconds_left(event: ScheduledEvent, now: datetime) -> float | None:
    due = event.not_before
    return None if due is None else max((due - now).total_seconds(), 0.0)
