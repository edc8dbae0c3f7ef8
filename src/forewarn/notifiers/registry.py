"""Notifier registry: the built-in kinds, installed plugins, and the log notifier."""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from forewarn.core.queries.phrases import describe, format_time
from forewarn.core.queries.story import story_of
from forewarn.errors import CannotStart
from forewarn.notifiers.targets import NOTIFICATIONS, Target
from forewarn.notifiers.webhook import Webhook, cloud_event
from forewarn.ports import Notice, Notifier

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

#: The entry point group of notifier plugins.
GROUP = "forewarn.notifiers"

_Now = Callable[[], datetime]

_log = logging.getLogger(__name__)
_notification_log = logging.getLogger(NOTIFICATIONS)

_OURS: Mapping[str, Callable[[Target, str, _Now], Notifier]] = {
    "webhook": lambda target, source, now: Webhook(target, source=source, now=now),
    "log": lambda target, source, now: LogNotifier(source=source),
}


def notifier_names() -> Sequence[str]:
    """Return the names of all kinds of notifiers, built-in ones first."""
    return [
        *_OURS,
        *sorted({entry_point.name for entry_point in _entry_points()} - _OURS.keys()),
    ]


def make_notifier(target: Target, *, source: str, now: _Now) -> Notifier:
    """Create the notifier of `target`."""
    ours = _OURS.get(target.kind)
    return _plugin(target) if ours is None else ours(target, source, now)


def open_notifier(name: str, notifier: Notifier) -> None:
    """Call the `open` method of the target's `notifier`, if it has one."""
    open_it = getattr(notifier, "open", None)
    if not callable(open_it):
        return
    try:
        open_it()
    except CannotStart:
        raise
    except Exception as error:
        raise CannotStart(
            f"the notifier {name} cannot be opened: {_error_text(error)}"
        ) from error


def close_notifier(name: str, notifier: Notifier) -> None:
    """Call the notifier's `close` if it has one, even during a delivery."""
    close_it = getattr(notifier, "close", None)
    if not callable(close_it):
        return
    try:
        close_it()
    except Exception:
        _log.exception("the notifier %s cannot be closed", name)


def _plugin(target: Target) -> Notifier:
    matches = [
        entry_point
        for entry_point in _entry_points()
        if entry_point.name == target.kind
    ]
    if not matches:
        available = ", ".join(notifier_names())
        raise CannotStart(f"there is no notifier {target.kind}; there are {available}")
    plugin = f"the notifier {target.kind} ({matches[0].value})"
    try:
        instance = matches[0].load()(**target.options)
    except (Exception, SystemExit) as error:
        raise CannotStart(f"{plugin} cannot be used: {_error_text(error)}") from error
    if not callable(getattr(instance, "notify", None)):
        raise CannotStart(f"{plugin} has no method notify")
    notifier: Notifier = instance
    return notifier


def _entry_points() -> "Sequence[EntryPoint]":
    from importlib.metadata import entry_points  # as slow as all other imports together

    return [*entry_points(group=GROUP)]


def _error_text(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


# --- log notifier ------------------------------------------------------------


class LogNotifier:
    """Logs a sentence; a JSON log also has the whole event."""

    def __init__(self, *, source: str) -> None:
        """Log events of `source`."""
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
        group = getattr(notice.fact, "group", None)
        return head if group is None else f"{head}: group {group}"
    sentence = "; ".join(
        line.what for line in story_of(maintenance, [notice.fact], (), ()).lines
    )
    return " ".join(
        f"{head}: {maintenance.id}, {describe(maintenance)}: {sentence}".split()
    )
