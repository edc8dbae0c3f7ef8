"""What can be asked of the life of a maintenance.

Every command has three parts. It changes what was asked for; `settle` completes
what is over and starts what is due and not held by a gate; `publish` raises the
incarnation of each audience whose document is different afterwards.

A command that has nothing left to do returns no facts. It does not fail: two VMs
may approve the same event, and a timer may ring twice.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from forewarn.core import facts as f
from forewarn.core import policy
from forewarn.core.document import is_shown, view
from forewarn.core.fleet import Audience
from forewarn.core.lifecycle import apply
from forewarn.core.maintenance import Maintenance, Phase, Slice, Via
from forewarn.core.outages import Outage
from forewarn.core.policy import Rules
from forewarn.errors import TooLate, UnknownEvent


@dataclass(frozen=True, slots=True)
class Step:
    """What a command leads to; without facts, nothing has changed."""

    slice: Slice
    facts: tuple[f.Fact, ...] = ()


class Draft:
    """A step in the making: facts, and the slice as they leave it."""

    def __init__(self, slice_: Slice) -> None:
        """Begin with nothing changed."""
        self.before = slice_
        self.slice = slice_
        self.facts: list[f.Fact] = []

    def record(self, *facts: f.Fact) -> None:
        """Add `facts`, and what they change."""
        for fact in facts:
            self.slice = apply(self.slice, fact)
            self.facts.append(fact)

    def finish(self, now: datetime, rules: Rules) -> Step:
        """Settle, publish, and make it a step."""
        _settle(self, now, rules)
        _publish(self, now)
        return Step(self.slice, tuple(self.facts))


# --- commands ----------------------------------------------------------------


def tick(slice_: Slice, now: datetime, rules: Rules) -> Step:
    """Do what is due at `now`."""
    return Draft(slice_).finish(now, rules)


def approve(
    slice_: Slice,
    event_ids: Sequence[str],
    *,
    by: str,
    via: Via,
    now: datetime,
    rules: Rules,
) -> Step:
    """Approve those of `event_ids` that are still waiting for it."""
    draft = Draft(slice_)
    wanted = set(event_ids)
    for maintenance in slice_.maintenances.values():
        if maintenance.phase is not Phase.SCHEDULED:
            continue
        for event in maintenance.events:
            if event.id in wanted and event.approved_at is None:
                draft.record(
                    f.Approved(
                        at=now,
                        by=by,
                        via=via,
                        maintenance=maintenance.id,
                        event=event.id,
                        group=event.group,
                    )
                )
    return draft.finish(now, rules)


def check_may_approve(
    known: Iterable[tuple[str, Maintenance | None]], audience: Audience
) -> None:
    """Refuse unless each id of `known` is or was an event that `audience` saw."""
    for event_id, maintenance in known:
        events = () if maintenance is None else maintenance.events
        if not any(each.id == event_id and is_shown(each, audience) for each in events):
            raise UnknownEvent(f"{event_id} is not an event of this VM")


def cancel(
    slice_: Slice,
    maintenance_id: str,
    *,
    by: str,
    reason: str | None,
    now: datetime,
    rules: Rules,
) -> Step:
    """Call the maintenance off; only possible before it has started."""
    draft = Draft(slice_)
    maintenance = slice_.maintenance(maintenance_id)
    if maintenance.phase is Phase.CANCELED:
        return tick(slice_, now, rules)
    if maintenance.phase is Phase.STARTED:
        raise TooLate(f"{maintenance_id} has started; complete or close it")
    _refuse_if_over(maintenance, "canceled")
    draft.record(f.Canceled(at=now, by=by, maintenance=maintenance_id, reason=reason))
    return draft.finish(now, rules)


def complete(
    slice_: Slice, maintenance_id: str, *, by: str, now: datetime, rules: Rules
) -> Step:
    """Take the work for done and the duration for over."""
    draft = Draft(slice_)
    maintenance = slice_.maintenance(maintenance_id)
    if maintenance.phase is Phase.COMPLETED:
        return tick(slice_, now, rules)
    if maintenance.phase is Phase.SCHEDULED:
        raise TooLate(f"{maintenance_id} has not started; cancel it")
    _refuse_if_over(maintenance, "completed")
    if maintenance.completed_by is None:
        draft.record(f.WorkEnded(at=now, by=by, maintenance=maintenance_id))
    return draft.finish(now, rules)


def retry(
    slice_: Slice, maintenance_id: str, *, by: str, now: datetime, rules: Rules
) -> Step:
    """Let the driver try again what is still to do of a stuck maintenance."""
    draft = Draft(slice_)
    _refuse_unless_stuck(slice_.maintenance(maintenance_id), "retry")
    draft.record(f.WorkRetried(at=now, by=by, maintenance=maintenance_id))
    return draft.finish(now, rules)


def retry_unasked(
    slice_: Slice, maintenance_id: str, *, now: datetime, rules: Rules
) -> Step:
    """Let the driver try again by itself, as often as the rules say."""
    draft = Draft(slice_)
    if is_retry_left(slice_.maintenance(maintenance_id), rules):
        draft.record(f.WorkRetried(at=now, by=None, maintenance=maintenance_id))
    return draft.finish(now, rules)


def close(
    slice_: Slice,
    maintenance_id: str,
    *,
    by: str,
    reason: str | None,
    now: datetime,
    rules: Rules,
) -> Step:
    """Give a stuck maintenance up."""
    draft = Draft(slice_)
    _refuse_unless_stuck(slice_.maintenance(maintenance_id), "close")
    draft.record(f.Closed(at=now, by=by, maintenance=maintenance_id, reason=reason))
    return draft.finish(now, rules)


def begin_work(
    slice_: Slice, maintenance_id: str, *, now: datetime, rules: Rules
) -> Step:
    """Note that the driver is about to be called, if there is anything to do."""
    draft = Draft(slice_)
    maintenance = slice_.maintenance(maintenance_id)
    if is_work_open(maintenance, now, rules):
        attempt = maintenance.attempt + 1
        draft.record(f.WorkBegan(at=now, maintenance=maintenance_id, attempt=attempt))
    return draft.finish(now, rules)


def report_work(
    slice_: Slice,
    maintenance_id: str,
    *,
    vms: Sequence[str],
    failed: bool = False,
    detail: str = "",
    now: datetime,
    rules: Rules,
) -> Step:
    """Note what the driver did on `vms`, or failed to do."""
    draft = Draft(slice_)
    maintenance = slice_.maintenance(maintenance_id)
    if maintenance.phase is not Phase.STARTED:
        return tick(slice_, now, rules)
    concerned = tuple(vm for vm in vms if vm in maintenance.to_do)
    if not concerned:
        return tick(slice_, now, rules)
    kind = f.WorkFailed if failed else f.WorkDone
    draft.record(kind(at=now, maintenance=maintenance_id, vms=concerned, detail=detail))
    return draft.finish(now, rules)


def note_output(
    slice_: Slice,
    maintenance_id: str,
    *,
    attempt: int,
    output: str,
    now: datetime,
    rules: Rules,
) -> Step:
    """Keep what the driver's call left to read."""
    draft = Draft(slice_)
    draft.record(
        f.WorkPrinted(
            at=now, maintenance=maintenance_id, attempt=attempt, output=output
        )
    )
    return draft.finish(now, rules)


def listen(
    slice_: Slice, groups: Sequence[str], *, epoch: str, now: datetime, rules: Rules
) -> Step:
    """Begin a new epoch for those of `groups` that are silent."""
    draft = Draft(slice_)
    for name in groups:
        if slice_.groups[name].is_listening(now, slice_.outages):
            continue
        draft.record(f.ListeningBegan(at=now, group=name, epoch=epoch))
    return draft.finish(now, rules)


def end_outage(slice_: Slice, outage: Outage, now: datetime) -> Step:
    """Note that the service was away; whom it concerns will look at it."""
    draft = Draft(slice_)
    draft.record(f.OutageEnded(at=now, outage=outage))
    return Step(draft.slice, tuple(draft.facts))


# --- questions ---------------------------------------------------------------


def is_work_open(maintenance: Maintenance, now: datetime, rules: Rules) -> bool:
    """Whether the driver should be called now."""
    opens = policy.work_opens_at(maintenance, rules)
    return (
        maintenance.phase is Phase.STARTED
        and maintenance.stuck_since is None
        and bool(maintenance.to_do)
        and opens is not None
        and now >= opens
    )


def is_retry_left(maintenance: Maintenance, rules: Rules) -> bool:
    """Whether it is stuck, and the driver is called again unasked."""
    return (
        maintenance.phase is Phase.STARTED
        and maintenance.stuck_since is not None
        and maintenance.tries <= rules.retries
    )


def groups_to_settle(slice_: Slice, now: datetime, rules: Rules) -> frozenset[str]:
    """The groups that must be at hand for everything due in the slice to move on."""
    return frozenset(
        group
        for each in slice_.maintenances.values()
        if policy.is_due(each, now) or policy.is_ending(each, now, rules)
        for group in each.groups
    )


def is_at_hand(slice_: Slice, maintenance: Maintenance) -> bool:
    """Whether all groups of `maintenance` are in the slice, so that it may move on."""
    return slice_.groups.keys() >= set(maintenance.groups)


# --- settle and publish ------------------------------------------------------


def _settle(draft: Draft, now: datetime, rules: Rules) -> None:
    for each in draft.slice.maintenances.values():
        if policy.is_ending(each, now, rules) and is_at_hand(draft.slice, each):
            draft.record(f.Completed(at=now, maintenance=each.id))
    queued: set[str] = set()  # groups where an older one is due but held
    for maintenance in _due(draft.slice, now):
        planned = policy.is_planned(maintenance) and not maintenance.ignore_gates
        behind = planned and not queued.isdisjoint(maintenance.groups)
        if behind or _is_held(draft.slice, maintenance, now):
            if planned:
                queued.update(maintenance.groups)
            continue
        draft.record(f.Started(at=now, maintenance=maintenance.id))


def _due(slice_: Slice, now: datetime) -> list[Maintenance]:
    due = [each for each in slice_.maintenances.values() if policy.is_due(each, now)]
    return sorted(due, key=lambda each: each.not_before)  # equal ones: as announced


def _is_held(slice_: Slice, maintenance: Maintenance, now: datetime) -> bool:
    if not is_at_hand(slice_, maintenance):
        return True  # the next tick starts it
    return next(policy.gates(slice_, maintenance, now), None) is not None


def _publish(draft: Draft, now: datetime) -> None:
    before = draft.before
    touched = {
        group
        for maintenance in draft.slice.maintenances.values()
        if before.maintenances.get(maintenance.id) is not maintenance
        for group in maintenance.groups
    }
    for audience in tuple(draft.slice.audiences.values()):
        earlier = before.audiences.get(audience.name)
        is_new = earlier is None or earlier.epoch != audience.epoch
        if not is_new and audience.group not in touched:
            continue
        seen = () if is_new else _view(before, audience)
        if _view(draft.slice, audience) != seen:
            draft.record(_published(audience, audience.incarnation + 1, now))


def _view(slice_: Slice, audience: Audience) -> object:
    return view(audience, slice_.live_in(audience.group))


def _published(audience: Audience, incarnation: int, now: datetime) -> f.Published:
    return f.Published(
        at=now,
        audience=audience.name,
        group=audience.group,
        epoch=audience.epoch,
        incarnation=incarnation,
    )


def _refuse_if_over(maintenance: Maintenance, what: str) -> None:
    if not maintenance.phase.is_live:
        raise TooLate(f"{maintenance.id} is {maintenance.phase}; it cannot be {what}")


def _refuse_unless_stuck(maintenance: Maintenance, what: str) -> None:
    if maintenance.phase is not Phase.STARTED:
        raise TooLate(
            f"{maintenance.id} is {maintenance.phase}; {what} is for maintenances"
            " that have started and are stuck"
        )
    if maintenance.stuck_since is None:
        raise TooLate(f"{maintenance.id} is not stuck; {what} is not needed")
