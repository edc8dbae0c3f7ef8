"""Timeline of one event, rendered from the audit log entry by entry."""

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from forewarn.agent.audit.entries import AuditEntry, RecordedEntry, listed, span, utc
from forewarn.agent.audit.summary import ENDED, EventSummary, summarize, verdict
from forewarn.agent.events.observation import normalize_event_id
from forewarn.agent.events.state import EventState, HookOutcome
from forewarn.protocol.codec import iso8601

_ABOUT = frozenset({"at", "event", "what"})
_MOST = 200  # characters of an unknown entry


#: Conditions, which are logged when they begin and end.
_CONDITIONS = frozenset({"blind", "sees-again", "name-mismatch"})
_SHORT = 8  # characters of an id that distinguish events
_LONGEST = 300  # characters of a hook's last output line


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryEntry:
    """One moment of the timeline."""

    at: datetime | None  # None if the entry has no time
    after: float | None  # seconds since first seen; None if unknown
    said: str
    output: tuple[str, ...] = ()  # the end of a hook's output


@dataclass(frozen=True, slots=True, kw_only=True)
class EventStory:
    """The timeline of one event, and its assessment."""

    account: EventSummary
    entries: tuple[StoryEntry, ...]
    verdict: tuple[str, ...]


def story_of_event(event_id: str, remarks: Iterable[RecordedEntry]) -> EventStory:
    """Build the timeline of an event, with what happened to the agent meanwhile."""
    own = [*_concerning(event_id, remarks)]
    account = summarize(own).get(
        normalize_event_id(event_id), EventSummary(id=event_id)
    )
    first = own[0].at if own else None
    return EventStory(
        account=account,
        entries=tuple(_entry(remark, first) for remark in own),
        verdict=verdict(account),
    )


def _concerning(
    event_id: str, remarks: Iterable[RecordedEntry]
) -> Iterable[RecordedEntry]:
    """Yield the entries on an event, and those on the agent between them."""
    event_key, between, has_begun = (
        normalize_event_id(event_id),
        list[RecordedEntry](),
        False,
    )
    for remark in remarks:
        if remark.event is None:
            between.append(remark)
        elif normalize_event_id(remark.event) == event_key:
            if has_begun:
                yield from between
            between, has_begun = [], True
            yield remark


def _entry(remark: RecordedEntry, first: datetime | None) -> StoryEntry:
    at = remark.at
    after = (at - first).total_seconds() if at and first else None
    output = (remark.text("output") or "").splitlines()
    return StoryEntry(at=at, after=after, said=sentence(remark), output=tuple(output))


def sentence(remark: RecordedEntry) -> str:
    """Return one entry as a sentence."""
    say = _SAY.get(remark.what)
    return _unknown(remark) if say is None else say(remark)


# --- observations --------------------------------------------------------------


def _seen(remark: RecordedEntry) -> str:
    status = remark.part("event_as_shown").text("EventStatus") or "without a status"
    notice = remark.number("notice_seconds")
    left = "" if notice is None else f", with {span(notice)} of notice"
    return f"first seen: {status}{left}; {_whom(remark)}"


def _whom(remark: RecordedEntry) -> str:
    if remark.is_so("leader"):
        return "it names this VM first"
    return "it names this VM" if remark.is_so("mine") else "it does not name this VM"


def _started(remark: RecordedEntry) -> str:
    if remark.is_so("without_notice"):
        return "it has started, without notice"
    if remark.is_so("approved_elsewhere"):
        return "it has started before its time: somebody else has approved it"
    return "it has started" + (" before its time" if remark.is_so("early") else "")


def _gone(remark: RecordedEntry) -> str:
    return "it is gone: it was called off" if remark.is_so("canceled") else "it is over"


# --- actions -------------------------------------------------------------------


def _decided(remark: RecordedEntry) -> str:
    rule = remark.text("rule")
    why = "; ".join(remark.names("why"))
    because = f": {why}" if why else ""
    if rule is None:
        return f"no rule matches{because}"
    return f'rule "{rule}" matches{because}{_orders(remark)}'


def _orders(remark: RecordedEntry) -> str:
    hooks = remark.part("hooks")
    steps = [f"{step} by {listed(hooks.names(step))}" for step in hooks.plain]
    approve = remark.text("approve")
    parts = [*steps, *([f"approve {approve}"] if approve else [])]
    return f"; so: {'; '.join(parts)}" if parts else ""


def _hook_began(remark: RecordedEntry) -> str:
    again = int(remark.number("times") or 1)
    suffix = f" again (time {again}): the agent had died" if again > 1 else ""
    left = remark.number("seconds_left")
    time = "" if left is None else f", with {span(max(left, 0.0))} to do it"
    return f"{_hook(remark)} begins{suffix}{time}"


def _hook_ended(remark: RecordedEntry) -> str:
    outcome = remark.text("outcome") or "?"
    seconds, tries = remark.number("seconds"), int(remark.number("tries") or 1)
    after = "" if seconds is None else f" after {span(seconds)}"
    often = f", in {tries} tries" if tries > 1 else ""
    reason = remark.text("reason")
    why = f": {reason}" if reason else _code(remark)
    return f"{_hook(remark)} {ENDED.get(outcome, outcome)}{after}{often}{why}"


def _code(remark: RecordedEntry) -> str:
    code = remark.number("code")
    return f": exit code {code}" if code else ""


def _hook(remark: RecordedEntry) -> str:
    return f"{remark.text('step') or '?'}: {remark.text('hook') or '?'}"


def _approved(remark: RecordedEntry) -> str:
    answer = remark.text("answer")
    return "approved" + (f"; the service answered {answer}" if answer else "")


# --- the agent itself ----------------------------------------------------------


def _began(remark: RecordedEntry) -> str:
    version, dry = remark.text("version"), remark.is_so("dry_run")
    which = f", version {version}" if version else ""
    return f"the agent was started{which}{', and only watches' if dry else ''}"


def _reasoned(said: str) -> Callable[[RecordedEntry], str]:
    """Return a function that renders `said`, with the entry's reason if it has one."""

    def say(remark: RecordedEntry) -> str:
        reason = remark.text("reason")
        return f"{said}: {reason}" if reason else said

    return say


def _blind(remark: RecordedEntry) -> str:
    seconds = remark.number("seconds")
    long = "" if seconds is None else f" for {span(seconds)}"
    return f"the agent is blind: it could not read a document{long}"


def _name_mismatch(remark: RecordedEntry) -> str:
    reason = remark.text("reason")
    if reason is None:
        return "the agent knows its own name again"
    return f"the agent may not know its own name: {reason}"


def _over(remark: RecordedEntry) -> str:
    return f"nothing is left to be done: {remark.text('outcome') or 'it is over'}"


def _unknown(remark: RecordedEntry) -> str:
    more = {name: remark.plain[name] for name in remark.plain if name not in _ABOUT}
    return f"{remark.what} {json.dumps(more)[:_MOST]}" if more else remark.what


_SAY: Mapping[str, Callable[[RecordedEntry], str]] = {
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One log message."""

    level: int  # of the module logging
    text: str


def log_line(note: AuditEntry, life: EventState | None) -> LogLine | None:
    """Return the log message for an entry; None if it is logged elsewhere."""
    if note.what in _CONDITIONS or _is_nobodys(note, life):
        return None
    text = _text(note, life)
    if life is not None:
        name = life.id if note.what == "seen" else life.id[:_SHORT]
        text = f"{life.event.type} {name}: {text}"
    return LogLine(
        level=logging.WARNING if _is_wrong(note) else logging.INFO, text=text
    )


def _is_nobodys(note: AuditEntry, life: EventState | None) -> bool:
    """Return whether no rule matches, which was logged with the decision."""
    return note.what == "not-approved" and life is not None and life.course is None


def _is_wrong(note: AuditEntry) -> bool:
    has_failed = note.what == "hook-ended" and note.said["outcome"] != HookOutcome.DONE
    return has_failed or note.what == "approval-failed"


def _text(note: AuditEntry, life: EventState | None) -> str:
    text = sentence(RecordedEntry(note.line()))
    match note.what:
        case "seen" if life is not None:
            return f"{text} ({_about(life)})"
        case "decided" if life is not None and life.course is None:
            return text if life.is_mine else "no rule matches"
        case "hook-ended" if _is_wrong(note):
            return f"{text}{_last_words(str(note.said['output']))}"
        case _:
            return text


def _about(life: EventState) -> str:
    event = life.event
    due = utc(event.not_before)
    parts = (
        ", ".join(event.resources) or "nobody",
        "" if due is None else f"not before {iso8601(due)}",
        f"{event.source or ''}: {event.description}".strip(": "),
    )
    return "; ".join(part for part in parts if part)


def _last_words(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return f"; it wrote last: {lines[-1][:_LONGEST]}" if lines else ""
