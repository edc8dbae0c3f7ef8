"""Audit entries as the agent writes them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from forewarn.agent.lives import Impact, Life, Run
from forewarn.protocol.codec import iso8601


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One entry of the audit log."""

    at: datetime  # the service's time
    what: str
    event: str | None = None  # None if it is about the agent itself
    said: Mapping[str, object] = field(default_factory=dict)

    def line(self) -> Mapping[str, object]:
        """Return the entry as a JSON object."""
        begin = {"at": iso8601(self.at), "event": self.event, "what": self.what}
        return {**begin, **self.said}


def note(what: str, life: Life, at: datetime, **said: object) -> Note:
    """Create an entry about one event."""
    return Note(at=at, what=what, event=life.id, said=said)


def ended(life: Life, run: Run, at: datetime) -> Note:
    """Create an entry about the end of a hook."""
    seconds = None if run.ended_at is None else run.ended_at - run.begun_at
    return note(
        "hook-ended",
        life,
        at,
        step=run.step,
        hook=run.hook,
        times=run.times,
        tries=run.tries,
        outcome=run.outcome,
        code=run.code,
        seconds=None if seconds is None else round(seconds.total_seconds(), 3),
        output=run.output,
        reason=run.reason,
    )


def impact(felt: Impact) -> Mapping[str, object]:
    """Return the impact of an event as a JSON object."""
    return {
        "boots": felt.boots,
        "seconds": round(felt.seconds, 3),
        "total": round(felt.total, 3),
    }
