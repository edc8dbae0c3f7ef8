"""Dry run: the explanation of a maintenance before it is announced.

It has no id yet, so no sentence contains one (`sentences`).
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from forewarn.core import policy
from forewarn.core.explaining import Explanation, Wait, WaitKind, explain
from forewarn.core.maintenance import Maintenance, Phase, Slice
from forewarn.core.policy import Rules
from forewarn.core.sentences import at, called, what


def foresee(
    slice_: Slice, maintenance: Maintenance, now: datetime, rules: Rules
) -> Explanation:
    """Explain `maintenance` in the slice that its announcement would produce.

    Its waits include the maintenance that comes before it in each group: even when it
    is due, it starts after that.
    """
    explanation = explain(slice_, maintenance, now, rules)
    sentences = (_opening(maintenance, now), *explanation.sentences[1:])
    ahead = tuple(_ahead(slice_, maintenance, now))
    if maintenance.phase is not Phase.SCHEDULED or not ahead:
        return replace(explanation, sentences=sentences)
    return replace(
        explanation,
        waits=(*explanation.waits, *ahead),
        starts_at_latest=None,
        sentences=(*sentences[:-1], *map(_sentence, ahead), _UNKNOWN),
    )


_UNKNOWN = "When it starts at the latest depends on what comes first."


def _opening(maintenance: Maintenance, now: datetime) -> str:
    subject = what(maintenance)
    if maintenance.phase is not Phase.SCHEDULED:
        return f"{subject} would start at once."
    if policy.is_due(maintenance, now):
        return f"{subject} would be due at once, but a gate is shut."
    return f"{subject} would be announced for {at(maintenance.not_before)}."


def _ahead(slice_: Slice, maintenance: Maintenance, now: datetime) -> Iterator[Wait]:
    for gate in policy.gates_ahead(slice_, maintenance, now):
        first = gate.held_by
        if first is not None:
            yield Wait(
                kind=WaitKind.GATE,
                what=f"group {gate.group} is touched in one update domain at a time,"
                f" and {called(first)}, {what(first)}, comes first",
                since=None,
                opened_by=f"{called(first)}, when it is over",
            )


def _sentence(wait: Wait) -> str:
    return f"A gate will be shut: {wait.what}. Opened by {wait.opened_by}."
