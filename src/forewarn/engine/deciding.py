"""Decisions: load a slice, decide, save the step, and settle what follows."""

from collections.abc import Callable, Iterable
from datetime import datetime

from forewarn.core import commands, policy
from forewarn.core.maintenance import Slice
from forewarn.core.policy import Rules
from forewarn.core.settling import Step, groups_beyond, groups_to_settle, is_at_hand
from forewarn.engine.lookup import with_leaving
from forewarn.ports import Transaction

Decide = Callable[[Slice], Step]
Complete = Callable[[Slice], Slice]


def decide_over(
    transaction: Transaction,
    groups: Iterable[str],
    decide: Decide,
    *,
    now: datetime,
    rules: Rules,
    complete: Complete,
    saved: Callable[[Step], None],
) -> Step:
    """Decide over `groups`, save the step, and settle what it unblocks.

    `complete` adds to the slice what the decision needs besides the groups. `saved` is
    called with every saved step.
    """

    def tick(slice_: Slice) -> Step:
        return commands.tick(slice_, now, rules)

    step = _decide(transaction, groups, decide, now, rules, complete)
    latest = step
    while latest.facts:
        saved(latest)
        beyond = groups_beyond(latest.slice, now, rules)
        if not beyond:
            break
        latest = _decide(transaction, beyond, tick, now, rules)
    return step


def _decide(
    transaction: Transaction,
    groups: Iterable[str],
    decide: Decide,
    now: datetime,
    rules: Rules,
    complete: Complete = lambda slice_: slice_,
) -> Step:
    """Decide over `groups`, widened once to everything due there."""
    slice_ = with_leaving(transaction, complete(transaction.slice(groups)))
    step = decide(slice_)
    required = groups_to_settle(slice_, step.slice, now, rules)
    if not required <= slice_.groups.keys() | step.slice.groups.keys():
        wider = transaction.slice(required | slice_.groups.keys())
        slice_ = with_leaving(transaction, complete(wider))
        step = decide(slice_)
    _save(transaction, slice_, step, now, rules)
    return step


def _save(
    transaction: Transaction, before: Slice, step: Step, now: datetime, rules: Rules
) -> None:
    """Save `step`, with the next timer of each maintenance.

    A maintenance that is only partly loaded keeps its timer.
    """
    moments = {
        maintenance.id: policy.next_moment(maintenance, now, rules, step.slice.outages)
        for maintenance in step.slice.maintenances.values()
        if is_at_hand(step.slice, maintenance) or not maintenance.phase.is_live
    }
    transaction.save(before, step, moments)
