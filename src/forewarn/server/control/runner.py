"""uvicorn in a thread of its own, on sockets that are bound already."""

import asyncio
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread

import uvicorn
from fastapi import FastAPI

from forewarn.server.control.journal import Streams


class _Server(uvicorn.Server):
    """A server that leaves signals to whoever runs the process."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class ControlPlane:
    """Serves an application on some sockets."""

    def __init__(
        self, sockets: Sequence[socket.socket], app: FastAPI, streams: Streams
    ) -> None:
        """Serve `app`; end `streams` when it stops."""
        self._sockets = list(sockets)
        self._streams = streams
        self._server = _Server(
            uvicorn.Config(
                app,
                loop="asyncio",
                log_config=None,
                access_log=False,
                lifespan="off",
                timeout_keep_alive=75,
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
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        server = self._server
        server.config.load()
        server.lifespan = server.config.lifespan_class(server.config)
        await server.startup(sockets=self._sockets)
        self._ready.set()
        await server.main_loop()
        await server.shutdown(sockets=self._sockets)
