"""Handling of /metadata/... requests, without I/O.

The input is a request, an address and the current `ResponseHead`. The output is
response bytes or work that must be done first. Errors are detected in this order:
errors in the head (`routes`), the caller's identity, the rate limit, and the body.
"""

from collections.abc import Set
from dataclasses import dataclass
from typing import cast

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
from forewarn.server.metadata.instance import ReadInstance
from forewarn.server.metadata.limits import MetadataLimit, RateLimit, Refusals
from forewarn.server.metadata.routes import (
    OLDEST,
    ApproveEvents,
    Fixed,
    ReadDocument,
    Route,
    labels_of,
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

_TOO_MANY = error(429, "Too many requests; try again in a second", Retry_After="1")

#: The maximum number of events that one request can approve.
MAX_APPROVED = 100

# --- work that precedes the response -----------------------------------------


class Deferred:
    """Work to do before a response."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EnableFirst(Deferred):
    """Enable the disabled group and then handle the request."""

    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproveFirst(Deferred):
    """Approve the events and then send an empty response."""

    group: str
    vm: str
    events: tuple[str, ...]
    are_shown: bool = False  # whether all of them are in the VM's document
    delay: EnabledState | None = None  # until when to delay the response


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldResponse(Deferred):
    """Hold the response (long poll) while the document in `cached` has this `tag`."""

    cached: CachedDocument
    tag: str
    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayResponse(Deferred):
    """Delay the response until the group of `group_state` is enabled."""

    group_state: EnabledState
    response: Response | None = None  # None for the document after the delay


class MetadataHandler:
    """Handles requests from all callers."""

    def __init__(
        self,
        directory: Directory,
        observations: PendingObservations,
        head: ResponseHead,
        *,
        date_form: DateForm | None = None,
        rate: RateLimit | None = None,
        first_call_delay: float = 0,
        takes_latest: bool = False,
        hosts: Set[str] = frozenset(),
    ) -> None:
        """Create a handler that serves from `directory`.

        `date_form` applies to version 2017-03-01. The first response to a disabled
        group is delayed by `first_call_delay` seconds. `hosts` contains the
        names of this service, as in `route`.
        """
        self.directory = directory
        self.head = head
        self.counts = ResponseCounts()
        self.refusals = Refusals()
        self.first_call_delay = first_call_delay
        self._takes_latest = takes_latest
        self._hosts = hosts
        self._observations = observations
        self._rate = rate
        self._date_forms = {OLDEST: date_form}

    def handle(self, request: Request, body: bytes, address: str) -> bytes | Deferred:
        """Return the response for `address`, or the work that must be done first."""
        target = request.route
        if type(target) is ReadDocument and self._rate is None:
            entry = self.directory.find(address, target.vm)
            if entry is not None and entry.cached.group_state.head is self.head:
                return self._document(target, entry)  # the hot path
        return self._handle(request, body, address)

    def handle_again(
        self, request: Request, body: bytes, address: str, *, may_wait: bool
    ) -> bytes | Deferred:
        """Handle a request again after the deferred work is done."""
        target = request.route
        if type(target) is ReadDocument:
            entry = self.directory.find(address, target.vm)
            if entry is not None and entry.cached.group_state.head is self.head:
                # A hot path when many held requests wake at once.
                return self._document(target, entry, may_wait=may_wait)
        return self._handle(request, body, address, is_new=False, may_wait=may_wait)

    def sender(self, request: Request, address: str) -> VmEntry | None:
        """Return the VM that reads or approves events, or None if it is unknown."""
        target = self._route(request)
        if isinstance(target, ReadDocument | ApproveEvents):
            return self.directory.find(address, target.vm)
        return None

    def is_delayed(self, group_state: EnabledState) -> bool:
        """Return whether responses are delayed because the group was just enabled."""
        return self.first_call_delay > 0 and group_state.is_newly_enabled

    def end_delay(self, group_state: EnabledState, *, has_waiters: bool) -> None:
        """End a group's delay; `has_waiters` is whether requests are waiting."""
        group_state.is_newly_enabled = False
        if has_waiters:  # they poll until now, even if the clock has jumped by a day
            group_state.last_request = self.head.now

    def count_refusal(self, limit: MetadataLimit, vm: str | None) -> None:
        """Count a refusal by `limit`; `vm` is None if no single VM is concerned."""
        self.refusals.add(limit, vm, self.head.now)

    def render(self, request: Request, response: Response) -> bytes:
        """Render and count the `response` to `request`."""
        if request.labels is None:
            request.labels = labels_of(
                request,
                is_open=self.directory.is_open,
                takes_latest=self._takes_latest,
            )
        self.counts.add(request.labels, response.status)
        return self.head.render(response, request.connection, is_head=request.is_head)

    def refuse(self, response: Response, address: str, *, is_head: bool) -> bytes:
        """Render and count the last response on a connection."""
        self._admits(self.directory.find(address, None))
        self.counts.add(UNREAD, response.status)
        return self.head.render(response, CLOSE, is_head=is_head)

    def _handle(
        self,
        request: Request,
        body: bytes,
        address: str,
        *,
        is_new: bool = True,
        may_wait: bool = True,
    ) -> bytes | Deferred:
        target = self._route(request)
        vm = None if isinstance(target, Fixed) else target.vm
        entry = self.directory.find(address, vm)
        is_admitted = not is_new or self._admits(entry)
        if isinstance(target, Fixed):  # it counts, but the limit does not change it
            return self.render(request, target.response)
        if entry is None:
            return self.render(request, _unknown_vm(address, vm))
        if not is_admitted:
            self.count_refusal(MetadataLimit.REQUESTS, entry.vm.name)
            return self.render(request, _TOO_MANY)
        group_state = entry.cached.group_state
        if isinstance(target, ReadInstance):
            response = instance.read_instance(entry.vm, group_state.group, target)
            return self.render(request, response)
        if group_state.head is not self.head:
            if group_state.is_disabled(self.head.now, self.directory.outages):
                return EnableFirst(group=group_state.group.name)
            self._record_request(group_state)
        entry.last_request = self.head.now
        delay = group_state if may_wait and self.is_delayed(group_state) else None
        if isinstance(target, ReadDocument):
            return (
                self._document(target, entry, may_wait=may_wait)
                if delay is None
                else DelayResponse(group_state=delay)
            )
        return self._approve(request, entry, body, delay)

    def _admits(self, entry: VmEntry | None) -> bool:
        """Count a VM's request; return False if the VM exceeds its rate."""
        if self._rate is None or entry is None:
            return True
        return not self._rate.wait(entry.vm.name)

    def _route(self, request: Request) -> Route:
        if request.route is None:
            request.route = route(
                request,
                self.counts.documents,
                is_open=self.directory.is_open,
                takes_latest=self._takes_latest,
                hosts=self._hosts,
            )
        return cast(Route, request.route)

    def _record_request(self, group_state: EnabledState) -> None:
        if not self.is_delayed(group_state):  # the hot path would skip the delay
            group_state.head = self.head
        group_state.last_request = self.head.now
        self._observations.add_poll(group_state.group.name, self.head.now)

    def _document(
        self, target: ReadDocument, entry: VmEntry, *, may_wait: bool = True
    ) -> bytes | Deferred:
        cached, head = entry.cached, self.head
        entry.last_request = head.now
        if entry.seen_tag is not cached.tag or entry.seen_version is not target.version:
            self._record_sights(entry, target.version)
        if target.tags and (target.any_tag or cached.tag in target.tags):
            if target.wait and may_wait:
                return HoldResponse(cached=cached, tag=cached.tag, seconds=target.wait)
            target.counter.not_modified += 1
            return head.not_modified + target.lines + cached.not_modified
        tail = cached.tails.get(target.version.name)
        if tail is None:
            form = self._date_forms.get(target.version.name)
            tail = cached.tail(target.version, form)
        target.counter.ok += 1
        return head.ok + target.lines + tail

    def _record_sights(self, entry: VmEntry, version: ApiVersion) -> None:
        shown = [e for e in entry.cached.document.events if e.type in version.types]
        if entry.seen_tag is not entry.cached.tag:
            entry.seen &= {event.id for event in entry.cached.document.events}
        entry.seen_tag, entry.seen_version = entry.cached.tag, version
        for event in shown:
            if event.id not in entry.seen:
                entry.seen.add(event.id)
                sight = Sight(event=event.id, vm=entry.vm.name, at=self.head.now)
                self._observations.add_sight(sight)

    def _approve(
        self, request: Request, entry: VmEntry, body: bytes, delay: EnabledState | None
    ) -> bytes | Deferred:
        try:
            events = decode_start_requests(body)
            if len(events) > MAX_APPROVED:
                self.count_refusal(MetadataLimit.APPROVED_EVENTS, entry.vm.name)
                raise Malformed(f"a request can approve at most {MAX_APPROVED} events")
        except Malformed as problem:
            response = error(400, f"Bad request. {problem}")
            if delay is not None:
                return DelayResponse(group_state=delay, response=response)
            return self.render(request, response)
        shown = {event.id for event in entry.cached.document.events}
        return ApproveFirst(
            group=entry.vm.group,
            vm=entry.vm.name,
            events=events,
            are_shown=shown.issuperset(events),
            delay=delay,
        )


def _unknown_vm(address: str, vm: str | None) -> Response:
    if vm is not None:
        return error(404, f"Not found. The fleet has no VM {vm}")
    return error(404, f"Not found. The fleet has no VM with the address {address}")
