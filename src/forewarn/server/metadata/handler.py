"""Handling of /metadata/... requests; pure.

A request, a caller and the current stamp go in; response bytes, or the name of what
must be done first, come out. Errors are detected in this order: errors in the head
(`routes`), the caller's identity, the rate limit, the body.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

from forewarn.core.lifecycle.facts import Sight
from forewarn.engine.observations import PendingObservations
from forewarn.errors import Malformed
from forewarn.protocol.codec import decode_start_requests
from forewarn.protocol.versions import ApiVersion, DateForm
from forewarn.server.metadata import instance
from forewarn.server.metadata.directory import (
    CachedDocument,
    Directory,
    EnabledState,
    VmEntry,
)
from forewarn.server.metadata.limits import RateLimit
from forewarn.server.metadata.routes import (
    OLDEST,
    ApproveEvents,
    Fixed,
    ReadDocument,
    ReadInstance,
    Route,
    counted_as,
    route,
)
from forewarn.server.metadata.stats import UNREAD, ResponseCounts
from forewarn.server.metadata.transport.requests import Request
from forewarn.server.metadata.transport.responses import (
    CLOSE,
    Response,
    ResponseHead,
    error,
)

_NOTHING: Mapping[str, VmEntry] = {}
_TOO_MANY = error(429, "Too many requests; ask again in a second", Retry_After="1")

# --- work that precedes the response -----------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class EnableFirst:
    """The group is disabled: enable it first, then handle the request."""

    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproveFirst:
    """Approve the events first; the response is empty."""

    vm: str
    events: tuple[str, ...]
    delay: EnabledState | None = None  # delays the response; None if nothing does


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldResponse:
    """Long poll: the client waits until the document on `shelf` has another `tag`."""

    shelf: CachedDocument
    tag: str
    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayResponse:
    """The group of `hearing` is being enabled: delay the response until it is."""

    hearing: EnabledState
    response: Response | None = None  # None for the document at that time


Deferred: TypeAlias = EnableFirst | ApproveFirst | HoldResponse | DelayResponse


class MetadataHandler:
    """Handles the requests of all callers."""

    def __init__(
        self,
        directory: Directory,
        notes: PendingObservations,
        stamp: ResponseHead,
        *,
        date_form: DateForm | None = None,
        rate: RateLimit | None = None,
        first_call_delay: float = 0,
        takes_latest: bool = False,
    ) -> None:
        """Serve from `directory`; `date_form` is the one of 2017-03-01.

        The first response to a disabled group is delayed by `first_call_delay` seconds.
        """
        self.directory = directory
        self.stamp = stamp
        self.first_call_delay = first_call_delay
        self._takes_latest = takes_latest
        self.counts = ResponseCounts()
        self._notes = notes
        self._rate = rate
        self._date_forms = {OLDEST: date_form}

    def answer(self, request: Request, body: bytes, address: str) -> bytes | Deferred:
        """Return the response for `address`, or what must be done first."""
        target = request.route
        if type(target) is ReadDocument and self._rate is None:
            seat = self.directory.seat(address, target.vm)
            if seat is not None and seat.shelf.hearing.stamp is self.stamp:
                return self._document(target, seat)  # the hot path
        return self._answer(request, body, address)

    def answer_again(
        self, request: Request, body: bytes, address: str, *, may_wait: bool
    ) -> bytes | Deferred:
        """Handle a request again, after what had to be done first."""
        target = request.route
        if type(target) is ReadDocument:
            seat = self.directory.seat(address, target.vm)
            if seat is not None and seat.shelf.hearing.stamp is self.stamp:
                # Hot when many held requests wake at once.
                return self._document(target, seat, may_wait=may_wait)
        return self._answer(request, body, address, is_new=False, may_wait=may_wait)

    def answer_from(
        self,
        seats: Mapping[str, VmEntry],
        request: Request,
        body: bytes,
        address: str,
        *,
        may_wait: bool,
    ) -> bytes | Deferred:
        """Handle a request, showing the VMs in `seats` the documents held there."""
        return self._answer(
            request, body, address, is_new=False, may_wait=may_wait, seats=seats
        )

    def asker(self, request: Request, address: str) -> VmEntry | None:
        """Return the VM that reads or approves events; None if it is unknown."""
        target = self._route(request)
        if isinstance(target, ReadDocument | ApproveEvents):
            return self.directory.seat(address, target.vm)
        return None

    def _answer(
        self,
        request: Request,
        body: bytes,
        address: str,
        *,
        is_new: bool = True,
        may_wait: bool = True,
        seats: Mapping[str, VmEntry] = _NOTHING,
    ) -> bytes | Deferred:
        target = self._route(request)
        if isinstance(target, Fixed):
            return self.write(request, target.response)
        seat = self.directory.seat(address, target.vm)
        if seat is None:
            return self.write(request, _unknown(address, target.vm))
        if is_new and self._rate is not None and not self._rate.admits(seat.vm.name):
            return self.write(request, _TOO_MANY)
        hearing = seat.shelf.hearing
        if isinstance(target, ReadInstance):
            return self.write(
                request, instance.read_instance(seat.vm, hearing.group, target)
            )
        if hearing.stamp is not self.stamp:
            if hearing.is_silent(self.stamp.now, self.directory.outages):
                return EnableFirst(group=hearing.group.name)
            self._note_request(hearing)
        seat.asked = self.stamp.now
        delay = hearing if may_wait and self.is_delayed(hearing) else None
        if isinstance(target, ReadDocument):
            shown = seats.get(seat.vm.name, seat)
            return self._read(target, shown, delay, may_wait=may_wait)
        return self._approve(request, seat, body, delay)

    def _route(self, request: Request) -> Route:
        if request.route is None:
            request.route = route(
                request,
                self.counts.cells,
                is_open=self.directory.is_open,
                takes_latest=self._takes_latest,
            )
        return cast(Route, request.route)

    def is_delayed(self, hearing: EnabledState) -> bool:
        """Whether responses are delayed because the group was just enabled."""
        return self.first_call_delay > 0 and hearing.is_beginning

    def settle(self, hearing: EnabledState, *, is_asked: bool) -> None:
        """End the delay of a group; `is_asked` means that a request has waited."""
        hearing.is_beginning = False
        if is_asked:  # until now, even if the clock has jumped by a day
            hearing.asked = self.stamp.now

    def write(self, request: Request, response: Response) -> bytes:
        """Render `response` to `request`, and count it."""
        if request.counted is None:
            request.counted = counted_as(
                request,
                is_open=self.directory.is_open,
                takes_latest=self._takes_latest,
            )
        self.counts.add(request.counted, response.status)
        return self.stamp.render(response, request.connection, is_head=request.is_head)

    def refuse(self, response: Response, *, is_head: bool) -> bytes:
        """Render the last response of a connection, and count it."""
        self.counts.add(UNREAD, response.status)
        return self.stamp.render(response, CLOSE, is_head=is_head)

    def _note_request(self, hearing: EnabledState) -> None:
        if not self.is_delayed(hearing):  # the hot path would skip the delay
            hearing.stamp = self.stamp
        hearing.asked = self.stamp.now
        self._notes.add_poll(hearing.group.name, self.stamp.now)

    def _read(
        self,
        asked: ReadDocument,
        seat: VmEntry,
        delay: EnabledState | None,
        *,
        may_wait: bool,
    ) -> bytes | Deferred:
        if delay is not None:
            return DelayResponse(hearing=delay)
        return self._document(asked, seat, may_wait=may_wait)

    def _document(
        self, asked: ReadDocument, seat: VmEntry, *, may_wait: bool = True
    ) -> bytes | Deferred:
        shelf, stamp = seat.shelf, self.stamp
        seat.asked = stamp.now
        if seat.seen_tag is not shelf.tag or seat.seen_version is not asked.version:
            self._note_sights(seat, asked.version)
        if asked.tags and (asked.any_tag or shelf.tag in asked.tags):
            if asked.wait and may_wait:
                return HoldResponse(shelf=shelf, tag=shelf.tag, seconds=asked.wait)
            asked.cell.not_modified += 1
            return stamp.not_modified + asked.lines + shelf.not_modified
        tail = shelf.tails.get(asked.version.name)
        if tail is None:
            form = self._date_forms.get(asked.version.name)
            tail = shelf.tail(asked.version, form)
        asked.cell.given += 1
        return stamp.ok + asked.lines + tail

    def _note_sights(self, seat: VmEntry, version: ApiVersion) -> None:
        shown = [e for e in seat.shelf.document.events if e.type in version.types]
        if seat.seen_tag is not seat.shelf.tag:
            seat.seen &= {event.id for event in seat.shelf.document.events}
        seat.seen_tag, seat.seen_version = seat.shelf.tag, version
        for event in shown:
            if event.id not in seat.seen:
                seat.seen.add(event.id)
                self._notes.add_sight(
                    Sight(event=event.id, vm=seat.vm.name, at=self.stamp.now)
                )

    def _approve(
        self, request: Request, seat: VmEntry, body: bytes, delay: EnabledState | None
    ) -> bytes | Deferred:
        try:
            events = decode_start_requests(body)
        except Malformed as problem:
            response = error(400, f"Bad request. {problem}")
            if delay is not None:
                return DelayResponse(hearing=delay, response=response)
            return self.write(request, response)
        return ApproveFirst(vm=seat.vm.name, events=events, delay=delay)


def _unknown(address: str, vm: str | None) -> Response:
    if vm is not None:
        return error(404, f"Not found. There is no VM {vm}")
    return error(404, f"Not found. No VM of this fleet has the address {address}")
