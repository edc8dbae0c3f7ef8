"""The control-plane server: uvicorn in its own thread, on sockets already bound."""

import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread

import uvicorn
import uvloop
from starlette.types import ASGIApp

from forewarn.server.control.connections import Patience, Wire, wire
from forewarn.server.control.handshakes import Handshakes
from forewarn.server.control.journal import Streams
from forewarn.server.limits import Ceiling

_KEPT = 75  # seconds that an idle connection is kept
_PATIENCE = Patience()
_PROXIES = ["127.0.0.1", "::1"]


class _Server(uvicorn.Server):
    """A server that leaves signals to the owner of the process."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class ControlPlane:
    """Serves an application on a set of sockets."""

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        app: ASGIApp,
        streams: Streams,
        *,
        connections: int,
        tls: ssl.SSLContext | None = None,  # None for plain HTTP
        patience: Patience = _PATIENCE,
        is_proxied: bool = False,
    ) -> None:
        """Serve `app` on at most `connections` at once; end `streams` on stop.

        If `is_proxied`, a proxy on this machine is trusted to report client and scheme.
        """
        ceiling = Ceiling(
            connections,
            f"there are {connections} connections to the control plane; more are"
            " closed at once",
        )
        self._sockets = list(sockets)
        self._tls = tls
        self._wire = wire(ceiling, patience)
        self._streams = streams
        self._server = _Server(
            uvicorn.Config(
                app,
                http=self._wire,
                ws="none",
                loop="none",  # `_run` chooses it
                log_config=None,
                access_log=False,
                lifespan="off",
                timeout_keep_alive=_KEPT,
                timeout_graceful_shutdown=2,
                server_header=False,
                proxy_headers=is_proxied,
                forwarded_allow_ips=_PROXIES,  # ignores the environment
            )
        )
        self._ready = Event()
        self._thread = Thread(target=self._run, name="control", daemon=True)

    def start(self) -> None:
        """Start serving; return when connections are accepted."""
        self._thread.start()
        self._ready.wait()

    def stop(self) -> None:
        """Finish the responses in progress, and end the thread."""
        self._streams.close()
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        # asyncio's own loop accepts all queued connections before it counts one. When
        # out of file descriptors, it logs two thousand errors a second.
        uvloop.run(self._serve())

    async def _serve(self) -> None:
        server = self._server
        server.config.load()
        server.lifespan = server.config.lifespan_class(server.config)
        await server.startup(sockets=[] if self._tls else self._sockets)
        shaking = self._shake_hands()
        self._ready.set()
        await server.main_loop()
        for handshakes in shaking:
            handshakes.close()
        await server.shutdown(sockets=self._sockets)

    def _shake_hands(self) -> Sequence[Handshakes]:
        """Accept connections without uvicorn if there is TLS.

        uvicorn learns of a connection only after its handshake, and so could not count
        it before.
        """
        if self._tls is None:
            return ()
        return [Handshakes(sock, self._tls, self._connection) for sock in self._sockets]

    def _connection(self) -> Wire:
        server = self._server
        return self._wire(
            config=server.config, server_state=server.server_state, app_state={}
        )
