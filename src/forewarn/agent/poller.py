"""Poller: a thread that repeatedly reads the document and passes it on.

The poller makes no decisions. It first learns this VM's name, because a document is
useless without it.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from forewarn.agent.config.plan import Plan
from forewarn.client.responses import Instance, Reading
from forewarn.client.retries import delay
from forewarn.errors import ForewarnError, Misunderstood, Refused

_LONGEST_POLL = 60.0  # seconds; the longest long poll
_BLIND_PAUSE = 2.0  # seconds after a request without a response; Preempt gives only 30
_REFUSED_PAUSE = 5.0  # seconds after a rejected request
_IMMEDIATE = 0.1  # seconds; a 304 that arrives sooner was not a long poll
_SHORTEST_PAUSE = 0.1  # seconds between two requests, regardless of the service
#: Seconds until a failed request for the name is retried. They double each time,
#: because no document is read in the meantime.
_FIRST_NAME_PAUSE, _LONGEST_NAME_PAUSE = 60.0, 3600.0

_log = logging.getLogger("forewarn.agent")


class DocumentSource(Protocol):
    """A source of documents: the client or a substitute."""

    def read(self, *, tag: str | None = None, wait: float | None = None) -> Reading:
        """Request the document once."""
        ...

    def instance(self) -> Instance:
        """Request the metadata of this VM."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFailed:
    """A read failed."""

    error: ForewarnError


@dataclass(frozen=True, slots=True, kw_only=True)
class NameLearned:
    """The name of this VM."""

    name: str | None  # None if the service does not report it


PollResult = Reading | ReadFailed | NameLearned


class DocumentPoller:
    """Polls until stopped."""

    def __init__(
        self,
        plan: Plan,
        source: DocumentSource,
        deliver: Callable[[PollResult], None],
    ) -> None:
        """Create a poller of `source` that passes each result to `deliver`.

        `deliver` may wait until earlier results are processed. If the plan has no name,
        no document is read until the name is known.
        """
        self._source = source
        self._deliver = deliver
        self._interval = max(plan.poll, _SHORTEST_PAUSE)
        self._long_poll = _long_poll(plan)
        self._needs_name = plan.name is None
        self._name_pause = _FIRST_NAME_PAUSE
        self._name_due = 0.0  # on the monotonic clock; infinite once the name is known
        self._tag: str | None = None
        self._has_manual_clock = False
        self._failures = 0
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Stop polling."""
        self._stopped.set()

    def run(self) -> None:
        """Poll until stopped."""
        while not self._stopped.is_set():
            try:
                pause = self.poll_once()
            except Exception:  # an agent that stops polling would be worse
                _log.exception("could not process the document; retrying")
                pause = _REFUSED_PAUSE
            self._stopped.wait(pause)

    def poll_once(self) -> float:
        """Poll once; return how many seconds to pause."""
        try:
            if time.monotonic() >= self._name_due:
                self._learn_name()
            return self._read()
        except ForewarnError as error:
            self._failures += 1
            self._deliver(ReadFailed(error=error))
            return max(self._interval, _pause(error, self._failures - 1))

    def _learn_name(self) -> None:
        try:
            name: str | None = self._source.instance().name or None
        except (Refused, Misunderstood):  # it responds but does not know the name
            name = None
        except ForewarnError:
            if self._needs_name:
                raise
            name = None
        pause = self._name_pause if name is None else float("inf")
        self._name_due = time.monotonic() + pause
        self._name_pause = min(self._name_pause * 2, _LONGEST_NAME_PAUSE)
        self._needs_name = False
        self._deliver(NameLearned(name=name))

    def _read(self) -> float:
        """Request the document; return the pause, which is short between long polls."""
        wait = None if self._tag is None else self._long_poll
        if wait is not None and self._has_manual_clock:
            wait = 1.0  # only responses show how far a manual clock has moved
        began = time.monotonic()
        reading = self._source.read(tag=self._tag, wait=wait)
        was_held = time.monotonic() - began > _IMMEDIATE
        may_hold = (
            wait is None and self._long_poll is not None and reading.tag is not None
        )
        self._failures = 0
        self._tag = reading.tag
        estimate = reading.reckoning
        self._has_manual_clock = estimate is not None and not estimate.rate
        self._deliver(reading)
        has_document = reading.document is not None
        is_soon = may_hold or (reading.is_held and (was_held or has_document))
        return _SHORTEST_PAUSE if is_soon else self._interval


def _long_poll(plan: Plan) -> float | None:
    """Return the seconds of a long poll, too few to raise an alarm; None if off."""
    seconds = min(plan.blind_after / 2, _LONGEST_POLL)
    return seconds if plan.wait and seconds >= 1 else None


def _pause(error: ForewarnError, failures: int) -> float:
    pause = delay(error, failures)
    if pause is None:
        return _REFUSED_PAUSE
    if isinstance(error, Refused) and error.retry_after is not None:
        return pause
    return min(pause, _BLIND_PAUSE)
