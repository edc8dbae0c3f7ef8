"""Timeline of one event, rendered from the audit log entry by entry."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from forewarn.agent.accounts import ENDED, Account, accounts
from forewarn.agent.remarks import Remark, listed, span
from forewarn.agent.sighting import key
from forewarn.agent.verdicts import verdict

_ABOUT = frozenset({"at", "event", "what"})
_MOST = 200  # characters of an unknown entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One moment of the timeline."""

    at: datetime | None  # None if the entry has no time
    after: float | None  # seconds since first seen; None if unknown
    said: str
    output: tuple[str, ...] = ()  # the end of a hook's output


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """The timeline of one event, and its assessment."""

    account: Account
    entries: tuple[Entry, ...]
    verdict: tuple[str, ...]


def tell(event_id: str, remarks: Iterable[Remark]) -> Story:
    """Build the timeline of an event, with what happened to the agent meanwhile."""
    own = [*_concerning(event_id, remarks)]
    account = accounts(own).get(key(event_id), Account(id=event_id))
    first = own[0].at if own else None
    return Story(
        account=account,
        entries=tuple(_entry(remark, first) for remark in own),
        verdict=verdict(account),
    )


def _concerning(event_id: str, remarks: Iterable[Remark]) -> Iterable[Remark]:
    """Yield the entries on an event, and those on the agent between them."""
    event_key, between, has_begun = key(event_id), list[Remark](), False
    for remark in remarks:
        if remark.event is None:
            between.append(remark)
        elif key(remark.event) == event_key:
            if has_begun:
                yield from between
            between, has_begun = [], True
            yield remark


def _entry(remark: Remark, first: datetime | None) -> Entry:
    at = remark.at
    after = (at - first).total_seconds() if at and first else None
    output = (remark.text("output") or "").splitlines()
    return Entry(at=at, after=after, said=sentence(remark), output=tuple(output))


def sentence(remark: Remark) -> str:
    """Return one entry as a sentence."""
    say = _SAY.get(remark.what)
    return _unknown(remark) if say is None else say(remark)


# --- observations --------------------------------------------------------------


def _seen(remark: Remark) -> str:
    status = remark.part("event_as_shown").text("EventStatus") or "without a status"
    notice = remark.number("notice_seconds")
    left = "" if notice is None else f", with {span(notice)} of notice"
    return f"first seen: {status}{left}; {_whom(remark)}"


def _whom(remark: Remark) -> str:
    if remark.is_so("leader"):
        return "it names this VM first"
    return "it names this VM" if remark.is_so("mine") else "it does not name this VM"


def _started(remark: Remark) -> str:
    if remark.is_so("without_notice"):
        return "it has started, without notice"
    if remark.is_so("approved_elsewhere"):
        return "it has started before its time: somebody else has approved it"
    return "it has started" + (" before its time" if remark.is_so("early") else "")


def _gone(remark: Remark) -> str:
    return "it is gone: it was called off" if remark.is_so("canceled") else "it is over"


# --- actions -------------------------------------------------------------------


def _decided(remark: Remark) -> str:
    rule = remark.text("rule")
    why = "; ".join(remark.names("why"))
    because = f": {why}" if why else ""
    if rule is None:
        return f"no rule matches{because}"
    return f'rule "{rule}" matches{because}{_orders(remark)}'


def _orders(remark: Remark) -> str:
    hooks = remark.part("hooks")
    steps = [f"{step} by {listed(hooks.names(step))}" for step in hooks.plain]
    approve = remark.text("approve")
    parts = [*steps, *([f"approve {approve}"] if approve else [])]
    return f"; so: {'; '.join(parts)}" if parts else ""


def _hook_began(remark: Remark) -> str:
    again = int(remark.number("times") or 1)
    suffix = f" again (time {again}): the agent had died" if again > 1 else ""
    left = remark.number("seconds_left")
    time = "" if left is None else f", with {span(max(left, 0.0))} to do it"
    return f"{_hook(remark)} begins{suffix}{time}"


def _hook_ended(remark: Remark) -> str:
    outcome = remark.text("outcome") or "?"
    seconds, tries = remark.number("seconds"), int(remark.number("tries") or 1)
    after = "" if seconds is None else f" after {span(seconds)}"
    often = f", in {tries} tries" if tries > 1 else ""
    reason = remark.text("reason")
    why = f": {reason}" if reason else _code(remark)
    return f"{_hook(remark)} {ENDED.get(outcome, outcome)}{after}{often}{why}"


def _code(remark: Remark) -> str:
    code = remark.number("code")
    return f": exit code {code}" if code else ""


def _hook(remark: Remark) -> str:
    return f"{remark.text('step') or '?'}: {remark.text('hook') or '?'}"


def _approved(remark: Remark) -> str:
    answer = remark.text("answer")
    return "approved" + (f"; the service answered {answer}" if answer else "")


# --- the agent itself ----------------------------------------------------------


def _began(remark: Remark) -> str:
    version, dry = remark.text("version"), remark.is_so("dry_run")
    which = f", version {version}" if version else ""
    return f"the agent was started{which}{', and only watches' if dry else ''}"


def _reasoned(said: str) -> Callable[[Remark], str]:
    """Return a function that renders `said`, with the entry's reason if it has one."""

    def say(remark: Remark) -> str:
        reason = remark.text("reason")
        return f"{said}: {reason}" if reason else said

    return say


def _blind(remark: Remark) -> str:
    seconds = remark.number("seconds")
    long = "" if seconds is None else f" for {span(seconds)}"
    return f"the agent is blind: it could not read a document{long}"


def _name_mismatch(remark: Remark) -> str:
    reason = remark.text("reason")
    if reason is None:
        return "the agent knows its own name again"
    return f"the agent may not know its own name: {reason}"


def _over(remark: Remark) -> str:
    return f"nothing is left to be done: {remark.text('outcome') or 'it is over'}"


def _unknown(remark: Remark) -> str:
    more = {name: remark.plain[name] for name in remark.plain if name not in _ABOUT}
    return f"{remark.what} {json.dumps(more)[:_MOST]}" if more else remark.what


_SAY: Mapping[str, Callable[[Remark], str]] = {
    "seen": _seen,
    "came-back": _reasoned("announced again, under the same id"),
    "decided": _decided,
    "hook-began": _hook_began,
    "hook-ended": _hook_ended,
    "approval-sent": _reasoned("the approval is sent"),
    "approved": _approved,
    "approval-failed": _reasoned("the approval was not taken"),
    "not-approved": _reasoned("not approved"),
    "started": _started,
    "gone": _gone,
    "over": _over,
    "began": _began,
    "ended": _reasoned("the agent was stopped"),
    "blind": _blind,
    "sees-again": _reasoned("the agent sees again"),
    "name-mismatch": _name_mismatch,
    "trouble": _reasoned("the agent is in trouble"),
}
