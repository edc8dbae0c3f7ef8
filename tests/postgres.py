"""A private PostgreSQL server for tests, which they can stop, start and freeze."""

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
from tests.patience import PATIENCE
from tests.postgres_binaries import (
    Binaries,
    change_owner,
    readable_binaries,
    run,
    spawn,
)

PASSWORD = "hush:h/u@sh"  # needs quoting in a URL, and occurs nowhere else

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
class PostgresServer:
    """A server with a database `forewarn`, owned by a role of that name."""

    binaries: Binaries
    folder: Path
    port: int
    settings: Sequence[str]
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    process: "subprocess.Popen[bytes] | None" = None
    scribe: Thread | None = None

    def start(self) -> None:
        """Start the server; return when it accepts connections."""
        settings = [part for setting in self.settings for part in ("-c", setting)]
        command = [f"{self.binaries.folder}/postgres", "-D", f"{self.folder}/data"]
        self.process = spawn([*command, *settings], self.folder)
        ready: Queue[bool] = Queue()
        self.scribe = Thread(target=_write_down, args=(self.process, self.log, ready))
        self.scribe.start()
        assert ready.get(timeout=PATIENCE), self.log.read_text()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the server until the block ends."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server, even if clients are connected."""
        process, self.process = self.process, None
        if process is None or self.scribe is None:
            return
        with process:  # closes the pipe
            process.send_signal(how)
            process.wait(PATIENCE)
            self.scribe.join()

    @property
    def log(self) -> Path:
        """Return the path of the server's log."""
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
        """Return the URL of a store, in its own schema if `schema` is given."""
        place = f"{user}:{quote(password, safe='')}@127.0.0.1:{port or self.port}"
        option = f"?options=-csearch_path%3D{schema}" if schema else ""
        return f"postgresql://{place}/{database}{option}"

    def new_schema(self) -> str:
        """Create a schema for one test."""
        name = f"s{next(self.numbers)}"
        self.run(f"CREATE SCHEMA {name} AUTHORIZATION forewarn")
        return name

    def run(self, *statements: str, database: str = "forewarn") -> list[object]:
        """Run statements as superuser; return the first column of the last one."""
        url = self.url(database, user="postgres")
        with psycopg.connect(url, autocommit=True) as connection:
            done = [connection.execute(statement.encode()) for statement in statements][
                -1
            ]
            return [row[0] for row in done.fetchall()] if done.description else []


@contextmanager
def a_server(found: Binaries, *settings: str) -> Iterator[PostgresServer]:
    """Run a server with `settings` until the block ends, then delete all its files."""
    folder = Path(tempfile.mkdtemp(prefix="forewarn-postgres-"))
    try:
        (folder / "password").write_text(PASSWORD)
        change_owner(folder)
        found = readable_binaries(found, folder)
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
    """Create a cluster whose collation differs from code point order, if possible."""
    command = [f"{found.folder}/initdb", "-D", f"{folder}/data", "-N", "-U", "postgres"]
    command += ["-A", "scram-sha-256", "--pwfile", f"{folder}/password"]
    command += ["-E", "UTF8", "--locale", "C.UTF-8"]
    by_language = ["--locale-provider", "icu", "--icu-locale", "en-US"]
    if run([*command, *by_language], folder)[0] != 0:
        code, errors = run(command, folder)
        assert code == 0, errors


def _on_a_free_port(
    found: Binaries, folder: Path, settings: Sequence[str]
) -> PostgresServer:
    for port in random.sample(_PORTS, 100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                continue
        all_settings = [*_SETTINGS, f"port={port}", *settings]
        server = PostgresServer(
            binaries=found, folder=folder, port=port, settings=all_settings
        )
        try:
            server.start()
        except AssertionError:  # another process may have taken the port
            server.stop()
            if "could not bind" not in server.log.read_text():
                raise
            server.log.unlink()
        else:
            return server
    raise AssertionError("no port is free")


def _prepare(server: PostgresServer) -> None:
    server.run(
        f"CREATE ROLE forewarn LOGIN PASSWORD '{PASSWORD}'",
        "CREATE DATABASE forewarn OWNER forewarn",
        database="postgres",
    )


def _write_down(
    process: "subprocess.Popen[bytes]", log: Path, readiness: "Queue[bool]"
) -> None:
    """Copy the server's output to `log`; put in `readiness` whether it became ready."""
    assert process.stderr is not None
    with log.open("ab", buffering=0) as file:
        for line in process.stderr:
            file.write(line)
            if _READY in line:
                readiness.put(True)
    readiness.put(False)
