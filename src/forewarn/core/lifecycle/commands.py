"""Commands: on a maintenance, on polls and outages, and on the driver's work.

1. Every command makes its own change and then settles the rest (`settlement`): finished
   maintenance completes, due maintenance starts, and new documents are published.
2. A command with nothing left to do returns no facts instead of failing: two VMs may
   approve the same event, and a timer may fire twice.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from forewarn.core.fleet import Audience
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle import policy
from forewarn.core.lifecycle.document import is_shown
from forewarn.core.lifecycle.model import Maintenance, Phase, Slice, Via
from forewarn.core.lifecycle.policy import Rules
from forewarn.core.lifecycle.settlement import Step, StepBuilder
from forewarn.core.outages import Outage
from forewarn.errors import TooLate, UnknownEvent


def tick(slice_: Slice, now: datetime, rules: Rules) -> Step:
    """Apply everything that is due at `now`."""
    return StepBuilder(slice_).finish(now, rules)


def approve(
    slice_: Slice,
    event_ids: Sequence[str],
    *,
    by: str,
    via: Via,
    now: datetime,
    rules: Rules,
) -> Step:
    """Approve those of `event_ids` that are not approved yet."""
    builder = StepBuilder(slice_)
    requested = set(event_ids)
    for maintenance in slice_.maintenances.values():
        if maintenance.phase is not Phase.SCHEDULED:
            continue
        for event in maintenance.unapproved:
            if event.id in requested:
                builder.record(
                    f.Approved(
                        at=now,
                        by=by,
                        via=via,
                        maintenance=maintenance.id,
                        event=event.id,
                        group=event.group,
                    )
                )
    return builder.finish(now, rules)


def check_may_approve(
    candidates: Iterable[tuple[str, Maintenance | None]], audience: Audience
) -> None:
    """Raise `UnknownEvent` unless `audience` sees or saw each of `candidates`."""
    for event_id, maintenance in candidates:
        events = () if maintenance is None else maintenance.events
        if not any(
            event.id == event_id and is_shown(event, audience) for event in events
        ):
            raise UnknownEvent(f"{event_id} is not an event of this VM")


def check_is_live(maintenance: Maintenance, event_id: str) -> None:
    """Raise `TooLate` if the event is gone."""
    if not maintenance.phase.is_live:
        raise TooLate(f"{event_id} is over; its maintenance is {maintenance.phase}")
    if maintenance.event(event_id).withdrawn_at is not None:
        raise TooLate(f"{event_id} is withdrawn; all of its VMs have left")


def cancel(
    slice_: Slice,
    maintenance_id: str,
    *,
    by: str,
    reason: str | None,
    now: datetime,
    rules: Rules,
) -> Step:
    """Cancel the maintenance; possible only before it has started."""
    builder = StepBuilder(slice_)
    maintenance = slice_.maintenance(maintenance_id)
    if maintenance.phase is Phase.CANCELED:
        return tick(slice_, now, rules)
    if maintenance.phase is Phase.STARTED:
        raise TooLate(f"{maintenance_id} has started; complete or close it")
    _refuse_if_over(maintenance, "canceled")
    builder.record(f.Canceled(at=now, by=by, maintenance=maintenance_id, reason=reason))
    return builder.finish(now, rules)


def complete(
    slice_: Slice, maintenance_id: str, *, by: str, now: datetime, rules: Rules
) -> Step:
    """Treat the work as done and the duration as over."""
    builder = StepBuilder(slice_)
    maintenance = slice_.maintenance(maintenance_id)
    if maintenance.phase is Phase.COMPLETED:
        return tick(slice_, now, rules)
    if maintenance.phase is Phase.SCHEDULED:
        raise TooLate(f"{maintenance_id} has not started; cancel it")
    _refuse_if_over(maintenance, "completed")
    if maintenance.completed_by is None:
        builder.record(f.WorkEnded(at=now, by=by, maintenance=maintenance_id))
    return builder.finish(now, rules)


def retry(
    slice_: Slice, maintenance_id: str, *, by: str, now: datetime, rules: Rules
) -> Step:
    """Have the driver retry the remaining work of a stuck maintenance."""
    builder = StepBuilder(slice_)
    _refuse_unless_stuck(slice_.maintenance(maintenance_id), "retry")
    builder.record(f.WorkRetried(at=now, by=by, maintenance=maintenance_id))
    return builder.finish(now, rules)


def close(
    slice_: Slice,
    maintenance_id: str,
    *,
    by: str,
    reason: str | None,
    now: datetime,
    rules: Rules,
) -> Step:
    """Give up on a stuck maintenance."""
    builder = StepBuilder(slice_)
    _refuse_unless_stuck(slice_.maintenance(maintenance_id), "close")
    builder.record(f.Closed(at=now, by=by, maintenance=maintenance_id, reason=reason))
    return builder.finish(now, rules)


# --- polls and outages -------------------------------------------------------


def listen(
    slice_: Slice, groups: Sequence[str], *, epoch: str, now: datetime, rules: Rules
) -> Step:
    """Enable Scheduled Events, with a new epoch, for the disabled ones of `groups`."""
    builder = StepBuilder(slice_)
    for name in groups:
        if slice_.groups[name].is_listening(now, slice_.outages):
            continue
        builder.record(f.ListeningBegan(at=now, group=name, epoch=epoch))
    return builder.finish(now, rules)


def end_outage(slice_: Slice, outage: Outage, now: datetime) -> Step:
    """Record that the service was down.

    Nothing is settled here: everything that reads outages picks it up later.
    """
    builder = StepBuilder(slice_)
    builder.record(f.OutageEnded(at=now, outage=outage))
    return Step(builder.slice, tuple(builder.facts))


# --- driver work -------------------------------------------------------------


def begin_work(
    slice_: Slice, maintenance_id: str, *, now: datetime, rules: Rules
) -> Step:
    """Record that the driver is about to be called, if there is work left."""
    builder = StepBuilder(slice_)
    maintenance = slice_.maintenance(maintenance_id)
    if is_work_open(maintenance, now, rules):
        attempt = maintenance.attempt + 1
        builder.record(f.WorkBegan(at=now, maintenance=maintenance_id, attempt=attempt))
    return builder.finish(now, rules)


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
    """Record what the driver did, or failed to do, on `vms`."""
    builder = StepBuilder(slice_)
    maintenance = slice_.maintenance(maintenance_id)
    if maintenance.phase is not Phase.STARTED:
        return tick(slice_, now, rules)
    open_still = {*maintenance.to_do}
    concerned = tuple(vm for vm in vms if vm in open_still)
    if not concerned:
        return tick(slice_, now, rules)
    kind = f.WorkFailed if failed else f.WorkDone
    builder.record(
        kind(at=now, maintenance=maintenance_id, vms=concerned, detail=detail)
    )
    return builder.finish(now, rules)


def record_output(
    slice_: Slice,
    maintenance_id: str,
    *,
    attempt: int,
    output: str,
    now: datetime,
    rules: Rules,
) -> Step:
    """Record the output of a driver call."""
    builder = StepBuilder(slice_)
    builder.record(
        f.WorkPrinted(
            at=now, maintenance=maintenance_id, attempt=attempt, output=output
        )
    )
    return builder.finish(now, rules)


def retry_automatically(
    slice_: Slice, maintenance_id: str, *, now: datetime, rules: Rules
) -> Step:
    """Have the driver retry automatically, as often as the rules allow."""
    builder = StepBuilder(slice_)
    if is_retry_left(slice_.maintenance(maintenance_id), rules):
        builder.record(f.WorkRetried(at=now, by=None, maintenance=maintenance_id))
    return builder.finish(now, rules)


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


def is_work_wanted(maintenance: Maintenance, vms: Sequence[str]) -> bool:
    """Whether work on `vms` is still wanted.

    A driver call whose VMs are all done may continue, to clean up.
    """
    if maintenance.completed_by is not None or maintenance.phase is Phase.FAILED:
        return False
    undone = {*vms} - {*maintenance.done}
    return not undone or not undone <= {*maintenance.left}


def is_retry_left(maintenance: Maintenance, rules: Rules) -> bool:
    """Whether it is stuck and an automatic retry is left."""
    return (
        maintenance.phase is Phase.STARTED
        and maintenance.stuck_since is not None
        and max(maintenance.tries, 1) <= rules.retries
    )


# --- possible commands -------------------------------------------------------


class PossibleCommand(StrEnum):
    """A command for a maintenance or its events."""

    #: Approve one of its events.
    APPROVE = "approve"
    #: Cancel it.
    CANCEL = "cancel"
    #: Treat its work as done and its duration as over.
    COMPLETE = "complete"
    #: Call the driver again.
    RETRY = "retry"
    #: Give up on it.
    CLOSE = "close"


def _is_stuck(maintenance: Maintenance) -> bool:
    return maintenance.phase is Phase.STARTED and maintenance.stuck_since is not None


_POSSIBLE: Mapping[PossibleCommand, Callable[[Maintenance], bool]] = {
    PossibleCommand.APPROVE: lambda maintenance: (
        maintenance.phase is Phase.SCHEDULED and not maintenance.is_approved
    ),
    PossibleCommand.CANCEL: lambda maintenance: maintenance.phase is Phase.SCHEDULED,
    PossibleCommand.COMPLETE: lambda maintenance: (
        maintenance.phase is Phase.STARTED and maintenance.completed_by is None
    ),
    PossibleCommand.RETRY: _is_stuck,
    PossibleCommand.CLOSE: _is_stuck,
}


def possible_commands(maintenance: Maintenance) -> tuple[PossibleCommand, ...]:
    """Return the commands that `maintenance` accepts now."""
    return tuple(
        command
        for command, is_possible in _POSSIBLE.items()
        if is_possible(maintenance)
    )


# --- refusals ----------------------------------------------------------------


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
