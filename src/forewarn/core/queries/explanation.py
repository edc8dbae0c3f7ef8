"""Explanation of what a maintenance is waiting for, since when, and who can unblock it.

It explains what `policy` decides, and decides nothing itself.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import chain

from forewarn.core.lifecycle import policy
from forewarn.core.lifecycle.commands import is_retry_left
from forewarn.core.lifecycle.model import Cause, Event, Maintenance, Phase, Slice
from forewarn.core.lifecycle.policy import Blocker, Rules
from forewarn.core.outages import time_lost
from forewarn.core.queries.phrases import (
    command_hint,
    describe,
    format_time,
    is_preview_id,
    name_of,
)
from forewarn.core.queries.visibility import shown_maintenance
from forewarn.formats import count, format_duration, join_all, join_names

_UNKNOWN = "When it starts at the latest depends on what comes first."

_HINTS = 3  # the most commands that one sentence lists

_BLOCKED: Mapping[str, Callable[[str], str]] = {
    "update-domain": lambda group: (
        f"group {group} is touched in one update domain at a time, at present by"
    ),
    "move": lambda group: f"VMs of group {group} are being redeployed already, by",
    "queue": lambda group: (
        f"in group {group} the older comes first, though it is held itself:"
    ),
    "terminate-coupling": lambda group: (
        f"deletions in group {group} go together, and one is not approved:"
    ),
}


class WaitKind(StrEnum):
    """The kind of thing that a maintenance waits for."""

    #: The approval of a group.
    APPROVAL = "approval"
    #: A point in time.
    TIME = "time"
    #: A blocker that keeps it from starting although it is due.
    GATE = "gate"
    #: The time in which VMs see Started before anything happens.
    LEAD = "lead"
    #: The driver.
    WORK = "work"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitReason:
    """One thing that a maintenance waits for."""

    kind: WaitKind
    what: str
    since: datetime | None
    opens_at: datetime | None = None  # None if unknown
    opened_by: str | None = None  # None if only time can unblock it
    held_by: str | None = None  # group that holds it up; None if no group does


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The state of a maintenance, and the reasons for it."""

    phase: Phase
    due: bool
    waits: tuple[WaitReason, ...]
    starts_at_latest: datetime | None  # None if it has started, or if unknown
    sentences: tuple[str, ...]


def explain(
    slice_: Slice,
    maintenance: Maintenance,
    now: datetime,
    rules: Rules,
    group: str | None = None,
    limit: int | None = None,
) -> Explanation:
    """Explain the state of `maintenance`; `slice_` holds all that is live in its
    groups.

    If `group` is given, other groups are not named. At least the first `limit` waits
    are included, possibly more.
    """
    due = policy.is_due(maintenance, now)
    shown = shown_maintenance(maintenance, group)
    if maintenance.phase is Phase.SCHEDULED:
        waits = tuple(
            _enough(_before_start(slice_, maintenance, now, rules, group), limit)
        )
        latest = _starts_at_latest(slice_, maintenance, waits, now)
    else:
        waits = tuple(_after_start(shown, now, rules, is_busy=bool(maintenance.to_do)))
        latest = None
    return Explanation(
        phase=maintenance.phase,
        due=due,
        waits=waits,
        starts_at_latest=latest,
        sentences=tuple(_sentences(maintenance, shown, due, waits, latest, now)),
    )


def explain_preview(
    slice_: Slice, maintenance: Maintenance, now: datetime, rules: Rules
) -> Explanation:
    """Explain `maintenance` in the slice that its announcement would produce.

    Its waits include the maintenance that comes before it in each group: even when it
    is due, it starts after that.
    """
    explanation = explain(slice_, maintenance, now, rules)
    sentences = (_preview_opening(maintenance, now), *explanation.sentences[1:])
    ahead = tuple(_ahead(slice_, maintenance, now))
    if maintenance.phase is not Phase.SCHEDULED or not ahead:
        return replace(explanation, sentences=sentences)
    return replace(
        explanation,
        waits=(*explanation.waits, *ahead),
        starts_at_latest=None,
        sentences=(*sentences[:-1], *map(_preview_sentence, ahead), _UNKNOWN),
    )


# --- before the start --------------------------------------------------------


def _before_start(
    slice_: Slice,
    maintenance: Maintenance,
    now: datetime,
    rules: Rules,
    group: str | None,
) -> Iterator[WaitReason]:
    if not policy.is_due(maintenance, now):
        own = [
            candidate
            for candidate in maintenance.unapproved
            if group in (None, candidate.group)
        ]
        for event in own:
            yield _approval(slice_, maintenance, event)
        if len(own) < len(maintenance.unapproved):
            yield WaitReason(
                kind=WaitKind.APPROVAL,
                what="others whom it touches have not approved",
                since=maintenance.announced_at,
                opens_at=maintenance.not_before,
            )
        yield WaitReason(
            kind=WaitKind.TIME,
            what="its NotBefore, when it is due without approval",
            since=maintenance.announced_at,
            opens_at=maintenance.not_before,
        )
    for blocker in chain(
        policy.blockers(slice_, maintenance, now),
        policy.queue_blockers(slice_, maintenance, now),
    ):
        if group not in (None, blocker.group):
            yield WaitReason(
                kind=WaitKind.GATE,
                what="others whom it touches are not ready",
                since=maintenance.announced_at,
                opens_at=blocker.opens_at,
            )
        else:
            yield _blocked(slice_, maintenance, blocker, now, rules, group)


def _enough(waits: Iterable[WaitReason], limit: int | None) -> Iterator[WaitReason]:
    """Yield the first `limit` waits, and more while the latest start is still known."""
    is_known = True
    for number, wait in enumerate(waits, 1):
        yield wait
        is_known = is_known and not _is_endless(wait)
        if limit is not None and number >= limit and not is_known:
            return


def _is_endless(wait: WaitReason) -> bool:
    return wait.kind is WaitKind.GATE and wait.opens_at is None


def _approval(slice_: Slice, maintenance: Maintenance, event: Event) -> WaitReason:
    return WaitReason(
        kind=WaitKind.APPROVAL,
        what=_not_approved(event),
        since=maintenance.announced_at,
        opens_at=maintenance.not_before,
        opened_by=f"{_approvers(slice_, maintenance, event)},"
        f" or {command_hint('approve', event.id)}",
    )


def _leaves_alone(maintenance: Maintenance) -> bool:
    """Whether one group leaves a degraded host, independently of others there."""
    return maintenance.cause is Cause.DEGRADED and len(maintenance.events) == 1


def _early_departure(maintenance: Maintenance) -> str:
    vms = [vm for vm in maintenance.vms if vm not in maintenance.left]
    hints = join_all([f"`forewarn vm redeploy {vm}`" for vm in vms[:_HINTS]])
    more = f", and the same for {count(len(vms) - _HINTS, 'other VM')}"
    return (
        "It does not wait for other VMs on the degraded host. A redeploy by the owner"
        f" replaces it: {hints}{more if len(vms) > _HINTS else ''}."
    )


def _approvers(slice_: Slice, maintenance: Maintenance, event: Event) -> str:
    group = slice_.groups.get(event.group)
    if group is None or not group.isolated:
        return f"any VM of group {event.group}"
    # Several if the group was isolated after the announcement.
    return " or ".join(vm for vm in event.resources if vm not in maintenance.left)


def _not_approved(event: Event) -> str:
    its = "its event" if is_preview_id(event.id) else f"event {event.id}"
    return f"group {event.group} has not approved {its} ({join_names(event.resources)})"


def _blocked(
    slice_: Slice,
    maintenance: Maintenance,
    blocker: Blocker,
    now: datetime,
    rules: Rules,
    group: str | None,
) -> WaitReason:
    if blocker.held_by is None:
        return _notice_blocker(slice_, maintenance, blocker, now)
    holding = blocker.held_by
    wait = WaitReason(
        kind=WaitKind.GATE,
        what=f"{_BLOCKED[blocker.kind](blocker.group)}"
        f" {_named(shown_maintenance(holding, group))}",
        since=max(holding.started_at or holding.announced_at, maintenance.announced_at),
        opens_at=blocker.opens_at,
        opened_by=f"{name_of(holding)}, when it is over",
    )
    if blocker.kind == "terminate-coupling":
        return replace(
            wait,
            opened_by=f"{_approvers(slice_, holding, holding.events[0])}, by approving"
            f" that one, or {command_hint('approve', holding.id)}",
        )
    if blocker.kind == "move":
        return _held_by_move(wait, maintenance, holding, rules)
    if blocker.kind == "update-domain":
        wait = _held_by_started(wait, holding, rules)
        return _held_by_group(wait, blocker.group, holding, group)
    return wait


def _held_by_started(
    wait: WaitReason, holding: Maintenance, rules: Rules
) -> WaitReason:
    if not holding.to_do:
        return replace(wait, opens_at=policy.ends_at(holding, rules))
    if holding.stuck_since is not None:
        return replace(
            wait,
            what=f"{wait.what}; it is stuck since {format_time(holding.stuck_since)}",
            opened_by=f"`forewarn events retry {holding.id}` or"
            f" `forewarn events close {holding.id}`",
        )
    return wait


def _held_by_move(
    wait: WaitReason, maintenance: Maintenance, holding: Maintenance, rules: Rules
) -> WaitReason:
    """Name what moves its VMs already; it may have nothing left to do after that."""
    wait = _held_by_started(wait, holding, rules)
    if maintenance.cause is not Cause.DEGRADED:
        return wait
    what = f"{wait.what}; VMs that have left the degraded host are not moved again"
    return replace(wait, what=what, opens_at=None)


def _held_by_group(
    wait: WaitReason, holder: str, holding: Maintenance, group: str | None
) -> WaitReason:
    """Name the group that holds it up, if the group can do so by itself."""
    if not policy.is_requested(holding):
        return wait
    stuck = holding.stuck_since
    work = ", whose work is not done" if holding.to_do else ""
    if stuck is not None:
        work = f", which has been stuck since {format_time(stuck)}"
    return replace(
        wait,
        what=f"held by group {holder}, with"
        f" {_named(shown_maintenance(holding, group))}{work}",
        opened_by=command_hint("complete", holding.id),
        held_by=holder,
    )


def _notice_blocker(
    slice_: Slice, maintenance: Maintenance, blocker: Blocker, now: datetime
) -> WaitReason:
    away = time_lost(slice_.outages, maintenance.announced_at, now)
    promised = timedelta(seconds=maintenance.promised)
    approvers = dict.fromkeys(
        _approvers(slice_, maintenance, event)
        for event in maintenance.unapproved
        if event.group == blocker.group
    )
    return WaitReason(
        kind=WaitKind.GATE,
        what=f"group {blocker.group} is promised {format_duration(promised)} of notice,"
        f" and the service was away for {format_duration(away)} of it",
        since=maintenance.not_before,
        opens_at=blocker.opens_at,
        opened_by=f"{join_all([*approvers])}, by approving",
    )


def _named(holding: Maintenance) -> str:
    since = holding.started_at
    phase = "SCHEDULED" if since is None else f"STARTED at {format_time(since)}"
    return f"{name_of(holding)}, {describe(holding)}, {phase}"


def _starts_at_latest(
    slice_: Slice,
    maintenance: Maintenance,
    waits: tuple[WaitReason, ...],
    now: datetime,
) -> datetime | None:
    given_at = policy.notice_given_at(maintenance, slice_.outages, now)
    times = [now if maintenance.is_approved else maintenance.not_before]
    times += [given_at] if given_at is not None else []
    for wait in waits:
        if wait.kind is not WaitKind.GATE:
            continue
        if wait.opens_at is None:
            return None
        times.append(wait.opens_at)
    return max(times)


# --- after the start ---------------------------------------------------------


def _after_start(
    maintenance: Maintenance, now: datetime, rules: Rules, *, is_busy: bool
) -> Iterator[WaitReason]:
    if maintenance.phase is not Phase.STARTED:
        return
    if is_busy and not maintenance.to_do:
        yield WaitReason(
            kind=WaitKind.WORK,
            what="the work on others whom it touches is not over",
            since=maintenance.started_at,
        )
    opens = policy.work_opens_at(maintenance, rules)
    if maintenance.to_do:
        if opens is not None and now < opens:
            yield WaitReason(
                kind=WaitKind.LEAD,
                what="VMs see Started before anything happens to them",
                since=maintenance.started_at,
                opens_at=opens,
            )
        yield _work(maintenance, rules)
    ends = policy.ends_at(maintenance, rules)
    if ends is None:
        yield _failure(maintenance)
    elif now < ends:
        yield WaitReason(
            kind=WaitKind.TIME,
            what="its duration, or the time for which Started is shown at least",
            since=maintenance.started_at,
            opens_at=ends,
        )


def _work(maintenance: Maintenance, rules: Rules) -> WaitReason:
    mine = maintenance.id
    if maintenance.stuck_since is None:
        return WaitReason(
            kind=WaitKind.WORK,
            what=f"the driver has not reported {join_names(maintenance.to_do)} done",
            since=maintenance.started_at,
            opened_by=f"the driver, or {command_hint('complete', mine)}",
        )
    by_itself = "the driver is called again by itself, or "
    return WaitReason(
        kind=WaitKind.WORK,
        what=f"the driver failed, and {join_names(maintenance.to_do)} is still to do:"
        " stuck",
        since=maintenance.stuck_since,
        opened_by=(by_itself if is_retry_left(maintenance, rules) else "")
        + f"`forewarn events retry {mine}`, `complete` or `close`",
    )


def _failure(maintenance: Maintenance) -> WaitReason:
    host = maintenance.host
    return WaitReason(
        kind=WaitKind.WORK,
        what=f"{f'host {host}' if host else 'its host'} has failed, and is not said to"
        " be well again",
        since=maintenance.started_at,
        opened_by=host
        and f"`forewarn host recovered {host}` or"
        f" `forewarn events complete {maintenance.id}`",
    )


# --- sentences ---------------------------------------------------------------


def _sentences(
    maintenance: Maintenance,
    shown: Maintenance,
    due: bool,
    waits: tuple[WaitReason, ...],
    latest: datetime | None,
    now: datetime,
) -> Iterator[str]:
    yield _opening(maintenance, shown, due, now)
    if due:
        for event in shown.unapproved:
            yield f"No longer waited for: {_not_approved(event)}."
    for wait in waits:
        yield _sentence(wait, due, now)
    if maintenance.phase is not Phase.SCHEDULED:
        return
    if _leaves_alone(maintenance) and not due:
        yield _early_departure(maintenance)
    if latest is None:
        yield "When it starts at the latest depends on what holds it."
    else:
        yield f"As things stand it starts at {format_time(latest)} at the latest."


def _opening(
    maintenance: Maintenance, shown: Maintenance, due: bool, now: datetime
) -> str:
    subject = f"{describe(shown)} is {maintenance.phase}"
    if maintenance.phase is Phase.STARTED:
        return f"{subject} since {format_time(maintenance.started_at or now)}."
    if maintenance.phase is not Phase.SCHEDULED:
        return (
            f"{subject} since {format_time(maintenance.ended_at or now)}; it is over."
        )
    if not due:
        return f"{subject}, and not due yet."
    if maintenance.is_approved:
        return f"{subject} and due: everybody has approved, but a gate is shut."
    since = format_time(maintenance.not_before)
    return f"{subject} and due since {since}, but a gate is shut."


def _sentence(wait: WaitReason, due: bool, now: datetime) -> str:
    begin = {
        WaitKind.APPROVAL: "It waits for an approval",
        WaitKind.TIME: "It waits for a time",
        WaitKind.GATE: "It waits at a gate" if due else "A gate is shut, too",
        WaitKind.LEAD: "It waits before it begins",
        WaitKind.WORK: "It waits for the work",
    }[wait.kind]
    end = ""
    if wait.kind is not WaitKind.APPROVAL and wait.opens_at is not None:
        left = format_duration(wait.opens_at - now)
        end = f", until {format_time(wait.opens_at)} (in {left})"
    by = f" Opened by {wait.opened_by}." if wait.opened_by else ""
    return f"{begin}: {wait.what}{end}.{by}"


# --- preview -----------------------------------------------------------------


def _preview_opening(maintenance: Maintenance, now: datetime) -> str:
    subject = describe(maintenance)
    if maintenance.phase is not Phase.SCHEDULED:
        return f"{subject} would start at once."
    if policy.is_due(maintenance, now):
        return f"{subject} would be due at once, but a gate is shut."
    return f"{subject} would be announced for {format_time(maintenance.not_before)}."


def _ahead(
    slice_: Slice, maintenance: Maintenance, now: datetime
) -> Iterator[WaitReason]:
    for blocker in policy.blockers_ahead(slice_, maintenance, now):
        first = blocker.held_by
        if first is not None:
            yield WaitReason(
                kind=WaitKind.GATE,
                what=f"group {blocker.group} is touched in one update domain at a time,"
                f" and {name_of(first)}, {describe(first)}, comes first",
                since=None,
                opened_by=f"{name_of(first)}, when it is over",
            )


def _preview_sentence(wait: WaitReason) -> str:
    return f"A gate will be shut: {wait.what}. Opened by {wait.opened_by}."
