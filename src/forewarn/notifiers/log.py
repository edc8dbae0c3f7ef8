"""Log notifier: one line for each notification."""

import logging

from forewarn.core.sentences import at, what
from forewarn.core.story import tell
from forewarn.notifiers.cloud_events import cloud_event
from forewarn.notifiers.targets import NOTIFICATIONS
from forewarn.ports import Notice

_log = logging.getLogger(NOTIFICATIONS)


class LogNotifier:
    """Logs a sentence; a JSON log also has the whole event."""

    def __init__(self, *, source: str) -> None:
        """Log events of `source`."""
        self._source = source

    def notify(self, notice: Notice) -> None:
        """Log `notice`."""
        event = cloud_event(notice, self._source)
        _log.info("%s", _line(notice), extra={"event": event})


def _line(notice: Notice) -> str:
    name = type(notice.fact).__name__
    head = f"{notice.position} {name} at {at(notice.fact.at)}"
    maintenance = notice.maintenance
    if maintenance is None:
        group = getattr(notice.fact, "group", None)
        return head if group is None else f"{head}: group {group}"
    sentence = "; ".join(
        line.what for line in tell(maintenance, [notice.fact], (), ()).lines
    )
    return " ".join(
        f"{head}: {maintenance.id}, {what(maintenance)}: {sentence}".split()
    )
