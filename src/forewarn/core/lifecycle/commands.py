"""Commands for maintenance operations, polls, outages and the driver's work.

1. Every command makes its own change and then settles the rest (`settlement`): finished
   maintenance completes, due maintenance starts, and new documents are published.
2. A command with nothing left to do returns no facts instead of failing, because two
   VMs may approve the same event, and a timer may fire twice.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from operator import itemgetter

from forewarn.core.fleet import Audience
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle import policy
from forewarn.core.lifecycle.document import is_shown
from forewarn.core.lifecycle.model import Maintenance, Phase, Slice, Via
from forewarn.core.lifecycle.policy import Rules
from forewarn.core.lifecycle.settlement import Context, Step, StepBuilder
from forewarn.errors import TooLate, UnknownEvent


def tick(slice_: Slice, context: Context) -> Step:
    """Apply everything that is due."""
    return StepBuilder(slice_, context).finish()


def approve(
    slice_: Slice, context: Context, event_ids: Sequence[str], *, via: Via
) -> Step:
    """Approve the events in `event_ids` that are not approved yet."""
    builder = StepBuilder(slice_, context)
    requested = set(event_ids)
    for maintenance in slice_.maintenances.values():
        if maintenance.phase is not Phase.SCHEDULED:
            continue
        for event in maintenance.unapproved:
            if event.id in requested:
                builder.record(
                    f.Approved(
                        at=context.now,
                        by=context.by,
                        via=via,
                        maintenance=maintenance.id,
                        event=event.id,
                        group=event.group,
                    )
                )
    return builder.finish()


def check_may_approve(
    candidates: Iterable[tuple[str, Maintenance | None]], audience: Audience
) -> None:
    """Raise `UnknownEvent` unless `audience` sees or has seen each of `candidates`."""
    for event_id, maintenance in candidates:
        events = () if maintenance is None else maintenance.events
        if not any(
            event.id == event_id and is_shown(event, audience) for event in events
        ):
            raise UnknownEvent(f"{event_id} is not an event of this VM")


def check_is_live(maintenance: Maintenance, event_id: str) -> None:
    """Raise `TooLate` if the event no longer exists."""
    if not maintenance.phase.is_live:
        raise TooLate(
            f"{event_id} has ended; its maintenance operation is {maintenance.phase}"
        )
    if maintenance.event(event_id).withdrawn_at is not None:
        raise TooLate(f"{event_id} was withdrawn because all its VMs have left")


def cancel(
    slice_: Slice, context: Context, maintenance_id: str, *, reason: str | None
) -> Step:
    """Cancel a maintenance operation, which must not have started."""
    builder = StepBuilder(slice_, context)
    maintenance = slice_.maintenance(maintenance_id)
    if maintenance.phase is Phase.CANCELED:
        return builder.finish()
    if maintenance.phase is Phase.STARTED:
        raise TooLate(
            f"{maintenance.label} has started and cannot be canceled; complete it, or"
            " close it if it is stuck"
        )
    _refuse_if_over(maintenance, "canceled")
    builder.record(
        f.Canceled(
            at=context.now, by=context.by, maintenance=maintenance_id, reason=reason
        )
    )
    return builder.finish()


def complete(slice_: Slice, context: Context, maintenance_id: str) -> Step:
    """Mark the work as done and the duration as elapsed."""
    builder = StepBuilder(slice_, context)
    maintenance = slice_.maintenance(maintenance_id)
    if maintenance.phase is Phase.COMPLETED:
        return builder.finish()
    if maintenance.phase is Phase.SCHEDULED:
        raise TooLate(f"{maintenance.label} has not started; cancel it instead")
    _refuse_if_over(maintenance, "completed")
    if maintenance.completed_by is None:
        builder.record(
            f.WorkEnded(at=context.now, by=context.by, maintenance=maintenance_id)
        )
    return builder.finish()


def retry(slice_: Slice, context: Context, maintenance_id: str) -> Step:
    """Have the driver retry the remaining work of a stuck maintenance operation."""
    builder = StepBuilder(slice_, context)
    _refuse_unless_stuck(slice_.maintenance(maintenance_id), "retry")
    builder.record(
        f.WorkRetried(at=context.now, by=context.by, maintenance=maintenance_id)
    )
    return builder.finish()


def close(
    slice_: Slice, context: Context, maintenance_id: str, *, reason: str | None
) -> Step:
    """Give up on a stuck maintenance operation."""
    builder = StepBuilder(slice_, context)
    _refuse_unless_stuck(slice_.maintenance(maintenance_id), "close")
    builder.record(
        f.Closed(
            at=context.now, by=context.by, maintenance=maintenance_id, reason=reason
        )
    )
    return builder.finish()


# --- polls -------------------------------------------------------------------


def listen(slice_: Slice, context: Context, groups: Iterable[str]) -> Step:
    """Enable Scheduled Events with a new epoch for each disabled group in `groups`."""
    builder, epoch = StepBuilder(slice_, context), context.new_epoch()
    for name in groups:
        if not slice_.groups[name].is_enabled(context.now, slice_.outages):
            builder.record(f.Enabled(at=context.now, group=name, epoch=epoch))
    return builder.finish()


# --- driver work -------------------------------------------------------------


def begin_work(slice_: Slice, context: Context, maintenance_id: str) -> Step:
    """Record that the driver is about to be called, if there is work left."""
    builder = StepBuilder(slice_, context)
    maintenance = slice_.maintenance(maintenance_id)
    if is_work_open(maintenance, context.now, context.rules):
        attempt = maintenance.attempt + 1
        builder.record(
            f.WorkBegan(at=context.now, maintenance=maintenance_id, attempt=attempt)
        )
    return builder.finish()


def report_work(
    slice_: Slice,
    context: Context,
    maintenance_id: str,
    *,
    vms: Sequence[str],
    failed: bool = False,
    detail: str = "",
) -> Step:
    """Record what the driver did, or failed to do, on `vms`."""
    builder = StepBuilder(slice_, context)
    maintenance = slice_.maintenance(maintenance_id)
    open_still = {*maintenance.to_do}
    concerned = tuple(vm for vm in vms if vm in open_still)
    if maintenance.phase is Phase.STARTED and concerned:
        kind = f.WorkFailed if failed else f.WorkDone
        builder.record(
            kind(
                at=context.now,
                maintenance=maintenance_id,
                vms=concerned,
                detail=detail,
            )
        )
    return builder.finish()


def record_output(
    slice_: Slice, context: Context, maintenance_id: str, *, attempt: int, output: str
) -> Step:
    """Record the output of a driver call."""
    builder = StepBuilder(slice_, context)
    builder.record(
        f.WorkPrinted(
            at=context.now, maintenance=maintenance_id, attempt=attempt, output=output
        )
    )
    return builder.finish()


def retry_automatically(slice_: Slice, context: Context, maintenance_id: str) -> Step:
    """Have the driver retry automatically, as often as the rules allow."""
    builder = StepBuilder(slice_, context)
    if is_retry_left(slice_.maintenance(maintenance_id), context.rules):
        builder.record(
            f.WorkRetried(at=context.now, by=None, maintenance=maintenance_id)
        )
    return builder.finish()


def is_work_open(maintenance: Maintenance, now: datetime, rules: Rules) -> bool:
    """Return whether the driver should be called now."""
    opens = policy.work_opens_at(maintenance, rules)
    return (
        maintenance.phase is Phase.STARTED
        and maintenance.stuck_since is None
        and bool(maintenance.to_do)
        and opens is not None
        and now >= opens
    )


def is_work_wanted(maintenance: Maintenance, vms: Sequence[str]) -> bool:
    """Return whether work on `vms` is still wanted.

    A driver call may continue after all of its VMs are done, in order to clean up.
    """
    if maintenance.completed_by is not None or maintenance.phase is Phase.FAILED:
        return False
    undone = {*vms} - {*maintenance.done}
    return not undone or not undone <= {*maintenance.left}


def in_turns(
    waiting: Iterable[Maintenance], last: Iterable[str]
) -> Sequence[Maintenance]:
    """Order work so that groups take turns; `last` lists the groups of the last calls.

    Without turns, a group that restarts all its VMs would block driver calls for all
    other groups.
    """
    turns = Counter(last)
    ranked = []
    for maintenance in waiting:
        groups = maintenance.groups
        ranked.append((min((turns[group] for group in groups), default=0), maintenance))
        turns.update(groups)
    return [maintenance for _, maintenance in sorted(ranked, key=itemgetter(0))]


def is_retry_left(maintenance: Maintenance, rules: Rules) -> bool:
    """Return whether the maintenance is stuck and an automatic retry is left."""
    return (
        maintenance.phase is Phase.STARTED
        and maintenance.stuck_since is not None
        and max(maintenance.tries, 1) <= rules.retries
    )


# --- possible commands -------------------------------------------------------


class PossibleCommand(StrEnum):
    """A command for a maintenance operation or its events."""

    #: Approve one of the events.
    APPROVE = "approve"
    #: Cancel the maintenance.
    CANCEL = "cancel"
    #: Mark the work as done and the duration as elapsed.
    COMPLETE = "complete"
    #: Call the driver again.
    RETRY = "retry"
    #: Give up on the maintenance.
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
        raise TooLate(
            f"{maintenance.label} is {maintenance.phase}; it cannot be {what}"
        )


def _refuse_unless_stuck(maintenance: Maintenance, what: str) -> None:
    if maintenance.phase is not Phase.STARTED:
        raise TooLate(
            f"{maintenance.label} is {maintenance.phase}; {what} requires a maintenance"
            " operation that has started and is stuck"
        )
    if maintenance.stuck_since is None:
        raise TooLate(f"{maintenance.label} is not stuck, which {what} requires")
