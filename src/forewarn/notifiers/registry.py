"""Notifier registry: the built-in kinds, installed plugins, and the log notifier."""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime

from forewarn.core.queries.phrases import describe, fact_text, format_time
from forewarn.core.queries.story import story_of
from forewarn.notifiers.targets import NOTIFICATIONS, NOTIFIERS, Target
from forewarn.notifiers.webhook import Webhook, cloud_event
from forewarn.ports import Notice, Notifier

_Now = Callable[[], datetime]

_notification_log = logging.getLogger(NOTIFICATIONS)

_OURS: Mapping[str, Callable[[Target, str, _Now], Notifier]] = {
    "webhook": lambda target, source, now: Webhook(target, source=source, now=now),
    "log": lambda target, source, now: LogNotifier(source=source),
}


def make_notifier(target: Target, *, source: str, now: _Now) -> Notifier:
    """Create a notifier for `target`."""
    ours = _OURS.get(target.kind)
    if ours is not None:
        return ours(target, source, now)
    notifier: Notifier = NOTIFIERS.make(target.kind, target.options)
    return notifier


# --- log notifier ------------------------------------------------------------


class LogNotifier:
    """Logs a sentence; a JSON log also contains the whole event."""

    def __init__(self, *, source: str) -> None:
        """Create a notifier that logs events with this `source`."""
        self._source = source

    def notify(self, notice: Notice) -> None:
        """Log `notice`."""
        event = cloud_event(notice, self._source)
        _notification_log.info("%s", _line(notice), extra={"event": event})


def _line(notice: Notice) -> str:
    name = type(notice.fact).__name__
    head = f"{notice.position} {name} at {format_time(notice.fact.at)}"
    maintenance = notice.maintenance
    if maintenance is None:
        return f"{head}: {fact_text(notice.fact)}"
    (line,) = story_of(maintenance, [notice.fact], (), ()).entries
    text = f"{head}: {maintenance.label}, {describe(maintenance)}: {line.what}"
    return " ".join(text.split())
