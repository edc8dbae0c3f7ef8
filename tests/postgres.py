"""A private PostgreSQL server: ours to stop, start and freeze, gone after the tests."""

import random
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from queue import Queue
from threading import Thread
from urllib.parse import quote

import psycopg
from tests.postgres_binaries import Binaries, give_away, run, spawn, within_reach

PASSWORD = "hush:h/u@sh"  # awkward in a URL, and to be found nowhere else

_DEADLINE = 30.0  # seconds for a start or a stop; they take one
_PORTS = range(20_000, 30_000)  # below those that connections are made from
_SETTINGS = (
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "lc_messages=C",
    "shared_buffers=16MB",
    "autovacuum=off",
)
_READY = b"ready to accept connections"


@dataclass(slots=True, kw_only=True)
class Server:
    """One server, with a database `forewarn` that a role of that name owns."""

    binaries: Binaries
    folder: Path
    port: int
    settings: Sequence[str]
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    process: "subprocess.Popen[bytes] | None" = None
    scribe: Thread | None = None

    def start(self) -> None:
        """Start it; return when it can be connected to."""
        settings = [part for each in self.settings for part in ("-c", each)]
        command = [f"{self.binaries.folder}/postgres", "-D", f"{self.folder}/data"]
        self.process = spawn([*command, *settings], self.folder)
        told: Queue[bool] = Queue()
        self.scribe = Thread(target=_write_down, args=(self.process, self.log, told))
        self.scribe.start()
        assert told.get(timeout=_DEADLINE), self.log.read_text()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop it until the block ends."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it, whoever is connected."""
        process, self.process = self.process, None
        if process is None or self.scribe is None:
            return
        with process:  # closes the pipe
            process.send_signal(how)
            process.wait(_DEADLINE)
            self.scribe.join()

    @property
    def log(self) -> Path:
        """What it says."""
        return self.folder / "log"

    def url(
        self,
        database: str = "forewarn",
        *,
        user: str = "forewarn",
        password: str = PASSWORD,
        port: int | None = None,
        schema: str | None = None,
    ) -> str:
        """Where the store is; in a schema of its own, if it has one."""
        place = f"{user}:{quote(password, safe='')}@127.0.0.1:{port or self.port}"
        option = f"?options=-csearch_path%3D{schema}" if schema else ""
        return f"postgresql://{place}/{database}{option}"

    def new_schema(self) -> str:
        """Make a schema that nobody else uses."""
        name = f"s{next(self.numbers)}"
        self.run(f"CREATE SCHEMA {name} AUTHORIZATION forewarn")
        return name

    def run(self, *statements: str, database: str = "forewarn") -> list[object]:
        """Run statements as the one who may do all; answer the last one's column."""
        url = self.url(database, user="postgres")
        with psycopg.connect(url, autocommit=True) as connection:
            done = [connection.execute(each.encode()) for each in statements][-1]
            return [row[0] for row in done.fetchall()] if done.description else []


@contextmanager
def a_server(found: Binaries, *settings: str) -> Iterator[Server]:
    """Run a server with `settings` until the block ends; leave nothing behind."""
    folder = Path(tempfile.mkdtemp(prefix="forewarn-postgres-"))
    try:
        (folder / "password").write_text(PASSWORD)
        give_away(folder)
        found = within_reach(found, folder)
        _initialize(found, folder)
        server = _on_a_free_port(found, folder, settings)
        try:
            _prepare(server)
            yield server
        finally:
            server.stop(signal.SIGQUIT)  # there is nothing to save
    finally:
        shutil.rmtree(folder)


def _initialize(found: Binaries, folder: Path) -> None:
    """Make a cluster whose own order is not that of codes, if the server can."""
    command = [f"{found.folder}/initdb", "-D", f"{folder}/data", "-N", "-U", "postgres"]
    command += ["-A", "scram-sha-256", "--pwfile", f"{folder}/password"]
    command += ["-E", "UTF8", "--locale", "C.UTF-8"]
    by_language = ["--locale-provider", "icu", "--icu-locale", "en-US"]
    if run([*command, *by_language], folder)[0] != 0:
        code, said = run(command, folder)
        assert code == 0, said


def _on_a_free_port(found: Binaries, folder: Path, settings: Sequence[str]) -> Server:
    for port in random.sample(_PORTS, 100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                continue
        all_settings = [*_SETTINGS, f"port={port}", *settings]
        server = Server(binaries=found, folder=folder, port=port, settings=all_settings)
        server.start()
        return server
    raise AssertionError("no port is free")


def _prepare(server: Server) -> None:
    server.run(
        f"CREATE ROLE forewarn LOGIN PASSWORD '{PASSWORD}'",
        "CREATE DATABASE forewarn OWNER forewarn",
        database="postgres",
    )


def _write_down(
    process: "subprocess.Popen[bytes]", log: Path, told: "Queue[bool]"
) -> None:
    """Keep what it says; tell when it is ready, or never will be."""
    assert process.stderr is not None
    with log.open("ab", buffering=0) as file:
        for line in process.stderr:
            file.write(line)
            if _READY in line:
                told.put(True)
    told.put(False)
