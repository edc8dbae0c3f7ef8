"""Conversations with the service, without I/O: requests, retries, pauses, long polls.

A talk is a generator: it yields a request or a pause and receives the response. The
threaded and the asyncio client share this logic.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Lock
from typing import TypeAlias, TypeVar

from forewarn.client import requests
from forewarn.client.changes import Change, compare
from forewarn.client.requests import ClientRequest
from forewarn.client.responses import (
    Instance,
    Reading,
    check_status,
    clock_estimate_of,
    instance_of,
    reading_of,
)
from forewarn.client.retries import delay, patience_for
from forewarn.client.service_clock import ClockEstimate, better_estimate
from forewarn.client.transport.http1 import HttpResponse
from forewarn.errors import ForewarnError, InvalidInput, Misunderstood
from forewarn.protocol.types import Document, ScheduledEvent

#: Seconds for which the service may hold a long poll. A dead connection is noticed
#: after that plus a timeout.
HOLD = 30.0
_SILENCE = requests.DAY  # without a poll; then the service disables events
_BLANKS = 2  # consecutive empty bodies before events count as gone


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Wait before the next request."""

    seconds: float


T = TypeVar("T")
Act = TypeVar("Act")
Exchange: TypeAlias = Generator[ClientRequest | Pause, HttpResponse | None, T]
Watch: TypeAlias = Generator[ClientRequest | Pause | Change, HttpResponse | None, None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """Settings of a client."""

    endpoint: str  # as error messages name it
    timeout: float
    first_timeout: float
    api_version: str
    patience: float
    monotonic: Callable[[], float]
    chance: Callable[[], float]  # between 0 and 1

    def __post_init__(self) -> None:
        """Reject settings that would only fail with the first request."""
        requests.checked_version(self.api_version)
        if not all(
            0 < seconds <= requests.DAY
            for seconds in (self.timeout, self.first_timeout)
        ):
            raise InvalidInput(
                "a timeout is a number of seconds above 0, a day at most"
            )
        if not self.patience >= 0:
            raise InvalidInput("patience is a number of seconds, or 0 for none")


class Conversation:
    """All requests of a client, and its estimate of the service's clock."""

    def __init__(self, manner: ClientSettings) -> None:
        """Use the settings in `manner`."""
        self._manner = manner
        self._lock = Lock()
        self._reckoning: ClockEstimate | None = None
        self._heard: float | None = None  # last events response; None if none yet

    # --- requests ------------------------------------------------------------

    def read(
        self, tag: str | None = None, wait: float | None = None
    ) -> Exchange[Reading]:
        """Request the document once, without retries."""
        manner = self._manner
        question = requests.for_document(
            manner.api_version, tag=tag, wait=wait, timeout=self._timeout()
        )
        reading = reading_of((yield from self._ask(question)), manner.endpoint)
        self._heard = manner.monotonic()
        if reading.document is not None:
            return reading
        if tag is None:
            raise Misunderstood(
                f"{manner.endpoint} says that nothing has changed, and was not told"
                " since when"
            )
        return replace(reading, tag=reading.tag or tag)

    def document(self) -> Exchange[Document]:
        """Request the document, with retries."""
        reading = yield from self._patiently(self.read)
        assert reading.document is not None  # no tag was sent
        return reading.document

    def approve(self, events: Sequence[ScheduledEvent | str]) -> Exchange[None]:
        """Approve `events`; a rejected approval is not retried."""
        manner = self._manner

        def once() -> Exchange[None]:
            question = requests.for_approval(
                manner.api_version, events, timeout=self._timeout()
            )
            check_status((yield from self._ask(question)), manner.endpoint)
            self._heard = manner.monotonic()

        yield from self._patiently(once)

    def instance(self, version: str) -> Exchange[Instance]:
        """Request the metadata of this VM, with retries."""
        question = requests.for_instance(version, timeout=self._manner.timeout)

        def once() -> Exchange[Instance]:
            answer = yield from self._ask(question)
            return instance_of(answer, self._manner.endpoint)

        return (yield from self._patiently(once))

    def watch(self, poll: float, since: Document | None) -> Watch:
        """Yield every change, without end."""
        if not 0 < poll <= requests.DAY:
            raise InvalidInput("poll is a number of seconds above 0, a day at most")
        latest = since
        tag: str | None = None
        blanks = 0
        while True:
            asked_at, asked_with = self._manner.monotonic(), tag
            reading = yield from self._patiently(partial(self.read, tag, HOLD))
            blanks = blanks + 1 if reading.is_blank else 0
            change = _news(latest, reading, blanks)
            if change is not None:
                yield change
                latest = change
            tag = reading.tag
            may_hold = tag is not None and (asked_with is None or reading.is_held)
            if change is None or not may_hold:
                # A long poll has already used up that time.
                passed = self._manner.monotonic() - asked_at
                yield Pause(seconds=max(0.0, poll - passed))

    def _timeout(self) -> float:
        """Return the timeout in seconds of a request for events."""
        manner, heard = self._manner, self._heard
        is_awake = heard is not None and manner.monotonic() - heard < _SILENCE
        return manner.timeout if is_awake else manner.first_timeout

    def _ask(self, question: ClientRequest) -> Exchange[HttpResponse]:
        answer = yield question
        assert answer is not None
        if (heard := clock_estimate_of(answer)) is not None:
            with self._lock:
                self._reckoning = better_estimate(self._reckoning, heard)
        return answer

    def _patiently(self, talk: Callable[[], Exchange[T]]) -> Exchange[T]:
        """Repeat `talk` until it succeeds, as the retry rules allow."""
        manner = self._manner
        began, attempt = manner.monotonic(), 0
        while True:
            try:
                return (yield from talk())
            except ForewarnError as error:
                pause = delay(error, attempt, manner.chance())
                passed = manner.monotonic() - began
                most = patience_for(error, manner.patience)
                if pause is None or passed + pause > most:
                    raise
            attempt += 1
            yield Pause(seconds=pause)

    # --- time ----------------------------------------------------------------

    def now(self) -> datetime:
        """Return the service's time, or the local time if it never sent one."""
        reckoning = self._reckoning
        if reckoning is None:
            return _own_time()
        return reckoning.now(self._manner.monotonic())

    def time_left(self, event: ScheduledEvent) -> timedelta | None:
        """Return the time until `event` may start; None if it has no start time."""
        return None if event.not_before is None else event.not_before - self.now()


def advance(
    talk: Generator[Act, HttpResponse | None, object],
    reply: HttpResponse | ForewarnError | None,
) -> Act:
    """Send `reply` to `talk` and return what it wants next."""
    if isinstance(reply, ForewarnError):
        return talk.throw(reply)
    return talk.send(reply)


def _news(known: Document | None, reading: Reading, blanks: int) -> Change | None:
    """Return what differs from `known`; None if nothing does."""
    is_doubtful = known is not None and known.events and 0 < blanks < _BLANKS
    if reading.document is None or is_doubtful:
        return None
    change = compare(known, reading.document)
    return change if known is None or change.is_news else None


def _own_time() -> datetime:
    return datetime.now(UTC)  # noqa: TID251  # no other clock without a Date header
