"""Notice periods and the blockers that prevent due maintenance from starting."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from forewarn.core.fleet import Group
from forewarn.core.lifecycle.model import Cause, Maintenance, Phase, Slice
from forewarn.core.outages import Outage, time_lost
from forewarn.protocol.types import EventSource, EventType

MINIMUM_NOTICE: Mapping[EventType, timedelta] = {
    EventType.FREEZE: timedelta(minutes=15),
    EventType.REBOOT: timedelta(minutes=15),
    EventType.REDEPLOY: timedelta(minutes=10),
    EventType.PREEMPT: timedelta(seconds=30),
    EventType.TERMINATE: timedelta(minutes=5),  # 5 to 15, set per group
}

DEFAULT_DURATION: Mapping[EventType, int] = {EventType.FREEZE: 9}  # others: -1, unknown

#: The expected duration of a Freeze for a live migration, in seconds.
LIVE_MIGRATION_DURATION = 5

#: The longest notice and duration accepted as plausible.
LONGEST = timedelta(days=3650)

_PLANNED = frozenset({EventType.FREEZE, EventType.REBOOT, EventType.REDEPLOY})

_SHOWN = timedelta(seconds=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules that an operator can configure."""

    #: The minimum time that Started is shown, so that a client polling every second
    #: sees it.
    shown: Mapping[EventType, timedelta] = field(
        default_factory=lambda: dict.fromkeys(EventType, _SHOWN)
    )
    #: The delay between Started and the driver call.
    lead: timedelta = timedelta(0)
    #: The number of automatic retries after the driver has failed.
    retries: int = 0
    #: The maximum number of user operations that a group's token may have scheduled in
    #: its group; None for no limit.
    user_operations: int | None = None
    #: The longest duration that a group's token may set.
    user_duration: timedelta = timedelta(minutes=15)
    #: How far ahead a group's token may schedule.
    user_notice: timedelta = timedelta(days=7)
    #: The event type of a host failure.
    host_failure: EventType = EventType.REBOOT


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """A reason why due maintenance has not started yet."""

    kind: str
    group: str
    held_by: Maintenance | None  # None if it ends only with time
    opens_at: datetime | None = None  # None if it depends on `held_by`


def minimum_notice(kind: EventType, group: Group) -> timedelta:
    """Return the minimum notice in `group` for an event of type `kind`."""
    if kind is EventType.TERMINATE and group.terminate_notice is not None:
        return timedelta(seconds=group.terminate_notice)
    return MINIMUM_NOTICE[kind]


def is_planned(maintenance: Maintenance) -> bool:
    """Return whether the platform chose the time, so that update domains apply."""
    return (
        maintenance.source is EventSource.PLATFORM
        and maintenance.type in _PLANNED
        and maintenance.cause is not Cause.HOST_FAILURE
    )


def is_requested(maintenance: Maintenance) -> bool:
    """Return whether a group's token could have requested `maintenance`."""
    return not is_planned(maintenance) and maintenance.cause is not Cause.HOST_FAILURE


def is_move(maintenance: Maintenance) -> bool:
    """Return whether the VMs move to other hosts. VMs of a failed host do not move."""
    return (
        maintenance.type is EventType.REDEPLOY
        and maintenance.cause is not Cause.HOST_FAILURE
    )


def is_deletion(maintenance: Maintenance) -> bool:
    """Return whether `maintenance` deletes its VMs, which then leave the fleet."""
    return maintenance.removes and maintenance.cause is not Cause.EVICTION


def is_queued(maintenance: Maintenance) -> bool:
    """Return whether `maintenance` waits behind older, blocked maintenance."""
    return is_planned(maintenance) and not maintenance.ignore_blockers


def is_due(maintenance: Maintenance, now: datetime) -> bool:
    """Return whether `maintenance` may start if nothing blocks it."""
    if maintenance.phase is not Phase.SCHEDULED:
        return False
    return maintenance.is_approved or now >= maintenance.not_before


def due_at(maintenance: Maintenance) -> datetime:
    """Return the latest time at which `maintenance` becomes or became due."""
    if not maintenance.is_approved:
        return maintenance.not_before
    settled = (event.approved_at or event.withdrawn_at for event in maintenance.events)
    last = max((moment for moment in settled if moment is not None), default=None)
    return min(maintenance.not_before, last or maintenance.not_before)


def is_ending(maintenance: Maintenance, now: datetime, rules: Rules) -> bool:
    """Return whether the work is done and Started was shown for long enough."""
    end = ends_at(maintenance, rules)
    return (
        maintenance.phase is Phase.STARTED
        and not maintenance.to_do
        and end is not None
        and now >= end
    )


def blockers(
    slice_: Slice, maintenance: Maintenance, now: datetime
) -> Iterator[Blocker]:
    """Yield everything that blocks `maintenance` once it is due."""
    if maintenance.ignore_blockers:
        return
    moves = [*_move_blockers(slice_, maintenance)]
    yield from moves
    if is_planned(maintenance):
        for blocker in _update_domain_blockers(slice_, maintenance):
            if all(blocker.held_by is not move.held_by for move in moves):
                yield blocker
    if maintenance.type is EventType.TERMINATE and now < maintenance.not_before:
        yield from _coupling_blockers(slice_, maintenance, now)
    yield from _notice_blockers(slice_, maintenance, now)


def queue_blockers(
    slice_: Slice, maintenance: Maintenance, now: datetime
) -> Iterator[Blocker]:
    """Yield earlier maintenance that goes first because it is due but blocked."""
    if not is_queued(maintenance):
        return
    for other in _before(slice_, maintenance):
        shared = [group for group in maintenance.groups if group in other.groups]
        if shared and is_queued(other) and is_due(other, now):
            yield Blocker(kind="queue", group=shared[0], held_by=other)


def blockers_ahead(
    slice_: Slice, maintenance: Maintenance, now: datetime
) -> Iterator[Blocker]:
    """Yield the maintenance in each group that will start first and then block
    `maintenance`.

    If several operations will start first, only the last is included, because it waits
    for the others.
    """
    if not is_queued(maintenance) or is_due(maintenance, now):
        return
    for group in maintenance.groups:
        ahead = [
            other
            for other in _before(slice_, maintenance)
            if group in other.groups
            and not _in_same_update_domain(maintenance, other, group)
        ]
        if ahead:
            last = sorted(ahead, key=lambda other: other.not_before)[-1]
            yield Blocker(kind="ahead", group=group, held_by=last)


def _before(slice_: Slice, maintenance: Maintenance) -> list[Maintenance]:
    """Return the operations scheduled before `maintenance`, in announcement order."""
    ids = [*slice_.maintenances]
    older = ids.index(maintenance.id)
    return [
        other
        for place, other in enumerate(slice_.maintenances.values())
        if other.phase is Phase.SCHEDULED
        and (other.not_before, place) < (maintenance.not_before, older)
    ]


def _update_domain_blockers(
    slice_: Slice, maintenance: Maintenance
) -> Iterator[Blocker]:
    started = [
        other
        for other in slice_.maintenances.values()
        if other.phase is Phase.STARTED
        and other.id != maintenance.id
        and not _is_too_late_to_block(other, maintenance)
    ]
    for group in maintenance.groups:
        for other in started:
            if group in other.groups and not _in_same_update_domain(
                maintenance, other, group
            ):
                yield Blocker(kind="update-domain", group=group, held_by=other)


def _is_too_late_to_block(other: Maintenance, maintenance: Maintenance) -> bool:
    """Return whether a group could delay `maintenance` forever by repeating `other`."""
    since = other.started_at
    return is_requested(other) and since is not None and since > due_at(maintenance)


def _in_same_update_domain(one: Maintenance, other: Maintenance, group: str) -> bool:
    domains = {
        event.update_domain
        for maintenance in (one, other)
        for event in maintenance.live_events
        if event.group == group
    }
    return len(domains) == 1 and None not in domains


def _move_blockers(slice_: Slice, maintenance: Maintenance) -> Iterator[Blocker]:
    """Yield other moves of the same VMs, if either move empties a degraded host."""
    if not is_move(maintenance):
        return
    remaining = {*maintenance.vms} - {*maintenance.left}
    running = [
        other
        for other in slice_.maintenances.values()
        if other.phase is Phase.STARTED
        and is_move(other)
        and Cause.DEGRADED in (maintenance.cause, other.cause)
        and not remaining.isdisjoint({*other.vms} - {*other.left})
    ]
    for group in maintenance.groups:
        for other in running:
            if group in other.groups:
                yield Blocker(kind="move", group=group, held_by=other)


def _coupling_blockers(
    slice_: Slice, maintenance: Maintenance, now: datetime
) -> Iterator[Blocker]:
    for other_id in maintenance.coupled:
        other = slice_.maintenances.get(other_id)
        if other is None or other.phase is not Phase.SCHEDULED:
            continue
        if not is_due(other, now):
            opens_at = min(maintenance.not_before, other.not_before)
            group = maintenance.groups[0]
            yield Blocker(
                kind="terminate-coupling",
                group=group,
                held_by=other,
                opens_at=opens_at,
            )


def _notice_blockers(
    slice_: Slice, maintenance: Maintenance, now: datetime
) -> Iterator[Blocker]:
    opens_at = notice_given_at(maintenance, slice_.outages, now)
    if opens_at is None or now >= opens_at:
        return
    for group in dict.fromkeys(event.group for event in maintenance.unapproved):
        yield Blocker(kind="notice", group=group, held_by=None, opens_at=opens_at)


def notice_given_at(
    maintenance: Maintenance, outages: Iterable[Outage], now: datetime
) -> datetime | None:
    """Return when the promised notice is complete.

    Return None if that time is not after NotBefore.
    """
    if maintenance.is_approved or not maintenance.promised:
        return None
    away = time_lost(outages, maintenance.announced_at, now)
    given_at = maintenance.announced_at + timedelta(seconds=maintenance.promised) + away
    return given_at if given_at > maintenance.not_before else None


def work_opens_at(maintenance: Maintenance, rules: Rules) -> datetime | None:
    """Return when the driver may act, or None before the start."""
    if maintenance.started_at is None:
        return None
    return maintenance.started_at + rules.lead


def ends_at(maintenance: Maintenance, rules: Rules) -> datetime | None:
    """Return the end if the work is done by then, or None if the end is unknown."""
    if maintenance.started_at is None:
        return None
    duration = timedelta(seconds=max(maintenance.duration, 0))
    if maintenance.completed_by is not None:
        duration = timedelta(0)
    elif maintenance.cause is Cause.HOST_FAILURE and maintenance.duration < 0:
        return None  # until the host recovers or an operator completes it
    return maintenance.started_at + max(duration, rules.shown[maintenance.type])


def next_moment(
    maintenance: Maintenance,
    now: datetime,
    rules: Rules,
    outages: Iterable[Outage] = (),
) -> datetime | None:
    """Return when `maintenance` next changes without a command.

    Return None if only a command can change it.
    """
    if maintenance.phase is Phase.SCHEDULED:
        given_at = notice_given_at(maintenance, outages, now)
        ahead = (maintenance.not_before, given_at)
        return min(
            (moment for moment in ahead if moment and now < moment), default=None
        )
    if maintenance.phase is not Phase.STARTED:
        return None
    if not maintenance.to_do:
        return ends_at(maintenance, rules)
    opens = work_opens_at(maintenance, rules)
    return opens if opens is not None and now < opens else None
