"""Comparison of documents: which events appeared, started, completed or were canceled.

1. Documents are compared by content, not by incarnation. The incarnation restarts after
   a day without polls, and a new incarnation alone is not a change.
2. An event that is gone was completed if it was last seen as Started. Otherwise, it was
   canceled.
"""

from dataclasses import dataclass

from forewarn.protocol.types import Document, EventStatus, ScheduledEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Document):
    """A document and its differences from the previous one.

    An event that is already Started when first seen counts as both appeared and
    started.
    """

    appeared: tuple[ScheduledEvent, ...] = ()  # not in the previous document
    started: tuple[ScheduledEvent, ...] = ()  # Started now, but not before
    completed: tuple[ScheduledEvent, ...] = ()  # gone after being Started
    canceled: tuple[ScheduledEvent, ...] = ()  # gone without being seen as Started
    changed: tuple[ScheduledEvent, ...] = ()  # different in any other way

    @property
    def is_news(self) -> bool:
        """Return whether anything differs."""
        gone = self.completed or self.canceled
        return bool(self.appeared or self.started or gone or self.changed)


def compare(before: Document | None, after: Document) -> Change:
    """Return the differences between `before` and `after`."""
    old = {event.id: event for event in before.events} if before else {}
    new = {event.id: event for event in after.events}
    gone = [event for event in old.values() if event.id not in new]
    started = {
        name: item for name, item in new.items() if _has_started(old.get(name), item)
    }
    return Change(
        incarnation=after.incarnation,
        events=after.events,
        appeared=tuple(item for item in new.values() if item.id not in old),
        started=tuple(started.values()),
        completed=tuple(item for item in gone if _is_started(item)),
        canceled=tuple(item for item in gone if not _is_started(item)),
        changed=tuple(
            item
            for name, item in new.items()
            if name in old and name not in started and _differs(old[name], item)
        ),
    )


def _is_started(event: ScheduledEvent) -> bool:
    return event.status == EventStatus.STARTED


def _has_started(before: ScheduledEvent | None, after: ScheduledEvent) -> bool:
    return _is_started(after) and (before is None or not _is_started(before))


def _differs(before: ScheduledEvent, after: ScheduledEvent) -> bool:
    """Return whether anything differs, including in unknown fields."""
    return before != after or before.raw != after.raw
