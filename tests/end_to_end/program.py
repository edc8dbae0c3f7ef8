"""The real program in a process of its own; only what was started here is ended."""

import json
import os
import resource
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

SOON = 20.0  # seconds: a program that waits for its clients takes longer to end

_DEADLINE = PATIENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """`forewarn serve`, running."""

    service: RunningService
    metadata: tuple[str, ...]
    folder: Path
    process: subprocess.Popen[bytes]
    scribe: Thread  # writes down what it logs; ends with it

    @property
    def log(self) -> str:
        """What it has logged; all of it, once it has ended."""
        return (self.folder / "stderr").read_text()

    def kill(self) -> None:
        """Kill it as a power cut would."""
        self.process.kill()
        self.process.wait(_DEADLINE)
        self.scribe.join(_DEADLINE)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, float]:
        """Ask it to end; answer its exit code, and how many seconds it took."""
        began = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(_DEADLINE)
        took = time.monotonic() - began
        self.scribe.join(_DEADLINE)
        return code, took

    @property
    def files(self) -> Sequence[str]:
        """What files it has open; each connection is one."""
        folder = Path(f"/proc/{self.process.pid}/fd")
        with suppress(FileNotFoundError):  # one was closed meanwhile
            return [str(each.readlink()) for each in folder.iterdir()]
        return self.files

    @property
    def sockets(self) -> int:
        """How many of them are sockets."""
        return len([each for each in self.files if each.startswith("socket:")])

    @property
    def memory(self) -> int:
        """How much memory it uses, in kB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(each.split()[1]) for each in lines if "VmRSS" in each)

    def rest_of_stdout(self) -> bytes:
        """What it wrote behind the addresses; only once it has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.read()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A command that has run to its end."""

    code: int
    out: str
    err: str


def environment_of(folder: Path, **more: str | None) -> dict[str, str]:
    """An environment with nothing of ours but what is given; None takes away."""
    given: Mapping[str, str | None] = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "FOREWARN_STATE_DIR": str(folder / "state"),
        "FOREWARN_TOKEN": TOKEN,
        **more,
    }
    return {name: value for name, value in given.items() if value is not None}


def run(folder: Path, *words: str, **environment: str | None) -> Ended:
    """Run `forewarn` with `words` to its end."""
    command = [*FOREWARN, *words]
    return finish(command, folder, environment_of(folder, **environment))


def run_within(
    within: Sequence[str], folder: Path, *words: str, **environment: str | None
) -> Ended:
    """Run `forewarn` with `words` to its end, by the command `within`."""
    command = [*within, *FOREWARN, *words]
    return finish(command, folder, environment_of(folder, **environment))


def run_on_a_full_disk(folder: Path, *words: str, **environment: str | None) -> Ended:
    """Run `forewarn` where no file can grow beyond its first byte."""
    limits = (1, 1)
    return finish(
        [*FOREWARN, *words],
        folder,
        environment_of(folder, **environment),
        prepare=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limits),
    )


def finish(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    *,
    typed: str = "",
    prepare: Callable[[], None] | None = None,
) -> Ended:
    """Run any command to its end; it reads what is `typed`."""
    done = subprocess.run(
        command,
        env=environment,
        cwd=folder,
        input=typed,
        capture_output=True,
        text=True,
        timeout=_DEADLINE,
        check=False,
        preexec_fn=prepare,
    )
    return Ended(code=done.returncode, out=done.stdout, err=done.stderr)


@contextmanager
def serving(
    folder: Path,
    *options: str,
    fleet: Path | None = DEMO,
    as_json: bool = True,
    metadata: Sequence[str] = ("127.0.0.1:0",),
    within: Sequence[str] = (),
    **environment: str | None,
) -> Iterator[Program]:
    """Serve `fleet` from a store in `folder`, on free ports, until the block ends.

    `within` leads to where it runs.
    """
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
        finally:
            process.kill()
            scribe.join()


@contextmanager
def a_kept_address() -> Iterator[str]:
    """Keep an address for programs that listen on it one after the other."""
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{kept.getsockname()[1]}"


def _write_down(process: subprocess.Popen[bytes], path: Path) -> None:
    """Keep what is logged; by a pipe, so that a full disk does not matter."""
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
    """Read what it prints when both planes answer: JSON, or a line for each."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], _DEADLINE)
    line = process.stdout.readline() if ready else b""
    assert line, (folder / "stderr").read_text()
    if line.startswith(b"{"):
        printed = json.loads(line)
        assert printed.keys() == {"metadata", "control"}
        return printed["metadata"], printed["control"]
    second = process.stdout.readline()
    (first_word, metadata), (second_word, control) = (
        each.decode().split() for each in (line, second)
    )
    assert (first_word, second_word) == ("metadata", "control")
    return [metadata], control


def until(
    is_true: Callable[[], bool], seconds: float = PATIENCE, every: float = 0.01
) -> None:
    """Ask again and again until it is so; fail after some `seconds`."""
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(every)
