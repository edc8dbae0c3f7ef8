"""Conversations with the service, without I/O: requests, retries and pauses.

An exchange is a generator that yields a request or a pause and receives the response.
The threaded and asyncio clients share this logic.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import partial
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
from forewarn.client.service_clock import ServiceClock
from forewarn.client.transport.http1 import HttpResponse
from forewarn.errors import ForewarnError, InvalidInput, Misunderstood
from forewarn.protocol.types import Document, ScheduledEvent

#: The maximum time in seconds that the service may hold a long poll. A dead connection
#: is noticed after this time plus a timeout.
HOLD = 30.0
_SILENCE = requests.DAY  # the service disables events after this time without polls
_BLANKS = 2  # consecutive empty bodies before events count as gone

T = TypeVar("T")
Action = TypeVar("Action")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A wait before the next request."""

    seconds: float


Exchange: TypeAlias = Generator[ClientRequest | Pause, HttpResponse | None, T]
Watch: TypeAlias = Generator[ClientRequest | Pause | Change, HttpResponse | None, None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """The settings of a client."""

    endpoint: str  # as named in error messages
    timeout: float
    first_timeout: float
    api_version: str
    patience: float
    monotonic: Callable[[], float]
    chance: Callable[[], float]  # between 0 and 1

    def __post_init__(self) -> None:
        """Reject settings that would otherwise fail only on the first request."""
        requests.checked_version(self.api_version)
        if not all(
            0 < seconds <= requests.DAY
            for seconds in (self.timeout, self.first_timeout)
        ):
            raise InvalidInput(
                f"a timeout must be more than 0 and at most {requests.DAY:.0f} seconds"
            )
        if not self.patience >= 0:
            raise InvalidInput(
                "patience must be a number of seconds; 0 turns retries off"
            )


class Conversation:
    """A client's requests and its estimate of the service's clock."""

    def __init__(self, settings: ClientSettings) -> None:
        """Create a conversation without requests."""
        self._settings = settings
        self.clock = ServiceClock(settings.monotonic)
        self._last_response_at: float | None = None  # for events; None if none yet

    def read(
        self, tag: str | None = None, wait: float | None = None
    ) -> Exchange[Reading]:
        """Request the document once, without retries."""
        settings = self._settings
        request = requests.for_document(
            settings.api_version, tag=tag, wait=wait, timeout=self._timeout()
        )
        reading = reading_of((yield from self._send(request)), settings.endpoint)
        self._last_response_at = settings.monotonic()
        if reading.document is not None:
            return reading
        if tag is None:
            raise Misunderstood(
                f"{settings.endpoint} returned 304 to a request without If-None-Match"
            )
        return replace(reading, tag=reading.tag or tag)

    def document(self) -> Exchange[Document]:
        """Request the document, with retries."""
        reading = yield from self._with_retries(self.read)
        assert reading.document is not None  # no tag was sent
        return reading.document

    def approve(self, events: Sequence[ScheduledEvent | str]) -> Exchange[None]:
        """Approve `events`; a rejected approval is not retried."""
        settings = self._settings

        def attempt_once() -> Exchange[None]:
            request = requests.for_approval(
                settings.api_version, events, timeout=self._timeout()
            )
            check_status((yield from self._send(request)), settings.endpoint)
            self._last_response_at = settings.monotonic()

        yield from self._with_retries(attempt_once)

    def instance(self, version: str) -> Exchange[Instance]:
        """Request the metadata of this VM, with retries."""
        request = requests.for_instance(version, timeout=self._settings.timeout)

        def attempt_once() -> Exchange[Instance]:
            response = yield from self._send(request)
            return instance_of(response, self._settings.endpoint)

        return (yield from self._with_retries(attempt_once))

    def watch(self, poll: float, since: Document | None) -> Watch:
        """Yield every change, indefinitely."""
        if not 0 < poll <= requests.DAY:
            raise InvalidInput(
                f"poll must be more than 0 and at most {requests.DAY:.0f} seconds"
            )
        latest = since
        tag: str | None = None
        blanks = 0
        while True:
            began, sent_tag = self._settings.monotonic(), tag
            reading = yield from self._with_retries(partial(self.read, tag, HOLD))
            blanks = blanks + 1 if reading.is_blank else 0
            change = _change_since(latest, reading, blanks)
            if change is not None:
                yield change
                latest = change
            tag = reading.tag
            may_hold = tag is not None and (sent_tag is None or reading.is_held)
            if change is None or not may_hold:
                # A long poll has already used up this time.
                passed = self._settings.monotonic() - began
                yield Pause(seconds=max(0.0, poll - passed))

    def _timeout(self) -> float:
        """Return the timeout in seconds for an events request."""
        settings, last = self._settings, self._last_response_at
        is_enabled = last is not None and settings.monotonic() - last < _SILENCE
        return settings.timeout if is_enabled else settings.first_timeout

    def _send(self, request: ClientRequest) -> Exchange[HttpResponse]:
        response = yield request
        assert response is not None
        if (latest := clock_estimate_of(response)) is not None:
            self.clock.update(latest)
        return response

    def _with_retries(self, exchange: Callable[[], Exchange[T]]) -> Exchange[T]:
        """Repeat `exchange` until it succeeds or the retry rules end the attempts."""
        settings = self._settings
        began, attempt = settings.monotonic(), 0
        while True:
            try:
                return (yield from exchange())
            except ForewarnError as error:
                pause = delay(error, attempt, settings.chance())
                passed = settings.monotonic() - began
                limit = patience_for(error, settings.patience)
                if pause is None or passed + pause > limit:
                    raise
            attempt += 1
            yield Pause(seconds=pause)


def advance(
    exchange: Generator[Action, HttpResponse | None, object],
    reply: HttpResponse | ForewarnError | None,
) -> Action:
    """Send `reply` to `exchange` and return the next action that `exchange` yields."""
    if isinstance(reply, ForewarnError):
        return exchange.throw(reply)
    return exchange.send(reply)


def _change_since(
    previous: Document | None, reading: Reading, blanks: int
) -> Change | None:
    """Return the change since `previous`, or None if there is none."""
    is_doubtful = previous is not None and previous.events and 0 < blanks < _BLANKS
    if reading.document is None or is_doubtful:
        return None
    change = compare(previous, reading.document)
    return change if previous is None or change.is_news else None
