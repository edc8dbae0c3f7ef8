"""The log as a notifier: one line for each notice."""

import logging

from forewarn.core.sentences import at, what
from forewarn.core.story import tell
from forewarn.notifiers.cloud_events import cloud_event
from forewarn.notifiers.targets import NOTIFICATIONS
from forewarn.ports import Notice

_log = logging.getLogger(NOTIFICATIONS)


class LogNotifier:
    """Writes a sentence; a log in JSON has the whole event beside it."""

    def __init__(self, *, source: str) -> None:
        """Write events of `source`."""
        self._source = source

    def notify(self, notice: Notice) -> None:
        """Write `notice` down."""
        event = cloud_event(notice, self._source)
        _log.info("%s", _line(notice), extra={"event": event})


def _line(notice: Notice) -> str:
    name = type(notice.fact).__name__
    head = f"{notice.position} {name} at {at(notice.fact.at)}"
    found = notice.maintenance
    if found is None:
        group = getattr(notice.fact, "group", None)
        return head if group is None else f"{head}: group {group}"
    told = "; ".join(line.what for line in tell(found, [notice.fact], (), ()).lines)
    return " ".join(f"{head}: {found.id}, {what(found)}: {told}".split())
