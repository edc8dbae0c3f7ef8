"""uvicorn in a thread of its own, on sockets that are bound already."""

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

_KEPT = 75  # seconds that a connection is kept without a request
_PATIENCE = Patience()
_PROXIES = ["127.0.0.1", "::1"]


class _Server(uvicorn.Server):
    """A server that leaves signals to whoever runs the process."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class ControlPlane:
    """Serves an application on some sockets."""

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        app: ASGIApp,
        streams: Streams,
        *,
        connections: int,
        tls: ssl.SSLContext | None = None,  # None: plain HTTP
        patience: Patience = _PATIENCE,
        is_proxied: bool = False,
    ) -> None:
        """Serve `app` on `connections` at once; end `streams` when it stops.

        Where it `is_proxied`, a proxy on this machine is believed who asks, and how.
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
                loop="none",  # it runs on ours
                log_config=None,
                access_log=False,
                lifespan="off",
                timeout_keep_alive=_KEPT,
                timeout_graceful_shutdown=2,
                server_header=False,
                proxy_headers=is_proxied,
                forwarded_allow_ips=_PROXIES,  # whatever the environment says
            )
        )
        self._ready = Event()
        self._thread = Thread(target=self._run, name="control", daemon=True)

    def start(self) -> None:
        """Begin to answer; return when connections are accepted."""
        self._thread.start()
        self._ready.wait()

    def stop(self) -> None:
        """Finish the answers under way, and end."""
        self._streams.close()
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        # asyncio's own loop would take all that wait to connect before it counts one,
        # and out of files it logs two thousand errors a second.
        uvloop.run(self._serve())

    async def _serve(self) -> None:
        server = self._server
        server.config.load()
        server.lifespan = server.config.lifespan_class(server.config)
        await server.startup(sockets=[] if self._tls else self._sockets)
        shaking = self._shake_hands()
        self._ready.set()
        await server.main_loop()
        for each in shaking:
            each.close()
        await server.shutdown(sockets=self._sockets)

    def _shake_hands(self) -> Sequence[Handshakes]:
        """Take connections by ourselves where there is TLS.

        uvicorn would hear of a connection only when its hands are shaken, and so
        could not count it before.
        """
        if self._tls is None:
            return ()
        return [Handshakes(each, self._tls, self._connection) for each in self._sockets]

    def _connection(self) -> Wire:
        server = self._server
        return self._wire(
            config=server.config, server_state=server.server_state, app_state={}
        )
