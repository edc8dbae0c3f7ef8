"""Observation of a document: which events appear, change or disappear.

1. Events are identified by their IDs, because the document's incarnation can restart.
2. An event never moves backward: once seen as Started, it stays Started until it is
   gone.
3. The response to an event is decided once, when the event is first seen, and saved.
   The response is decided again only if the event turns out to list this VM, whose name
   may be learned late.
4. The number of tracked events is limited. Events that the agent has acted on and
   events that are gone but not complete are always tracked. Among the others, this VM's
   events come first, then those with the nearest NotBefore. The rest are ignored until
   there is room.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from forewarn.agent.audit import entries as e
from forewarn.agent.config.plan import Rule
from forewarn.agent.events.state import (
    NO_IMPACT,
    EventState,
    Impact,
    LastStatus,
    ResponsePlan,
)
from forewarn.agent.identity import VmIdentity
from forewarn.agent.rules import Situation, match_rule, notice_left
from forewarn.protocol.types import Document, EventStatus, EventType, ScheduledEvent

#: The maximum number of events tracked at a time.
MOST_EVENTS = 256
#: The maximum size of an event as JSON, in bytes; details of larger events are ignored.
LARGEST_EVENT = 256 * 1024

_SAFE_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,99}")
_EARLY = timedelta(seconds=2)  # the service's dates have whole seconds
#: Event types that this VM survives only by booting again.
_RESTARTS = frozenset(
    {EventType.REBOOT, EventType.REDEPLOY, EventType.PREEMPT, EventType.TERMINATE}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The context in which a document is read."""

    now: datetime  # service time
    boot: str  # ID of this VM's current boot
    identity: VmIdentity
    rules: Sequence[Rule]
    impact: Impact = NO_IMPACT  # since the last document
    was_away: bool = False  # whether a document may have been missed


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedEvents:
    """The event states that changed and the audit entries about the changes."""

    states: tuple[EventState, ...] = ()
    entries: tuple[e.AuditEntry, ...] = ()
    ignored: int = 0  # events not tracked: too many or too large
    evicted: tuple[str, ...] = ()  # IDs no longer tracked


_Change = tuple[EventState | None, Iterable[e.AuditEntry]]
_UNCHANGED: _Change = (None, ())


def observe(
    states: Mapping[str, EventState], document: Document, observation: Observation
) -> ObservedEvents:
    """Compare `document` with the known states."""
    listed = {
        normalize_event_id(event.id): event
        for event in document.events
        if event.status in (EventStatus.SCHEDULED, EventStatus.STARTED)
        or normalize_event_id(event.id) in states
    }
    usable = _usable(states, listed)
    tracked = _tracked(states, usable, observation)
    evicted = {
        name
        for name in usable.keys() - tracked
        if name in states and states[name].over_at is None
    }
    changes = [
        _compare(states.get(name), event, document.incarnation, observation)
        for name, event in usable.items()
        if name in tracked
    ]
    changes += [
        _mark_gone(state, observation)
        for name, state in states.items()
        if name not in listed and state.seen is not LastStatus.GONE
    ]
    return ObservedEvents(
        states=tuple(state for state, _ in changes if state is not None),
        entries=tuple(entry for _, entries in changes for entry in entries),
        ignored=len(listed) - len(tracked),
        evicted=tuple(sorted(evicted)),
    )


def normalize_event_id(event_id: str) -> str:
    """Return an ID in the form used for comparison."""
    return event_id.upper()


def safe_event_id(event_id: str) -> str:
    """Return an ID that is a safe file name, replacing unsafe IDs with a hash."""
    if _SAFE_ID.fullmatch(event_id):
        return event_id
    from hashlib import sha256  # saves 4 MB of memory in an agent without events

    name = normalize_event_id(event_id).encode(errors="surrogatepass")
    return f"sha256_{sha256(name).hexdigest()}"


# --- limits ------------------------------------------------------------------


def _usable(
    states: Mapping[str, EventState], listed: Mapping[str, ScheduledEvent]
) -> Mapping[str, ScheduledEvent]:
    """Return the events that are small enough to be tracked.

    A known event that has become too large keeps its earlier details but gets its new
    status.
    """
    usable: dict[str, ScheduledEvent] = {}
    for name, event in listed.items():
        state = states.get(name)
        if _size(event) <= LARGEST_EVENT:
            usable[name] = event
        elif state is not None and state.over_at is None:
            usable[name] = replace(
                state.event, status=event.status, not_before=event.not_before
            )
    return usable


def _size(event: ScheduledEvent) -> int:
    try:
        return len(json.dumps(event.raw))
    except RecursionError:  # deeply nested; `raw` is not stored
        return len(event.description) + sum(map(len, event.resources))


def _tracked(
    states: Mapping[str, EventState],
    usable: Mapping[str, ScheduledEvent],
    observation: Observation,
) -> frozenset[str]:
    """Return the IDs of the document's events that are tracked."""
    busy = {
        name
        for name, state in states.items()
        if state.over_at is None
        and (state.has_action or state.seen is LastStatus.GONE)  # hooks may be waiting
    }
    others = usable.keys() - busy
    room = max(MOST_EVENTS - len(busy), 0)
    if len(others) > room:
        others = {*sorted(others, key=_rank(usable, observation))[:room]}
    return frozenset((busy & usable.keys()) | others)


def _rank(
    usable: Mapping[str, ScheduledEvent], observation: Observation
) -> Callable[[str], tuple[bool, float, str]]:
    def rank(name: str) -> tuple[bool, float, str]:
        event = usable[name]
        is_mine = observation.identity.position(event.resources) is not None
        due = event.not_before
        return not is_mine, -math.inf if due is None else due.timestamp(), name

    return rank


# --- one event ---------------------------------------------------------------


def _compare(
    state: EventState | None,
    event: ScheduledEvent,
    incarnation: int,
    observation: Observation,
) -> _Change:
    if event.status not in (EventStatus.SCHEDULED, EventStatus.STARTED):
        return _UNCHANGED  # a status from a later version, which is not supported
    if state is None or state.seen is LastStatus.GONE:
        return _first_state(state, event, incarnation, observation)
    if _is_mine_after_all(state, event, observation):
        return _first_state(None, event, incarnation, observation)
    if state.seen is LastStatus.SCHEDULED and event.status == EventStatus.STARTED:
        return _mark_started(state, event, observation)
    latest = event if event.status == state.seen else state.event
    changed = replace(_with_impact(state, observation), event=latest)
    return (None if changed == state else changed), ()


def _is_mine_after_all(
    state: EventState, event: ScheduledEvent, observation: Observation
) -> bool:
    has_no_action = not state.is_mine and not state.has_action
    return has_no_action and observation.identity.position(event.resources) is not None


def _first_state(
    former: EventState | None,
    event: ScheduledEvent,
    incarnation: int,
    observation: Observation,
) -> _Change:
    has_started = event.status == EventStatus.STARTED
    position = observation.identity.position(event.resources)
    situation = Situation(
        is_mine=position is not None,
        notice=notice_left(event, observation.now),
        now=observation.now,
    )
    match = match_rule(observation.rules, event, situation)
    state = EventState(
        event=event,
        seen=LastStatus.STARTED if has_started else LastStatus.SCHEDULED,
        first_at=observation.now,
        last_at=observation.now,
        notice=situation.notice,
        is_sudden=has_started,
        is_mine=situation.is_mine,
        is_leader=position == 0,
        boot=observation.boot,
        course=None if match.rule is None else _response_plan(match.rule),
        started_at=observation.now if has_started else None,
    )
    return state, _first_entries(state, former, match.why, incarnation)


def _first_entries(
    state: EventState,
    former: EventState | None,
    why: tuple[str, ...],
    incarnation: int,
) -> Iterable[e.AuditEntry]:
    at, plan = state.first_at, state.course
    if former is not None:
        yield e.CameBackEntry(at=at, event=state.id)
    yield e.SeenEntry(
        at=at,
        event=state.id,
        event_as_shown=state.event.raw,
        incarnation=incarnation,
        notice_seconds=state.notice,
        mine=state.is_mine,
        leader=state.is_leader,
    )
    if state.started_at is not None:
        yield _started_entry(state, is_early=False)
    yield e.DecidedEntry(
        at=at,
        event=state.id,
        rule=None if plan is None else plan.rule,
        why=why,
        approve=None if plan is None else plan.approve,
        hooks={} if plan is None else dict(plan.hooks.items()),
    )


def _response_plan(rule: Rule) -> ResponsePlan:
    return ResponsePlan(
        rule=rule.name,
        hooks=rule.hooks,
        parallel=rule.parallel,
        approve=rule.approve,
        together=rule.together,
        ready=rule.ready,
    )


def _mark_started(
    state: EventState, event: ScheduledEvent, observation: Observation
) -> _Change:
    due = state.event.not_before
    is_early = due is not None and due - observation.now > _EARLY
    started = replace(
        _with_impact(state, observation),
        event=event,
        seen=LastStatus.STARTED,
        last_at=observation.now,
        started_at=observation.now,
        approved_elsewhere=is_early and state.posted_at is None,
    )
    return started, [_started_entry(started, is_early=is_early)]


def _started_entry(state: EventState, *, is_early: bool) -> e.AuditEntry:
    return e.StartedEntry(
        at=state.last_at,
        event=state.id,
        early=is_early,
        approved_elsewhere=state.approved_elsewhere,
        without_notice=state.is_sudden,
    )


def _mark_gone(state: EventState, observation: Observation) -> _Change:
    happened = _has_happened(state, observation)
    gone = replace(
        _with_impact(state, observation),
        seen=LastStatus.GONE,
        last_at=observation.now,
        gone_at=observation.now,
        started_at=state.started_at or (state.last_at if happened else None),
    )
    entry = e.GoneEntry(
        at=observation.now,
        event=gone.id,
        after_start=happened,
        canceled=not happened,
        impact=gone.impact.rounded(),
        announced_seconds=gone.event.duration,
    )
    return gone, [entry]


def _has_happened(state: EventState, observation: Observation) -> bool:
    """Return whether a gone event took place, even if it was never seen as Started."""
    if state.started_at is not None or state.boot != observation.boot:
        return True
    if state.is_mine and state.event.type in _RESTARTS and not observation.was_away:
        return False  # the event would have been seen as Started
    due = state.event.not_before
    return state.posted_at is not None or (due is not None and observation.now >= due)


def _with_impact(state: EventState, observation: Observation) -> EventState:
    """Add the impact on this VM since the last document."""
    boots = 0 if state.boot == observation.boot else 1
    impact = state.impact + observation.impact + Impact(boots=boots)
    return replace(state, boot=observation.boot, impact=impact)
