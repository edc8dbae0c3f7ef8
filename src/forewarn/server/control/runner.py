"""uvicorn in a thread of its own, on sockets that are bound already."""

import asyncio
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread

import uvicorn
import uvloop
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from forewarn.server.control.journal import Streams
from forewarn.server.limits import Ceiling

_KEPT = 75  # seconds that a connection is kept without a request


def _wire(ceiling: Ceiling) -> type[HttpToolsProtocol]:
    """Make connections that end at once if there are too many."""

    class Wire(HttpToolsProtocol):
        """A connection."""

        is_admitted = False

        def connection_made(  # type: ignore[override]  # as uvicorn has it
            self, transport: asyncio.Transport
        ) -> None:
            super().connection_made(transport)
            self.is_admitted = ceiling.admit()
            if not self.is_admitted:
                transport.abort()
                return
            # uvicorn itself would wait for ever for the first request.
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            if self.is_admitted:
                ceiling.release()

    return Wire


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
        app: FastAPI,
        streams: Streams,
        *,
        connections: int,
    ) -> None:
        """Serve `app` on `connections` at once; end `streams` when it stops."""
        ceiling = Ceiling(
            connections,
            f"there are {connections} connections to the control plane; more are"
            " closed at once",
        )
        self._sockets = list(sockets)
        self._streams = streams
        self._server = _Server(
            uvicorn.Config(
                app,
                http=_wire(ceiling),
                loop="none",  # it runs on ours
                log_config=None,
                access_log=False,
                lifespan="off",
                timeout_keep_alive=_KEPT,
                timeout_graceful_shutdown=2,
                server_header=False,
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
        await server.startup(sockets=self._sockets)
        self._ready.set()
        await server.main_loop()
        await server.shutdown(sockets=self._sockets)
