"""The control plane's HTTP server: uvicorn in a thread, and TLS.

uvicorn sees a TLS connection only after its handshake. `_TlsAcceptor` accepts
connections and performs handshakes, so connections count from the start.
"""

import asyncio
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from socket import socket

import uvicorn
import uvloop
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from forewarn.core.health import ThreadHealth
from forewarn.server.control.http.connection import (
    ConnectionTimeouts,
    ControlConnection,
    control_connection,
)
from forewarn.server.control.http.origin import SECURITY_HEADERS
from forewarn.server.control.http.shares import ConnectionShares, InvalidRequests
from forewarn.server.error_responses import refusal
from forewarn.server.plane_thread import PlaneThread

_KEEP_ALIVE = 75  # seconds that an idle connection stays open
_TIMEOUTS = ConnectionTimeouts()

_UNKNOWN = (
    "the service is stopping; the change may have been saved, so check before you retry"
)
_TLS_SHUTDOWN = 2.0  # seconds
_OUT_OF_FILES = 0.1  # seconds until the next try


class ControlPlane:
    """Serves an application on a set of sockets."""

    def __init__(
        self,
        sockets: Sequence[socket],
        app: ASGIApp,
        on_stop: Callable[[], None],
        *,
        shares: ConnectionShares,
        invalid_requests: InvalidRequests,
        tls: ssl.SSLContext | None = None,  # None for plain HTTP
        timeouts: ConnectionTimeouts = _TIMEOUTS,
        proxies: Sequence[str] = (),
    ) -> None:
        """Create a plane that serves `app` on connections within `shares`.

        `on_stop` is called to end streams. Addresses and networks in `proxies` are
        trusted to report the client and scheme.
        """
        self._sockets = list(sockets)
        self._tls = tls
        self._invalid = invalid_requests
        self._protocol = control_connection(shares, timeouts, invalid_requests)
        self._on_stop = on_stop
        self._server = _Server(
            uvicorn.Config(
                _StopResponse(app),
                http=self._protocol,
                ws="none",
                loop="none",  # `_run` chooses it
                log_config=None,
                access_log=False,
                lifespan="off",
                timeout_keep_alive=_KEEP_ALIVE,
                timeout_graceful_shutdown=2,
                server_header=False,
                proxy_headers=bool(proxies),
                forwarded_allow_ips=[*proxies],  # ignores the environment
            )
        )
        self._thread = PlaneThread("control", self._run)

    @property
    def health(self) -> ThreadHealth:
        """The state of the plane's thread."""
        return self._thread.health

    def start(self) -> None:
        """Start serving; return once connections are accepted."""
        self._thread.start()

    def stop(self) -> None:
        """Finish responses in progress and end the thread."""
        self._on_stop()
        self._thread.stop(self._leave)

    def _leave(self) -> None:
        self._server.should_exit = True

    def _run(self, be_ready: Callable[[], None]) -> None:
        # asyncio's own loop accepts all queued connections before counting any of them.
        # When out of file descriptors, it logs two thousand errors a second.
        uvloop.run(self._serve(be_ready))

    async def _serve(self, be_ready: Callable[[], None]) -> None:
        server, tls = self._server, self._tls
        server.config.load()
        server.lifespan = server.config.lifespan_class(server.config)
        await server.startup(sockets=[] if tls else self._sockets)
        acceptors = [
            _TlsAcceptor(sock, tls, self._connection) for sock in self._sockets if tls
        ]
        be_ready()
        await server.main_loop()
        for acceptor in acceptors:
            acceptor.close()
        await server.shutdown(sockets=self._sockets)
        self._invalid.log()

    def _connection(self) -> ControlConnection:
        server = self._server
        return self._protocol(
            config=server.config, server_state=server.server_state, app_state={}
        )


class _Server(uvicorn.Server):
    """A uvicorn server that leaves signal handling to the process."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _StopResponse:
    """Responds to requests that uvicorn cancels when its stop timeout has passed."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False

        async def note_and_send(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, note_and_send)
        except asyncio.CancelledError:
            if has_begun:
                raise
            headers = {**SECURITY_HEADERS, "Cache-Control": "no-store"}
            await refusal(scope, 503, _UNKNOWN, headers)(scope, receive, send)


class _TlsAcceptor:
    """Accepts TLS connections on a socket until `close` is called."""

    def __init__(
        self,
        listening: socket,
        tls: ssl.SSLContext,
        connect: Callable[[], ControlConnection],
    ) -> None:
        self._tls = tls
        self._connect = connect
        self._loop = asyncio.get_running_loop()
        self._handshakes: set[asyncio.Task[None]] = set()
        listening.setblocking(False)
        self._accepting = self._loop.create_task(self._accept(listening))

    def close(self) -> None:
        """Stop accepting connections and drop unfinished handshakes."""
        for task in (self._accepting, *self._handshakes):
            task.cancel()

    async def _accept(self, listening: socket) -> None:
        while True:
            try:
                accepted, peer = await self._loop.sock_accept(listening)
            except OSError:  # out of file descriptors, or the client is gone
                await asyncio.sleep(_OUT_OF_FILES)
                continue
            connection = self._connect()
            if not connection.enter(str(peer[0])):
                accepted.close()
                continue
            task = self._loop.create_task(self._handshake(accepted, connection))
            connection.shake_hands(task)
            self._handshakes.add(task)
            task.add_done_callback(self._handshakes.discard)

    async def _handshake(self, accepted: socket, connection: ControlConnection) -> None:
        is_connected = False
        try:
            with suppress(OSError):  # clients that do not speak TLS get no response
                await self._loop.connect_accepted_socket(
                    lambda: connection,
                    accepted,
                    ssl=self._tls,
                    ssl_handshake_timeout=connection.timeouts.handshake,
                    ssl_shutdown_timeout=_TLS_SHUTDOWN,
                )
                is_connected = True
        finally:
            if not is_connected:
                accepted.close()
                connection.leave()
