"""A slice out of a transaction, a decision of the core over it, and what follows."""

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
    """Let the core decide over `groups`, save that, and let follow what it opens.

    `complete` puts into the slice what the decision needs beside the groups; `saved`
    is told every step that was saved.
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
    """Decide over `groups`, widened once to all that is due there."""
    slice_ = with_leaving(transaction, complete(transaction.slice(groups)))
    step = decide(slice_)
    wanted = groups_to_settle(slice_, step.slice, now, rules)
    if not wanted <= slice_.groups.keys() | step.slice.groups.keys():
        wider = transaction.slice(wanted | slice_.groups.keys())
        slice_ = with_leaving(transaction, complete(wider))
        step = decide(slice_)
    _save(transaction, slice_, step, now, rules)
    return step


def _save(
    transaction: Transaction, before: Slice, step: Step, now: datetime, rules: Rules
) -> None:
    """Keep `step`, with the moment at which time alone moves each maintenance.

    One that is not wholly at hand keeps its moment.
    """
    moments = {
        each.id: policy.next_moment(each, now, rules, step.slice.outages)
        for each in step.slice.maintenances.values()
        if is_at_hand(step.slice, each) or not each.phase.is_live
    }
    transaction.save(before, step, moments)
