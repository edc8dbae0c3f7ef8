"""A metadata plane that supports fault injection and request observers.

Requests take the same path as in the production plane unless a fault or an observer is
active.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from random import random

from forewarn.core.faults import Fault, FaultKind
from forewarn.ports import Clock
from forewarn.server.metadata.faults.active import ActiveFault, ActiveFaults
from forewarn.server.metadata.faults.injection import (
    BrokenResponse,
    FaultInjector,
    LateResponse,
    ObservedRequest,
)
from forewarn.server.metadata.faults.observer import RequestObserver, request_record
from forewarn.server.metadata.handler import Deferred, MetadataHandler
from forewarn.server.metadata.limits import ConnectionLimits
from forewarn.server.metadata.plane import EngineCommands, MetadataPlane
from forewarn.server.metadata.transport.connection import MetadataConnection
from forewarn.server.metadata.transport.requests import Request
from forewarn.server.metadata.transport.responses import Response, ResponseHead


class InstrumentedPlane(MetadataPlane):
    """A metadata plane with faults and an observer."""

    injector: FaultInjector  # exists once the loop runs

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        handler: MetadataHandler,
        commands: EngineCommands,
        clock: Clock,
        limits: ConnectionLimits,
        *,
        observer: RequestObserver | None = None,
        chance: Callable[[], float] = random,
        on_faults: Callable[[], None] = lambda: None,
    ) -> None:
        """Create a plane that reports all requests to `observer`.

        `chance` returns random numbers from 0 to 1. `on_faults` is called when
        the active faults have changed.
        """
        super().__init__(sockets, handler, commands, clock, limits)
        self.observer = observer  # None if there is no observer
        self.faults = ActiveFaults(chance)
        self.is_instrumented = observer is not None  # or a fault is active
        self._on_faults = on_faults

    # --- from other threads --------------------------------------------------

    def add_fault(self, fault: Fault, *, by: str) -> ActiveFault:
        """Activate `fault`; `by` is the name of its creator."""
        at = self._clock.now()
        return self._on_loop(lambda: self.injector.add(fault, by=by, at=at))

    def clear_faults(self, id_: str | None = None) -> None:
        """End the fault `id_`, or all faults."""
        self._on_loop(lambda: self.injector.clear(id_))

    # --- on the loop ---------------------------------------------------------

    def _use_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        super()._use_loop(loop)
        self.injector = FaultInjector(
            loop,
            self.handler,
            self.faults,
            on_change=self._apply_faults,
            wake=self._wake,
            release_held=self.long_polls.release_all,
        )

    def _connect(self) -> MetadataConnection:
        return InstrumentedConnection(self)

    def _refresh_head(self) -> None:
        clock, kinds = self._clock, self.faults.kinds
        self.handler.head = ResponseHead(clock.now(), clock.name, kinds)

    def _apply_faults(self) -> None:
        """Apply a change to the active faults."""
        kinds = self.faults.kinds
        self.is_instrumented = self.observer is not None or bool(kinds)
        self._refresh_head()
        is_refused = FaultKind.REFUSED in kinds
        if self._listener.set_refusing(is_refusing=is_refused) and is_refused:
            for connection in [*self._connections]:
                connection.reset()
        self._on_faults()


class InstrumentedConnection(MetadataConnection):
    """A metadata connection that supports fault injection and request observers."""

    __slots__ = ("_observed",)

    _plane: InstrumentedPlane

    def __init__(self, plane: InstrumentedPlane) -> None:
        """Create a connection of `plane`."""
        super().__init__(plane)
        # None unless the current request is observed or faulted.
        self._observed: ObservedRequest | None = None

    def handle(self, request: Request, body: bytes) -> bytes | Deferred:
        """Handle a request, unless a fault or the observer responds instead."""
        plane = self._plane
        if plane.is_instrumented:
            return self._handle_observed(request, body)
        if self._is_leaving:
            return super().handle(request, body)
        return plane.handler.handle(request, body, self._address)  # the hot path

    def _handle_observed(self, request: Request, body: bytes) -> bytes | Deferred:
        plane, observer = self._plane, self._plane.observer
        response = None if observer is None else observer.intercept(request, body)
        if response is not None:
            return self._render(response)
        observed = self._observed = plane.injector.match(request, self._address)
        result = self._begin(observed, request, body)
        if observer is not None:  # the handler has determined the route
            observer.started(self._vm_name(), observed.since)
        return self._finish(observed, result)

    def connection_lost(self, exc: Exception | None) -> None:
        """Release everything that the connection holds."""
        if self._observed is not None:
            self._observed.end_delay()
        super().connection_lost(exc)

    def stop_waiting(self) -> None:
        """Respond to a held or delayed request now."""
        if self._observed is None or self._observed.late is None:
            super().stop_waiting()
        else:
            self._resume_late(may_wait=False)

    def _begin(
        self, observed: ObservedRequest, request: Request, body: bytes
    ) -> bytes | Deferred:
        result = observed.begin(may_wait=not self._is_leaving)
        if isinstance(result, Response):
            return self._render(result)
        if result is not None:
            return result
        if observed.fault is None:
            return super().handle(request, body)
        if observed.needs_body:
            self._http.forget_tags()
        return self._handle_again(may_wait=True)

    def _handle_again(self, *, may_wait: bool) -> bytes | Deferred:
        if self._observed is None:
            return MetadataConnection._handle_again(self, may_wait=may_wait)
        entry = self._plane.handler.sender(self._http.request, self._address)
        with self._observed.showing_frozen(entry):
            return super()._handle_again(may_wait=may_wait)

    def _finish(
        self, observed: ObservedRequest, result: bytes | Deferred
    ) -> bytes | Deferred:
        """Apply injected faults to a response, and notify the observer."""
        if isinstance(result, bytes):
            result = observed.alter(result, may_wait=not self._is_leaving)
        if isinstance(result, bytes | BrokenResponse):
            self._observed = None
            if self._plane.observer is not None:
                record = request_record(
                    self._http.request,
                    self._http.body,
                    result if isinstance(result, bytes) else b"",
                    self._vm_name(),
                    observed.since,
                    None if observed.fault is None else observed.fault.kind.value,
                )
                self._plane.observer.finished(record)
        return result

    def _vm_name(self) -> str | None:
        """Return the name of the VM that sent the request, or None if unknown."""
        named = getattr(self._http.request.route, "vm", None)
        entry = self._plane.handler.directory.find(self._address, named)
        return None if entry is None else entry.vm.name

    def _defer(self, deferred: Deferred) -> None:
        if isinstance(deferred, LateResponse) and self._observed is not None:
            self._observed.late = deferred
            self._observed.timer = self._plane.injector.call_later(
                deferred.seconds, self._resume_late
            )
        elif not isinstance(deferred, BrokenResponse):
            super()._defer(deferred)
        elif not deferred.sent:
            self.reset()
        elif self._transport is not None:
            self._transport.write(deferred.sent)
            self._transport.close()

    def _resume_late(self, *, may_wait: bool = True) -> None:
        """Send a delayed response, or handle the request now."""
        if self._observed is not None and self._observed.late is not None:
            response = self._observed.late.response
            self._resume(response or self._handle_again(may_wait=may_wait))

    def _resume(self, result: bytes | Deferred) -> None:
        if self._observed is not None:
            self._observed.end_delay()
            result = self._finish(self._observed, result)
        MetadataConnection._resume(self, result)
