"""Finds a notifier by its kind: one of ours, or one that somebody installed.

Others offer theirs by an entry point of the group `forewarn.notifiers`: something that
is called with the `options` of a target and makes a notifier.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from forewarn.errors import CannotStart
from forewarn.notifiers.log import LogNotifier
from forewarn.notifiers.targets import Target
from forewarn.notifiers.webhook import Webhook
from forewarn.ports import Notifier

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_log = logging.getLogger(__name__)

#: Where others offer their notifiers.
GROUP = "forewarn.notifiers"

_Now = Callable[[], datetime]

_OURS: Mapping[str, Callable[[Target, str, _Now], Notifier]] = {
    "webhook": lambda target, source, now: Webhook(target, source=source, now=now),
    "log": lambda target, source, now: LogNotifier(source=source),
}


def names() -> Sequence[str]:
    """All kinds that there are, ours first."""
    return [*_OURS, *sorted({each.name for each in _offered()} - _OURS.keys())]


def make_notifier(target: Target, *, source: str, now: _Now) -> Notifier:
    """Make the notifier of `target`."""
    ours = _OURS.get(target.kind)
    return _others(target) if ours is None else ours(target, source, now)


def open_notifier(name: str, notifier: Notifier) -> None:
    """Open the `notifier` of the target `name`, if it wants to be."""
    open_it = getattr(notifier, "open", None)
    if not callable(open_it):
        return
    try:
        open_it()
    except CannotStart:
        raise
    except Exception as error:
        raise CannotStart(
            f"the notifier {name} cannot be opened: {_told(error)}"
        ) from error


def close_notifier(name: str, notifier: Notifier) -> None:
    """Close it, if it wants to be; also while it tells something."""
    close_it = getattr(notifier, "close", None)
    if not callable(close_it):
        return
    try:
        close_it()
    except Exception:
        _log.exception("the notifier %s cannot be closed", name)


def _others(target: Target) -> Notifier:
    found = [each for each in _offered() if each.name == target.kind]
    if not found:
        known = ", ".join(names())
        raise CannotStart(f"there is no notifier {target.kind}; there are {known}")
    offered = f"the notifier {target.kind} ({found[0].value})"
    try:
        made = found[0].load()(**target.options)
    except (Exception, SystemExit) as error:
        raise CannotStart(f"{offered} cannot be used: {_told(error)}") from error
    if not callable(getattr(made, "notify", None)):
        raise CannotStart(f"{offered} has no method notify")
    notifier: Notifier = made
    return notifier


def _offered() -> "Sequence[EntryPoint]":
    from importlib.metadata import entry_points  # takes as long as all the rest

    return [*entry_points(group=GROUP)]


def _told(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
