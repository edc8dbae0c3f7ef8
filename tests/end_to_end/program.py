"""The real program as a child process; only processes started here are ended."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from tests.patience import PATIENCE
from tests.server.support.service import TOKEN, RunningService

import forewarn

DEMO = Path(forewarn.__file__).parent / "demo.toml"
FOREWARN = (sys.executable, "-m", "forewarn")

#: Options of `serve`: any free ports.
PORTS = ("--metadata", "127.0.0.1:0", "--control", "127.0.0.1:0")

SOON = PATIENCE / 2  # seconds; waiting for clients would take longer


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A running `forewarn serve`."""

    service: RunningService
    metadata: tuple[str, ...]
    folder: Path
    process: subprocess.Popen[bytes]
    scribe: Thread  # copies the log to a file; ends with the process

    @property
    def log(self) -> str:
        """Return the log so far; it is complete once the program has ended."""
        return (self.folder / "stderr").read_text()

    def kill(self) -> None:
        """Kill it without warning, like a power cut."""
        self.process.kill()
        self.process.wait(PATIENCE)
        self.scribe.join(PATIENCE)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, float]:
        """Send a signal; return the exit code and the seconds until the exit."""
        began = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        took = time.monotonic() - began
        self.scribe.join(PATIENCE)
        return code, took

    @property
    def files(self) -> Sequence[str]:
        """Return the targets of its open file descriptors; each connection is one."""
        folder = Path(f"/proc/{self.process.pid}/fd")
        with suppress(FileNotFoundError):  # a file was closed meanwhile
            return [str(descriptor.readlink()) for descriptor in folder.iterdir()]
        return self.files

    @property
    def sockets(self) -> int:
        """Return the number of its open sockets."""
        return len([file for file in self.files if file.startswith("socket:")])

    @property
    def memory(self) -> int:
        """Return its resident memory in kB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if "VmRSS" in line)

    def rest_of_stdout(self) -> bytes:
        """Return what it printed after the addresses; only once it has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.read()


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedCommand:
    """The result of a finished command."""

    code: int
    out: str
    err: str


def environment_of(folder: Path, **more: str | None) -> dict[str, str]:
    """Return a minimal environment plus `more`; None removes a variable."""
    variables: Mapping[str, str | None] = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "FOREWARN_STATE_DIR": str(folder / "state"),
        "FOREWARN_TOKEN": TOKEN,
        "FOREWARN_LOG_LEVEL": "warning",  # so that tests see only problems
        **more,
    }
    return {name: value for name, value in variables.items() if value is not None}


def run(
    folder: Path, *words: str, within: Sequence[str] = (), **environment: str | None
) -> FinishedCommand:
    """Run `forewarn` with `words` and wait until it exits.

    `within` is a command prefix, such as one that enters a namespace.
    """
    command = [*within, *FOREWARN, *words]
    return finish(command, folder, environment_of(folder, **environment))


def check_sentence(ended: FinishedCommand, code: int, *words: str) -> None:
    """Check for the exit code `code` and a one-line error that contains `words`."""
    assert ended.out == ""
    assert ended.err.startswith("forewarn: ")
    assert ended.err.count("\n") == 1
    assert ended.err.endswith("\n")
    for word in words:
        assert word in ended.err
    assert ended.code == code


def finish(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    *,
    typed: str = "",
) -> FinishedCommand:
    """Run any command with `typed` as its input, and wait until it exits."""
    done = subprocess.run(
        command,
        env=environment,
        cwd=folder,
        input=typed,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return FinishedCommand(code=done.returncode, out=done.stdout, err=done.stderr)


@contextmanager
def serving(
    folder: Path,
    *options: str,
    fleet: Path | str | None = DEMO,
    as_json: bool = True,
    metadata: Sequence[str] = ("127.0.0.1:0",),
    within: Sequence[str] = (),
    **environment: str | None,
) -> Iterator[Program]:
    """Serve `fleet` from a store in `folder`, on free ports, until the block ends.

    The fleet is a file, or the text of one. `within` is a command prefix, such as one
    that enters a namespace.
    """
    if isinstance(fleet, str):
        (folder / "fleet.toml").write_text(fleet)
        fleet = folder / "fleet.toml"
    command = [*within, *FOREWARN, "serve", "--control", "127.0.0.1:0"]
    for address in metadata:
        command += ["--metadata", address]
    command += [] if fleet is None else ["--fleet", str(fleet)]
    command += ["--json"] if as_json else []
    process = subprocess.Popen(
        [*command, *options],
        env=environment_of(folder, **environment),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    scribe = Thread(target=_write_down, args=(process, folder / "stderr"))
    scribe.start()
    with process:  # closes the pipes
        try:
            token = environment.get("FOREWARN_TOKEN", TOKEN)
            yield _program(folder, process, scribe, token)
        except Exception as error:
            error.add_note(f"log of the program:\n{(folder / 'stderr').read_text()}")
            raise
        finally:
            process.kill()
            scribe.join()


@contextmanager
def a_reserved_address() -> Iterator[str]:
    """Reserve an address for programs that listen on it one after the other."""
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{kept.getsockname()[1]}"


def _write_down(process: subprocess.Popen[bytes], path: Path) -> None:
    """Copy the log through a pipe, so that it does not need the program's disk."""
    assert process.stderr is not None
    with path.open("ab", buffering=0) as log:
        for line in process.stderr:
            log.write(line)


def _program(
    folder: Path, process: subprocess.Popen[bytes], scribe: Thread, token: str | None
) -> Program:
    metadata, control = _addresses(folder, process)
    if token is None:
        token = (folder / "state" / "token").read_text().strip()
    service = RunningService(metadata=metadata[0], control=control, token=token)
    return Program(
        service=service,
        metadata=tuple(metadata),
        folder=folder,
        process=process,
        scribe=scribe,
    )


def _addresses(
    folder: Path, process: subprocess.Popen[bytes]
) -> tuple[Sequence[str], str]:
    """Read the addresses, printed once both planes are up, as JSON or line by line."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
    line = process.stdout.readline() if ready else b""
    assert line, (folder / "stderr").read_text()
    if line.startswith(b"{"):
        printed = json.loads(line)
        assert printed.keys() == {"metadata", "control"}
        return printed["metadata"], printed["control"]
    second = process.stdout.readline()
    (first_word, metadata), (second_word, control) = (
        raw.decode().split() for raw in (line, second)
    )
    assert (first_word, second_word) == ("metadata", "control")
    return [metadata], control


def until(
    is_true: Callable[[], bool], seconds: float = PATIENCE, every: float = 0.01
) -> None:
    """Poll until `is_true` holds; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, "the condition never became true"
        time.sleep(every)
