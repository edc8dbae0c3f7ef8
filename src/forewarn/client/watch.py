"""Documents in, changes out.

Rules of this file:

1. Content decides, not the counter: it begins anew after a day of silence, and a new
   number alone is no news.
2. An event that is gone was completed if it was last seen as Started, else canceled.
"""

from dataclasses import dataclass

from forewarn.protocol.types import Document, EventStatus, ScheduledEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Document):
    """A document, and what is different from the one before.

    An event that is Started when it is first seen has both appeared and started.
    """

    appeared: tuple[ScheduledEvent, ...] = ()  # was not there before
    started: tuple[ScheduledEvent, ...] = ()  # is Started, and was not before
    completed: tuple[ScheduledEvent, ...] = ()  # is gone, and had started
    canceled: tuple[ScheduledEvent, ...] = ()  # is gone, and was never seen to start
    changed: tuple[ScheduledEvent, ...] = ()  # is different in any other way

    @property
    def is_news(self) -> bool:
        """Whether anything is different at all."""
        gone = self.completed or self.canceled
        return bool(self.appeared or self.started or gone or self.changed)


def compare(before: Document | None, after: Document) -> Change:
    """Find what `after` has that `before` had not, and the reverse."""
    old = {event.id: event for event in before.events} if before else {}
    new = {event.id: event for event in after.events}
    gone = [event for event in old.values() if event.id not in new]
    started = {
        name: each for name, each in new.items() if _has_started(old.get(name), each)
    }
    return Change(
        incarnation=after.incarnation,
        events=after.events,
        appeared=tuple(each for each in new.values() if each.id not in old),
        started=tuple(started.values()),
        completed=tuple(each for each in gone if _is_started(each)),
        canceled=tuple(each for each in gone if not _is_started(each)),
        changed=tuple(
            each
            for name, each in new.items()
            if name in old and name not in started and _differs(old[name], each)
        ),
    )


def _is_started(event: ScheduledEvent) -> bool:
    return event.status == EventStatus.STARTED


def _has_started(before: ScheduledEvent | None, after: ScheduledEvent) -> bool:
    return _is_started(after) and (before is None or not _is_started(before))


def _differs(before: ScheduledEvent, after: ScheduledEvent) -> bool:
    """Whether anything is different, also in fields that are not known here."""
    return before != after or before.raw != after.raw
