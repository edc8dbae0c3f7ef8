"""Reads the document again and again, in a thread of its own.

What it sees is handed on; what to make of it is decided elsewhere. It first finds out
what this VM is called, because a document says nothing without that.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from forewarn.client.instance import Instance
from forewarn.client.reading import Reading
from forewarn.client.retries import delay
from forewarn.errors import ForewarnError, Misunderstood, Refused

_LONGEST_WAIT = 60.0  # seconds for which a service holds a question at most
_BLIND_PAUSE = 2.0  # seconds between two questions while nobody answers: not longer,
# because a Preempt leaves no more than thirty
_REFUSED_PAUSE = 5.0  # seconds, where the question itself was refused
_NO_TIME = 0.1  # seconds: who says that nothing is new sooner does not hold us
#: Seconds until a name that could not be learned is asked for again: longer each time,
#: because nothing is read meanwhile.
_ASK_AGAIN, _ASK_SELDOM = 60.0, 3600.0

_log = logging.getLogger("forewarn.agent")


class Source(Protocol):
    """What is asked: the client, or something that stands in for it."""

    def read(self, *, tag: str | None = None, wait: float | None = None) -> Reading:
        """Ask once for the document."""
        ...

    def instance(self) -> Instance:
        """Ask what this VM is."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Saw:
    """A document was read, or is still the same."""

    reading: Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """Nothing could be read."""

    error: ForewarnError


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What this VM is called."""

    name: str | None  # None: the service does not tell


Look = Saw | Lost | Named


class Eyes:
    """Asks until it is told to stop."""

    def __init__(
        self,
        source: Source,
        hand_on: Callable[[Look], None],
        *,
        poll: float,
        hold: float | None,
        needs_name: bool,
    ) -> None:
        """Ask `source` every `poll` seconds, or be held `hold` where that is offered.

        If it `needs_name`, nothing is read before that is known.
        """
        self._source = source
        self._hand_on = hand_on
        self._poll = poll
        self._hold = None if hold is None else min(hold, _LONGEST_WAIT)
        self._needs_name = needs_name
        self._name_pause = _ASK_AGAIN
        self._name_due = 0.0  # on the monotonic clock; infinite once it is known
        self._tag: str | None = None
        self._is_moved_by_hand = False
        self._failures = 0
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Ask no more."""
        self._stopped.set()

    def run(self) -> None:
        """Ask, hand on, pause; again and again."""
        while not self._stopped.is_set():
            try:
                pause = self.look()
            except Exception:  # whatever it is, an agent that is blind is worse
                _log.exception("nothing could be made of what was read; again")
                pause = _REFUSED_PAUSE
            self._stopped.wait(pause)

    def look(self) -> float:
        """Ask once; answer how many seconds to pause."""
        try:
            if time.monotonic() >= self._name_due:
                self._learn_name()
            return self._read()
        except ForewarnError as error:
            self._failures += 1
            self._hand_on(Lost(error=error))
            return max(self._poll, _pause(error, self._failures - 1))

    def _learn_name(self) -> None:
        try:
            name: str | None = self._source.instance().name or None
        except (Refused, Misunderstood):  # it answers, but does not know that question
            name = None
        except ForewarnError:
            if self._needs_name:
                raise
            name = None
        pause = self._name_pause if name is None else float("inf")
        self._name_due = time.monotonic() + pause
        self._name_pause = min(self._name_pause * 2, _ASK_SELDOM)
        self._needs_name = False
        self._hand_on(Named(name=name))

    def _read(self) -> float:
        """Ask for the document; whoever offers to wait is asked again at once."""
        wait = None if self._tag is None else self._hold
        if wait is not None and self._is_moved_by_hand:
            wait = 1.0  # only an answer tells how far the clock was moved
        began = time.monotonic()
        reading = self._source.read(tag=self._tag, wait=wait)
        was_held = time.monotonic() - began > _NO_TIME
        may_hold = wait is None and self._hold is not None and reading.tag is not None
        self._failures = 0
        self._tag = reading.tag
        reckoning = reading.reckoning
        self._is_moved_by_hand = reckoning is not None and not reckoning.rate
        self._hand_on(Saw(reading=reading))
        is_news = reading.document is not None
        is_soon = may_hold or (reading.is_held and (was_held or is_news))
        return 0.0 if is_soon else self._poll


def _pause(error: ForewarnError, failures: int) -> float:
    pause = delay(error, failures)
    if pause is None:
        return _REFUSED_PAUSE
    if isinstance(error, Refused) and error.retry_after is not None:
        return pause
    return min(pause, _BLIND_PAUSE)
