"""Log messages for audit entries, written for an operator on call.

1. A message names the event's type and the start of its id; the first has the full id.
2. Failures are warnings.
3. Entries that are logged elsewhere and rules for other VMs are omitted.
"""

import logging
from dataclasses import dataclass

from forewarn.agent.lives import Life, Outcome
from forewarn.agent.notes import Note
from forewarn.agent.remarks import Remark, utc
from forewarn.agent.story import sentence
from forewarn.protocol.codec import iso8601

#: Conditions, which are logged when they begin and end.
_CONDITIONS = frozenset({"blind", "sees-again", "name-mismatch"})
_SHORT = 8  # characters of an id that distinguish events
_LONGEST = 300  # characters of a hook's last output line


@dataclass(frozen=True, slots=True, kw_only=True)
class Saying:
    """One log message."""

    level: int  # of the module logging
    text: str


def say(note: Note, life: Life | None) -> Saying | None:
    """Return the log message for an entry; None if it is logged elsewhere."""
    if note.what in _CONDITIONS or _is_nobodys(note, life):
        return None
    text = _text(note, life)
    if life is not None:
        name = life.id if note.what == "seen" else life.id[:_SHORT]
        text = f"{life.event.type} {name}: {text}"
    return Saying(level=logging.WARNING if _is_wrong(note) else logging.INFO, text=text)


def _is_nobodys(note: Note, life: Life | None) -> bool:
    """Return whether no rule matches, which was logged with the decision."""
    return note.what == "not-approved" and life is not None and life.course is None


def _is_wrong(note: Note) -> bool:
    has_failed = note.what == "hook-ended" and note.said["outcome"] != Outcome.DONE
    return has_failed or note.what == "approval-failed"


def _text(note: Note, life: Life | None) -> str:
    text = sentence(Remark(note.line()))
    match note.what:
        case "seen" if life is not None:
            return f"{text} ({_about(life)})"
        case "decided" if life is not None and life.course is None:
            return text if life.is_mine else "no rule matches"
        case "hook-ended" if _is_wrong(note):
            return f"{text}{_last_words(str(note.said['output']))}"
        case _:
            return text


def _about(life: Life) -> str:
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
