"""How long it takes from nothing to the first event, as the README has it.

Run by `scripts/bench first-event`. It installs this folder into a new virtual
environment, which depends on where pip gets packages from; then it types the two
commands of the README, several times, each with an empty state.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

from benchmarks.figures import line

_ROOT = Path(__file__).parents[1]
_EVENTS = "/metadata/scheduledevents?api-version=2020-07-01"
#: What the README lets one type, behind `forewarn`.
SERVE = ("serve", "--fleet", "demo")
ANNOUNCE = ("vm", "restart", "web-0")
_ROUNDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """How many seconds passed since the first command was typed."""

    ready: float  # it had said where it answers
    announced: float  # the second command had ended
    seen: float  # a GET had shown the event


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """A virtual environment with forewarn."""

    program: Path
    made_in: float  # seconds
    installed_in: float  # seconds


def install(folder: Path) -> Installed:
    """Make a virtual environment in `folder`, and install forewarn there."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    made = time.perf_counter()
    pip = [str(folder / "bin" / "pip"), "install", "--quiet", "--no-cache-dir"]
    subprocess.run([*pip, f"{_ROOT}[server]"], check=True, stderr=subprocess.DEVNULL)
    return Installed(
        program=folder / "bin" / "forewarn",
        made_in=made - begun,
        installed_in=time.perf_counter() - made,
    )


def play(program: Path, folder: Path) -> Round:
    """Type the two commands, and look."""
    ports = {"FOREWARN_METADATA": "127.0.0.1:0", "FOREWARN_CONTROL": "127.0.0.1:0"}
    environment = _environment(FOREWARN_STATE_DIR=str(folder), **ports)
    begun = time.perf_counter()
    with _running([str(program), *SERVE], environment) as serving:
        metadata, control = _addresses(serving)
        ready = time.perf_counter() - begun
        environment["FOREWARN_URL"] = control
        subprocess.run(
            [str(program), *ANNOUNCE],
            env=environment,
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=60,
        )
        announced = time.perf_counter() - begun
        _look(metadata)
        seen = time.perf_counter() - begun
    return Round(ready=ready, announced=announced, seen=seen)


def _environment(**more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**kept, **more}


@contextmanager
def _running(
    command: Sequence[str], environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def _addresses(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Read the two lines that are printed when both planes answer."""
    assert process.stdout is not None
    lines = [process.stdout.readline().split() for _ in range(2)]
    found = dict(each for each in lines if len(each) == 2)
    return found["metadata"], found["control"]


def _look(metadata: str) -> None:
    """Ask once; the event must be there."""
    asked = Request(metadata + _EVENTS, headers={"Metadata": "true"})
    with urlopen(asked, timeout=10) as answer:
        (event,) = json.load(answer)["Events"]
    if event["EventType"] != "Reboot":
        raise RuntimeError(f"that is not the event: {event}")


def _shown(seconds: Sequence[float]) -> str:
    half = statistics.median(seconds)
    return f"median {half:6.2f} s   longest {max(seconds):6.2f} s   of {len(seconds)}"


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=_ROUNDS)
    rounds: int = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        installed = install(folder / "venv")
        played = [
            play(installed.program, folder / f"state-{number}")
            for number in range(rounds)
        ]
    write = sys.stdout.write
    write(line("processors", str(os.cpu_count())))
    write(line("a virtual environment", f"{installed.made_in:6.2f} s"))
    write(line("pip install '.[server]'", f"{installed.installed_in:6.2f} s"))
    write(line("serve: both planes answer", _shown([each.ready for each in played])))
    write(line("vm restart: announced", _shown([each.announced for each in played])))
    write(line("GET: the event is there", _shown([each.seen for each in played])))


if __name__ == "__main__":
    main()
