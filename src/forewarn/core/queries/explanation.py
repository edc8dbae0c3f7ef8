"""Explains what a maintenance operation waits for, since when, and who can unblock it.

This module explains the decisions of `policy` and makes none itself.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    capitalize,
    format_time,
    is_preview_id,
    mention,
)
from forewarn.core.queries.visibility import shown_maintenance
from forewarn.formats import count, format_duration, join_all, join_names

_HINTS = 3  # maximum number of commands in one hint

#: What each operator command does.
_VERBS: Mapping[str, str] = {
    "approve": "approve on behalf of all groups",
    "complete": "mark the work as done",
    "retry": "run the driver again",
    "close": "give up and close the operation as failed",
}

_ENDED: Mapping[Phase, str] = {
    Phase.COMPLETED: "completed",
    Phase.CANCELED: "was canceled",
    Phase.FAILED: "was closed as failed",
}

_ONE_DOMAIN = (
    "Only one update domain per group can be under maintenance at a time ({groups})."
)

#: Sentences about blockers: `other` is the blocker, and `groups` wait for it.
_BLOCKED: Mapping[str, str] = {
    "update-domain": f"Waiting for {{other}}. {_ONE_DOMAIN}",
    "move": "Waiting for {other}. It is already moving VMs in {groups}.",
    "queue": "Waiting for {other}. It was announced earlier and therefore runs first in"
    " {groups}.",
    "terminate-coupling": "Waiting for approval of {other}. Deletions in {groups} start"
    " together.",
    "ahead": f"Will wait for {{other}}. {_ONE_DOMAIN}",
}


class WaitKind(StrEnum):
    """The kind of condition that a maintenance operation waits for."""

    #: Approvals.
    APPROVAL = "approval"
    #: A point in time.
    TIME = "time"
    #: A blocker that prevents a due operation from starting.
    BLOCKER = "blocker"
    #: The delay during which VMs see the Started status before the driver runs.
    LEAD = "lead"
    #: The driver.
    WORK = "work"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """Something that ends a wait early."""

    text: str  # for example: any VM in group web approves
    command: str | None = None  # the operator command, if there is one


_END = Remedy(text="that operation finishes")


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitReason:
    """One thing that a maintenance operation waits for."""

    kind: WaitKind
    rule: str | None = None  # the rule that blocks it; only for blockers
    text: str  # one sentence
    groups: tuple[str, ...] = ()  # groups that wait or must approve; empty if hidden
    maintenance: str | None = None  # ID of the blocking operation, if any
    held_by: str | None = None  # the group that blocks it, if any
    since: datetime | None
    until: datetime | None = None  # None if unknown
    unblocked_by: tuple[Remedy, ...] = ()  # empty if only time ends the wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The state of a maintenance operation and the reasons for that state."""

    phase: Phase
    due: bool
    summary: str  # one sentence
    waits: tuple[WaitReason, ...]
    starts_at_latest: datetime | None  # None if started or unknown
    hint: str | None = None  # what the VM's owner can do instead of waiting


def explain(
    slice_: Slice,
    maintenance: Maintenance,
    now: datetime,
    rules: Rules,
    group: str | None = None,
    limit: int | None = None,
    failure: str = "",
) -> Explanation:
    """Explain the state of `maintenance`.

    `slice_` must contain all live operations in its groups. If `group` is given, the
    names of other groups are hidden. The result includes at least the first `limit`
    waits. `failure` is the error that the driver reported.
    """
    due = policy.is_due(maintenance, now)
    shown = shown_maintenance(maintenance, group)
    if maintenance.phase is Phase.SCHEDULED:
        waits = _fold(
            _enough(_before_start(slice_, maintenance, now, rules, group), limit)
        )
        latest = _starts_at_latest(slice_, maintenance, waits, now)
    else:
        is_busy = bool(maintenance.to_do)
        waits = tuple(_after_start(shown, now, rules, failure, is_busy=is_busy))
        latest = None
    return Explanation(
        phase=maintenance.phase,
        due=due,
        summary=_summary(maintenance, shown, due, now),
        waits=waits,
        starts_at_latest=latest,
        hint=_early_departure(maintenance) if not due else None,
    )


def explain_preview(
    slice_: Slice,
    maintenance: Maintenance,
    now: datetime,
    rules: Rules,
    group: str | None = None,
) -> Explanation:
    """Explain `maintenance` as if it had been announced, which results in `slice_`.

    The waits include, for each group, the operation that runs before `maintenance`,
    even if `maintenance` is due. If `group` is given, other groups are hidden.
    """
    explanation = explain(slice_, maintenance, now, rules, group)
    summary = _preview_summary(shown_maintenance(maintenance, group), now)
    ahead = _fold(_ahead(slice_, maintenance, now, group))
    if maintenance.phase is not Phase.SCHEDULED or not ahead:
        return replace(explanation, summary=summary)
    waits = (*explanation.waits, *ahead)
    return replace(explanation, summary=summary, waits=waits, starts_at_latest=None)


# --- before the start --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Draft:
    """A wait of one group. `sentence` can describe the wait for several groups."""

    wait: WaitReason
    sentence: Callable[[Sequence[str]], str]


def _fold(drafts: Iterable[_Draft]) -> tuple[WaitReason, ...]:
    """Merge waits that differ only in their groups."""
    merged: dict[object, list[_Draft]] = {}
    for draft in drafts:
        wait = draft.wait
        is_named = bool(wait.groups)  # the names of other groups are hidden
        key = (wait.kind, wait.rule, wait.maintenance, wait.since, wait.until, is_named)
        merged.setdefault(key, []).append(draft)
    return tuple(map(_merge, merged.values()))


def _merge(drafts: Sequence[_Draft]) -> WaitReason:
    first = drafts[0]
    groups = dict.fromkeys(chain.from_iterable(draft.wait.groups for draft in drafts))
    remedies = dict.fromkeys(
        chain.from_iterable(draft.wait.unblocked_by for draft in drafts)
    )
    return replace(
        first.wait,
        text=first.sentence([*groups]),
        groups=tuple(groups),
        unblocked_by=tuple(remedies),
    )


def _constant(wait: WaitReason) -> _Draft:
    return _Draft(wait, lambda groups: wait.text)


def _before_start(
    slice_: Slice,
    maintenance: Maintenance,
    now: datetime,
    rules: Rules,
    group: str | None,
) -> Iterator[_Draft]:
    if not policy.is_due(maintenance, now):
        yield from _approvals(slice_, maintenance, group)
        yield _constant(
            WaitReason(
                kind=WaitKind.TIME,
                text="Waiting for NotBefore, after which no approval is needed.",
                since=maintenance.announced_at,
                until=maintenance.not_before,
            )
        )
    for blocker in chain(
        policy.blockers(slice_, maintenance, now),
        policy.queue_blockers(slice_, maintenance, now),
    ):
        if group not in (None, blocker.group):
            yield _constant(
                WaitReason(
                    kind=WaitKind.BLOCKER,
                    text="Waiting for other groups' maintenance to finish.",
                    since=maintenance.announced_at,
                    until=blocker.opens_at,
                )
            )
        else:
            yield _blocked(slice_, maintenance, blocker, now, rules, group)


def _enough(drafts: Iterable[_Draft], limit: int | None) -> Iterator[_Draft]:
    """Yield at least `limit` waits and continue until a wait has no known end."""
    is_known = True
    for number, draft in enumerate(drafts, 1):
        yield draft
        is_known = is_known and not _is_endless(draft.wait)
        if limit is not None and number >= limit and not is_known:
            return


def _is_endless(wait: WaitReason) -> bool:
    return wait.kind is WaitKind.BLOCKER and wait.until is None


def _approvals(
    slice_: Slice, maintenance: Maintenance, group: str | None
) -> Iterator[_Draft]:
    """Yield the waits for missing approvals. Other groups share a separate wait."""
    own = [event for event in maintenance.unapproved if group in (None, event.group)]
    wait = WaitReason(
        kind=WaitKind.APPROVAL,
        text="Waiting for approval from other groups.",
        since=maintenance.announced_at,
        until=maintenance.not_before,
    )
    if own:
        groups = tuple(dict.fromkeys(event.group for event in own))
        remedies = (
            _approval(slice_, maintenance, own),
            *_by_command("approve", maintenance),
        )
        text = f"Waiting for approval from {_groups(groups)}."
        yield _constant(replace(wait, text=text, groups=groups, unblocked_by=remedies))
    if len(own) < len(maintenance.unapproved):
        yield _constant(wait)


def _approval(
    slice_: Slice, maintenance: Maintenance, events: Iterable[Event]
) -> Remedy:
    """Return the approvals that `events` require, all of which are needed."""
    who = dict.fromkeys(_approvers(slice_, maintenance, event) for event in events)
    return Remedy(
        text=f"{join_all([*who])} {'approves' if len(who) == 1 else 'approve'}"
    )


def _early_departure(maintenance: Maintenance) -> str | None:
    """Return how a group can leave a degraded host before its NotBefore."""
    is_scheduled = maintenance.phase is Phase.SCHEDULED
    is_alone = maintenance.cause is Cause.DEGRADED and len(maintenance.events) == 1
    if not (is_scheduled and is_alone):
        return None
    vms = [vm for vm in maintenance.vms if vm not in maintenance.left]
    hints = join_all([f"`forewarn vm redeploy {vm}`" for vm in vms[:_HINTS]])
    more = f" and {count(len(vms) - _HINTS, 'more VM')}" if len(vms) > _HINTS else ""
    noun = "VM" if len(vms) == 1 else "VMs"
    return (
        "This redeploy does not wait for other VMs on the degraded host. To leave the"
        f" host earlier, redeploy the {noun} yourself: {hints}{more}."
    )


def _approvers(slice_: Slice, maintenance: Maintenance, event: Event) -> str:
    group = slice_.groups.get(event.group)
    if group is None or not group.isolated:
        return f"any VM in group {event.group}"
    # An event lists several VMs if the group was isolated after the announcement.
    return " or ".join(vm for vm in event.resources if vm not in maintenance.left)


def _blocked(
    slice_: Slice,
    maintenance: Maintenance,
    blocker: Blocker,
    now: datetime,
    rules: Rules,
    group: str | None,
) -> _Draft:
    holding = blocker.held_by
    if holding is None:
        return _constant(_notice_blocker(slice_, maintenance, blocker, now))
    other = _with_state(holding, shown_maintenance(holding, group))
    wait = WaitReason(
        kind=WaitKind.BLOCKER,
        rule=blocker.kind,
        text="",
        groups=(blocker.group,),
        maintenance=None if is_preview_id(holding.id) else holding.label,
        since=max(holding.started_at or holding.announced_at, maintenance.announced_at),
        until=blocker.opens_at,
        unblocked_by=_remedies(slice_, blocker.kind, holding),
    )
    if blocker.kind in ("move", "update-domain") and not holding.to_do:
        wait = replace(wait, until=policy.ends_at(holding, rules))
    if blocker.kind == "update-domain" and policy.is_requested(holding):
        complete = _by_command("complete", holding)
        wait = replace(wait, held_by=blocker.group, unblocked_by=complete)
    if blocker.kind == "move" and maintenance.cause is Cause.DEGRADED:
        # The move may have nothing left to do by then, so it might never start.
        wait = replace(wait, until=None)
    return _Draft(
        wait,
        lambda groups: _BLOCKED[blocker.kind].format(
            other=other, groups=_groups(groups)
        ),
    )


def _remedies(slice_: Slice, rule: str, holding: Maintenance) -> tuple[Remedy, ...]:
    """Return the remedies that end the wait for `holding`."""
    if rule == "terminate-coupling":
        by_vm = _approval(slice_, holding, holding.events[:1])
        return (by_vm, *_by_command("approve", holding))
    if rule != "queue" and holding.to_do and holding.stuck_since is not None:
        retry, close = (_by_command(verb, holding) for verb in ("retry", "close"))
        return (*retry, *close)
    return (_END,)


def _by_command(verb: str, maintenance: Maintenance) -> tuple[Remedy, ...]:
    """Return an operator command as a remedy, or no remedy in a dry run."""
    if is_preview_id(maintenance.id):
        return ()
    command = f"forewarn maintenance {verb} {maintenance.label}"
    return (Remedy(text=_VERBS[verb], command=command),)


def _with_state(holding: Maintenance, shown: Maintenance) -> str:
    """Describe a blocking maintenance operation and its progress."""
    if holding.started_at is None:
        return mention(shown)
    if holding.stuck_since is not None and holding.to_do:
        since = format_time(holding.stuck_since)
        return f"{mention(shown)}, which has been stuck since {since}"
    return f"{mention(shown)}, which started at {format_time(holding.started_at)}"


def _groups(names: Sequence[str]) -> str:
    noun = "group" if len(names) == 1 else "groups"
    return f"{noun} {join_names(names)}"


def _notice_blocker(
    slice_: Slice, maintenance: Maintenance, blocker: Blocker, now: datetime
) -> WaitReason:
    away = time_lost(slice_.outages, maintenance.announced_at, now)
    promised = timedelta(seconds=maintenance.promised)
    events = [event for event in maintenance.unapproved if event.group == blocker.group]
    return WaitReason(
        kind=WaitKind.BLOCKER,
        rule=blocker.kind,
        text=f"Waiting until group {blocker.group} has had"
        f" {format_duration(promised)} of notice. The service was down for"
        f" {format_duration(away)}, and downtime does not count as notice.",
        groups=(blocker.group,),
        since=maintenance.not_before,
        until=blocker.opens_at,
        unblocked_by=(_approval(slice_, maintenance, events),),
    )


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
        if wait.kind is not WaitKind.BLOCKER:
            continue
        if wait.until is None:
            return None
        times.append(wait.until)
    return max(times)


# --- after the start ---------------------------------------------------------


def _after_start(
    maintenance: Maintenance,
    now: datetime,
    rules: Rules,
    failure: str,
    *,
    is_busy: bool,
) -> Iterator[WaitReason]:
    if maintenance.phase is not Phase.STARTED:
        return
    if is_busy and not maintenance.to_do:
        yield WaitReason(
            kind=WaitKind.WORK,
            text="Waiting for the driver to finish work on VMs in other groups.",
            since=maintenance.started_at,
        )
    opens = policy.work_opens_at(maintenance, rules)
    if maintenance.to_do:
        if opens is not None and now < opens:
            yield WaitReason(
                kind=WaitKind.LEAD,
                text="Waiting so that VMs can see the Started status before the driver"
                " runs.",
                since=maintenance.started_at,
                until=opens,
            )
        yield _work(maintenance, rules, failure)
    ends = policy.ends_at(maintenance, rules)
    if ends is None:
        yield _failure(maintenance)
    elif now < ends:
        yield WaitReason(
            kind=WaitKind.TIME,
            text="Waiting until the Started status has been visible for the full"
            " duration.",
            since=maintenance.started_at,
            until=ends,
        )


def _work(maintenance: Maintenance, rules: Rules, failure: str) -> WaitReason:
    to_do = join_names(maintenance.to_do)
    complete = _by_command("complete", maintenance)
    if maintenance.stuck_since is None:
        return WaitReason(
            kind=WaitKind.WORK,
            text=f"Waiting for the driver to finish work on {to_do}.",
            since=maintenance.started_at,
            unblocked_by=(Remedy(text="the driver reports success"), *complete),
        )
    cause = failure.rstrip(".")
    report = f" Reason: {cause}." if cause else ""
    again = Remedy(text="an automatic retry succeeds")
    commands = [_by_command(verb, maintenance) for verb in ("retry", "close")]
    return WaitReason(
        kind=WaitKind.WORK,
        text=f"Stuck: the driver failed on {to_do}.{report}",
        since=maintenance.stuck_since,
        unblocked_by=(
            *((again,) if is_retry_left(maintenance, rules) else ()),
            *commands[0],
            *complete,
            *commands[1],
        ),
    )


def _failure(maintenance: Maintenance) -> WaitReason:
    host = maintenance.host
    remedies: tuple[Remedy, ...] = ()
    if host is not None:
        recovered = Remedy(
            text="report the host as recovered",
            command=f"forewarn host recovered {host}",
        )
        remedies = (recovered, *_by_command("complete", maintenance))
    return WaitReason(
        kind=WaitKind.WORK,
        text=f"Waiting for {f'host {host}' if host else 'its host'} to recover.",
        since=maintenance.started_at,
        unblocked_by=remedies,
    )


# --- summary -----------------------------------------------------------------


def _summary(
    maintenance: Maintenance, shown: Maintenance, due: bool, now: datetime
) -> str:
    subject = capitalize(mention(shown))
    if maintenance.phase is Phase.STARTED:
        return f"{subject} started at {format_time(maintenance.started_at or now)}."
    if maintenance.phase is not Phase.SCHEDULED:
        ended = format_time(maintenance.ended_at or now)
        return f"{subject} {_ENDED[maintenance.phase]} at {ended}."
    if not due:
        return f"{subject} is scheduled but not due yet."
    if maintenance.is_approved:
        return f"{subject} is approved but blocked."
    since = format_time(maintenance.not_before)
    return f"{subject} has been due since {since} but is blocked."


def _preview_summary(maintenance: Maintenance, now: datetime) -> str:
    subject = capitalize(mention(maintenance))
    if maintenance.phase is not Phase.SCHEDULED:
        return f"{subject} would start immediately."
    if policy.is_due(maintenance, now):
        return f"{subject} would be due immediately but would be blocked."
    not_before = format_time(maintenance.not_before)
    return f"{subject} would be announced with NotBefore {not_before}."


def _ahead(
    slice_: Slice, maintenance: Maintenance, now: datetime, group: str | None
) -> Iterator[_Draft]:
    for blocker in policy.blockers_ahead(slice_, maintenance, now):
        first = blocker.held_by
        if first is not None and group in (None, blocker.group):
            yield _will_wait(blocker.group, shown_maintenance(first, group))


def _will_wait(group: str, first: Maintenance) -> _Draft:
    return _Draft(
        WaitReason(
            kind=WaitKind.BLOCKER,
            rule="update-domain",
            text="",
            groups=(group,),
            maintenance=None if is_preview_id(first.id) else first.label,
            since=None,
            unblocked_by=(_END,),
        ),
        lambda groups: _BLOCKED["ahead"].format(
            other=mention(first), groups=_groups(groups)
        ),
    )
