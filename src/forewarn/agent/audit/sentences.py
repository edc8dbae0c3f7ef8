"""Audit entries as sentences: the timeline of one event, and log messages."""

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from forewarn.agent.audit.entries import (
    AuditEntry,
    RecordedEntry,
    format_duration,
    join_names,
    utc,
)
from forewarn.agent.audit.summary import ENDED, EventSummary, summarize, verdict
from forewarn.agent.events.observation import normalize_event_id
from forewarn.agent.events.state import EventState, HookOutcome
from forewarn.protocol.codec import iso8601

_HEAD_KEYS = frozenset({"at", "event", "what"})
#: Conditions, which are logged when they begin and end.
_CONDITIONS = frozenset({"blind", "sees-again", "name-mismatch"})

_ID_LENGTH = 8  # characters of an id that distinguish events
_UNKNOWN_LENGTH = 200  # characters of an unknown entry
_OUTPUT_LENGTH = 300  # characters of a hook's last output line


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryEntry:
    """One moment of the timeline."""

    at: datetime | None  # None if the entry has no time
    after: float | None  # seconds since first seen; None if unknown
    text: str
    output: tuple[str, ...] = ()  # the end of a hook's output


@dataclass(frozen=True, slots=True, kw_only=True)
class EventStory:
    """The timeline of one event, and its assessment."""

    summary: EventSummary
    entries: tuple[StoryEntry, ...]
    verdict: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One log message."""

    level: int  # of the module logging
    text: str


def story_of_event(event_id: str, entries: Iterable[RecordedEntry]) -> EventStory:
    """Build the timeline of an event, with what happened to the agent meanwhile."""
    own = [*_entries_about(event_id, entries)]
    summary = summarize(own).get(
        normalize_event_id(event_id), EventSummary(id=event_id)
    )
    first = own[0].at if own else None
    return EventStory(
        summary=summary,
        entries=tuple(_story_entry(entry, first) for entry in own),
        verdict=verdict(summary),
    )


def sentence(entry: RecordedEntry) -> str:
    """Return one entry as a sentence."""
    return _SENTENCES.get(entry.what, _unknown)(entry)


def log_line(entry: AuditEntry, state: EventState | None) -> LogLine | None:
    """Return the log message for an entry; None if it is logged elsewhere."""
    if entry.what in _CONDITIONS or _is_logged_already(entry, state):
        return None
    text = _log_text(entry, state)
    if state is not None:
        name = state.id if entry.what == "seen" else state.id[:_ID_LENGTH]
        text = f"{state.event.type} {name}: {text}"
    return LogLine(
        level=logging.WARNING if _is_failure(entry) else logging.INFO, text=text
    )


# --- timeline ----------------------------------------------------------------


def _entries_about(
    event_id: str, entries: Iterable[RecordedEntry]
) -> Iterable[RecordedEntry]:
    """Yield the entries on an event, and those on the agent between them."""
    name = normalize_event_id(event_id)
    between: list[RecordedEntry] = []
    has_begun = False
    for entry in entries:
        if entry.event is None:
            between.append(entry)
        elif normalize_event_id(entry.event) == name:
            if has_begun:
                yield from between
            between, has_begun = [], True
            yield entry


def _story_entry(entry: RecordedEntry, first: datetime | None) -> StoryEntry:
    at = entry.at
    after = (at - first).total_seconds() if at and first else None
    output = (entry.text("output") or "").splitlines()
    return StoryEntry(at=at, after=after, text=sentence(entry), output=tuple(output))


# --- observations ------------------------------------------------------------


def _seen(entry: RecordedEntry) -> str:
    status = entry.part("event_as_shown").text("EventStatus") or "without a status"
    notice = entry.number("notice_seconds")
    left = "" if notice is None else f", with {format_duration(notice)} of notice"
    return f"first seen: {status}{left}; {_affected(entry)}"


def _affected(entry: RecordedEntry) -> str:
    if entry.is_true("leader"):
        return "it names this VM first"
    return "it names this VM" if entry.is_true("mine") else "it does not name this VM"


def _started(entry: RecordedEntry) -> str:
    if entry.is_true("without_notice"):
        return "it has started, without notice"
    if entry.is_true("approved_elsewhere"):
        return "it has started before its time: somebody else has approved it"
    return "it has started" + (" before its time" if entry.is_true("early") else "")


def _gone(entry: RecordedEntry) -> str:
    return (
        "it is gone: it was called off" if entry.is_true("canceled") else "it is over"
    )


# --- actions -----------------------------------------------------------------


def _decided(entry: RecordedEntry) -> str:
    rule = entry.text("rule")
    why = "; ".join(entry.names("why"))
    because = f": {why}" if why else ""
    if rule is None:
        return f"no rule matches{because}"
    return f'rule "{rule}" matches{because}{_orders(entry)}'


def _orders(entry: RecordedEntry) -> str:
    hooks = entry.part("hooks")
    steps = [f"{step} by {join_names(hooks.names(step))}" for step in hooks.plain]
    approve = entry.text("approve")
    parts = [*steps, *([f"approve {approve}"] if approve else [])]
    return f"; so: {'; '.join(parts)}" if parts else ""


def _hook_began(entry: RecordedEntry) -> str:
    again = int(entry.number("times") or 1)
    suffix = f" again (time {again}): the agent had died" if again > 1 else ""
    left = entry.number("seconds_left")
    time = "" if left is None else f", with {format_duration(max(left, 0.0))} to do it"
    return f"{_hook(entry)} begins{suffix}{time}"


def _hook_ended(entry: RecordedEntry) -> str:
    outcome = entry.text("outcome") or "?"
    seconds, tries = entry.number("seconds"), int(entry.number("tries") or 1)
    after = "" if seconds is None else f" after {format_duration(seconds)}"
    often = f", in {tries} tries" if tries > 1 else ""
    reason = entry.text("reason")
    why = f": {reason}" if reason else _code(entry)
    return f"{_hook(entry)} {ENDED.get(outcome, outcome)}{after}{often}{why}"


def _code(entry: RecordedEntry) -> str:
    code = entry.number("code")
    return f": exit code {code}" if code else ""


def _hook(entry: RecordedEntry) -> str:
    return f"{entry.text('step') or '?'}: {entry.text('hook') or '?'}"


def _approved(entry: RecordedEntry) -> str:
    answer = entry.text("answer")
    return "approved" + (f"; the service answered {answer}" if answer else "")


def _over(entry: RecordedEntry) -> str:
    return f"nothing is left to be done: {entry.text('outcome') or 'it is over'}"


# --- the agent itself --------------------------------------------------------


def _began(entry: RecordedEntry) -> str:
    version, dry = entry.text("version"), entry.is_true("dry_run")
    which = f", version {version}" if version else ""
    return f"the agent was started{which}{', and only watches' if dry else ''}"


def _blind(entry: RecordedEntry) -> str:
    seconds = entry.number("seconds")
    long = "" if seconds is None else f" for {format_duration(seconds)}"
    return f"the agent is blind: it could not read a document{long}"


def _name_mismatch(entry: RecordedEntry) -> str:
    reason = entry.text("reason")
    if reason is None:
        return "the agent knows its own name again"
    return f"the agent may not know its own name: {reason}"


# --- any entry ---------------------------------------------------------------


def _with_reason(text: str) -> Callable[[RecordedEntry], str]:
    """Return a function that renders `text`, with the entry's reason if it has one."""

    def render(entry: RecordedEntry) -> str:
        reason = entry.text("reason")
        return f"{text}: {reason}" if reason else text

    return render


def _unknown(entry: RecordedEntry) -> str:
    more = {name: entry.plain[name] for name in entry.plain if name not in _HEAD_KEYS}
    return f"{entry.what} {json.dumps(more)[:_UNKNOWN_LENGTH]}" if more else entry.what


_SENTENCES: Mapping[str, Callable[[RecordedEntry], str]] = {
    "seen": _seen,
    "came-back": _with_reason("announced again, under the same id"),
    "decided": _decided,
    "hook-began": _hook_began,
    "hook-ended": _hook_ended,
    "approval-sent": _with_reason("the approval is sent"),
    "approved": _approved,
    "approval-failed": _with_reason("the approval was not taken"),
    "not-approved": _with_reason("not approved"),
    "started": _started,
    "gone": _gone,
    "over": _over,
    "began": _began,
    "ended": _with_reason("the agent was stopped"),
    "blind": _blind,
    "sees-again": _with_reason("the agent sees again"),
    "name-mismatch": _name_mismatch,
    "trouble": _with_reason("the agent is in trouble"),
}


# --- log messages ------------------------------------------------------------


def _is_logged_already(entry: AuditEntry, state: EventState | None) -> bool:
    """Return whether no rule matches, which was logged with the decision."""
    return entry.what == "not-approved" and state is not None and state.course is None


def _is_failure(entry: AuditEntry) -> bool:
    has_failed = (
        entry.what == "hook-ended" and entry.details["outcome"] != HookOutcome.DONE
    )
    return has_failed or entry.what == "approval-failed"


def _log_text(entry: AuditEntry, state: EventState | None) -> str:
    text = sentence(RecordedEntry(entry.line()))
    match entry.what:
        case "seen" if state is not None:
            return f"{text} ({_event_facts(state)})"
        case "decided" if state is not None and state.course is None:
            return text if state.is_mine else "no rule matches"
        case "hook-ended" if _is_failure(entry):
            return f"{text}{_last_line(str(entry.details['output']))}"
        case _:
            return text


def _event_facts(state: EventState) -> str:
    event = state.event
    due = utc(event.not_before)
    parts = (
        ", ".join(event.resources) or "nobody",
        "" if due is None else f"not before {iso8601(due)}",
        f"{event.source or ''}: {event.description}".strip(": "),
    )
    return "; ".join(part for part in parts if part)


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return f"; it wrote last: {lines[-1][:_OUTPUT_LENGTH]}" if lines else ""
