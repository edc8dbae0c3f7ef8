"""Audit entries as sentences: the timeline of one event and log messages."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from forewarn.agent.audit import entries as e
from forewarn.agent.audit.summary import EventSummary, summarize, verdict, wording
from forewarn.agent.config.plan import ApprovalPolicy
from forewarn.agent.events.observation import normalize_event_id
from forewarn.agent.events.state import EventState
from forewarn.formats import format_duration
from forewarn.protocol.codec import iso8601

_WITH_OUTPUT = e.HookEndedEntry | e.UnknownEntry
#: Entries about conditions, which `Conditions` logs.
_CONDITIONS = e.BlindEntry | e.SeesAgainEntry | e.NameMismatchEntry

#: Wording of a rule's `approve`.
_APPROVALS: Mapping[str, str] = {
    ApprovalPolicy.AFTER_HOOKS: "approve after the hooks",
    ApprovalPolicy.AT_ONCE: "approve at once",
    ApprovalPolicy.NEVER: "do not approve",
}

_ID_LENGTH = 8  # characters of an ID that distinguish events
_UNKNOWN_LENGTH = 200  # characters of an unknown entry
_OUTPUT_LENGTH = 300  # characters of a hook's last line of output


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryEntry:
    """One entry in the timeline."""

    at: datetime | None  # None if the audit entry has no time
    after: float | None  # seconds since first seen; None if unknown
    text: str
    output: tuple[str, ...] = ()  # the end of a hook's output


@dataclass(frozen=True, slots=True, kw_only=True)
class EventStory:
    """The timeline of one event and a verdict."""

    summary: EventSummary
    entries: tuple[StoryEntry, ...]
    verdict: tuple[str, ...]


def story_of_event(event_id: str, entries: Iterable[e.RecordedEntry]) -> EventStory:
    """Build the timeline of an event, including intervening entries about the agent."""
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


def sentence(entry: e.RecordedEntry) -> str:  # noqa: C901  # a case for each kind
    """Return one entry as a sentence."""
    match entry:
        case e.SeenEntry():
            return _seen(entry)
        case e.CameBackEntry():
            return "announced again with the same ID"
        case e.DecidedEntry():
            return _decided(entry)
        case e.HookBeganEntry():
            return _hook_began(entry)
        case e.HookEndedEntry():
            return _hook_ended(entry)
        case e.ApprovalSentEntry():
            return "sending the approval"
        case e.ApprovedEntry():
            return f"approved{_suffix('; the service returned ', entry.answer)}"
        case e.ApprovalFailedEntry():
            return f"approval failed{_suffix(': ', entry.reason)}"
        case e.NotApprovedEntry():
            return f"not approved{_suffix(': ', entry.reason)}"
        case e.StartedEntry():
            return _started(entry)
        case e.GoneEntry():
            return "the event was canceled" if entry.canceled else "the event has ended"
        case e.OverEntry():
            return f"finished{_suffix(': ', entry.outcome)}"
        case e.BeganEntry():
            return _began(entry)
        case e.EndedEntry():
            return "the agent was stopped"
        case e.BlindEntry():
            return _blind(entry)
        case e.SeesAgainEntry():
            return "the agent can read documents again"
        case e.NameMismatchEntry():
            return _name_mismatch(entry)
        case e.UnknownEntry():
            return _unknown(entry)
        case _:
            assert_never(entry)


def log_text(entry: e.AuditEntry, state: EventState | None) -> str | None:
    """Return the log message for an entry, or None if it is logged elsewhere."""
    if isinstance(entry, _CONDITIONS) or _is_logged_already(entry, state):
        return None
    text = _log_text(entry, state)
    if state is None:
        return text
    name = state.id if isinstance(entry, e.SeenEntry) else state.id[:_ID_LENGTH]
    return f"{state.event.type} {name}: {text}"


def is_failure(entry: e.AuditEntry) -> bool:
    """Return whether an entry is logged as a warning."""
    is_failed_hook = isinstance(entry, e.HookEndedEntry) and not entry.is_done
    return is_failed_hook or isinstance(entry, e.ApprovalFailedEntry)


# --- timeline ----------------------------------------------------------------


def _entries_about(
    event_id: str, entries: Iterable[e.RecordedEntry]
) -> Iterable[e.RecordedEntry]:
    """Yield the entries about an event and the intervening entries about the agent."""
    name = normalize_event_id(event_id)
    between: list[e.RecordedEntry] = []
    has_begun = False
    for entry in entries:
        if entry.event is None:
            between.append(entry)
        elif normalize_event_id(entry.event) == name:
            if has_begun:
                yield from between
            between, has_begun = [], True
            yield entry


def _story_entry(entry: e.RecordedEntry, first: datetime | None) -> StoryEntry:
    after = (entry.at - first).total_seconds() if entry.at and first else None
    output = entry.output if isinstance(entry, _WITH_OUTPUT) else None
    lines = tuple((output or "").splitlines())
    return StoryEntry(at=entry.at, after=after, text=sentence(entry), output=lines)


# --- sentences ---------------------------------------------------------------


def _seen(entry: e.SeenEntry) -> str:
    status = e.read_text(entry.event_as_shown.get("EventStatus")) or "without a status"
    notice = _suffix(", with ", _duration(entry.notice_seconds), " of notice")
    affected = "it lists this VM" if entry.mine else "it does not list this VM"
    if entry.leader:
        affected = "it lists this VM first"
    return f"first seen: {status}{notice}; {affected}"


def _started(entry: e.StartedEntry) -> str:
    if entry.without_notice:
        return "the event started without notice"
    if entry.approved_elsewhere:
        return "the event started early, even though this agent had not approved it"
    return "the event started early" if entry.early else "the event started"


def _decided(entry: e.DecidedEntry) -> str:
    because = _suffix(": ", "; ".join(entry.why))
    if not entry.rule:
        return f"no rule matches{because}"
    orders = [f"{step} ({', '.join(entry.hooks[step])})" for step in entry.hooks]
    if entry.approve:
        orders.append(_APPROVALS.get(entry.approve, f"approve {entry.approve}"))
    plan = _suffix("; plan: ", ", ".join(orders))
    return f'rule "{entry.rule}" matches{because}{plan}'


def _hook_began(entry: e.HookBeganEntry) -> str:
    again = " again after an interruption" if entry.times > 1 else ""
    limit = _suffix(" (time limit ", _duration(entry.seconds_left), ")")
    return f"{entry.step}: running {entry.hook}{again}{limit}"


def _hook_ended(entry: e.HookEndedEntry) -> str:
    after = _suffix(" after ", _duration(entry.seconds))
    attempts = f" and {entry.tries} attempts" if after and entry.tries > 1 else ""
    code = f"exit code {entry.code}" if entry.code else ""
    why = _suffix(": ", entry.reason or code)
    ended = f"{entry.step}: {entry.hook} {wording(entry)}"
    return f"{ended}{after if entry.tries else ''}{attempts}{why}"


def _began(entry: e.BeganEntry) -> str:
    dry = " with --dry-run" if entry.dry_run else ""
    return f"the agent was started{dry}{_suffix(', version ', entry.version)}"


def _blind(entry: e.BlindEntry) -> str:
    long = _suffix(" for ", _duration(entry.seconds))
    return f"the agent is blind: it could not read a document{long}"


def _name_mismatch(entry: e.NameMismatchEntry) -> str:
    if entry.reason is None:
        return "the agent's name for this VM is correct again"
    return f"the agent may miss events for this VM: {entry.reason}"


def _unknown(entry: e.UnknownEntry) -> str:
    details = json.dumps(entry.details)[:_UNKNOWN_LENGTH] if entry.details else ""
    return f"{entry.what}{_suffix(' ', details)}"


def _suffix(before: str, text: str | None, after: str = "") -> str:
    """Return `text` between `before` and `after`, or an empty string without text."""
    return f"{before}{text}{after}" if text else ""


def _duration(seconds: float | None) -> str | None:
    return None if seconds is None else format_duration(seconds)


# --- log messages ------------------------------------------------------------


def _is_logged_already(entry: e.AuditEntry, state: EventState | None) -> bool:
    """Return whether the entry only repeats that no rule matches."""
    is_held = isinstance(entry, e.NotApprovedEntry)
    return is_held and state is not None and state.course is None


def _log_text(entry: e.AuditEntry, state: EventState | None) -> str:
    text = sentence(entry)
    match entry:
        case e.SeenEntry() if state is not None:
            return f"{text} ({_event_facts(state)})"
        case e.DecidedEntry() if state is not None and state.course is None:
            return text if state.is_mine else "no rule matches"
        case e.HookEndedEntry() if not entry.is_done:
            return f"{text}{_last_line(entry.output or '')}"
        case _:
            return text


def _event_facts(state: EventState) -> str:
    event = state.event
    due = e.utc(event.not_before)
    parts = (
        ", ".join(event.resources) or "no VM",
        "" if due is None else f"not before {iso8601(due)}",
        f"{event.source or ''}: {event.description}".strip(": "),
    )
    return "; ".join(part for part in parts if part)


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return f"; last output: {lines[-1][:_OUTPUT_LENGTH]}" if lines else ""
