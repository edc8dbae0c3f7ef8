"""Time from installation to the first event, as in the README.

Run by `scripts/bench first-event`. It installs this folder into a new virtual
environment; the time for this depends on where pip gets packages from. Then it runs the
two commands of the README several times, each time with an empty state.
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
#: The commands of the README, without `forewarn`.
SERVE = ("serve", "--fleet", "demo", "--store", "memory")
ANNOUNCE = ("vm", "restart", "web-0")
_ROUNDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstEventTimes:
    """Seconds since the start of the first command."""

    ready: float  # until it printed its addresses
    announced: float  # until the second command ended
    seen: float  # until a GET returned the event


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledForewarn:
    """A virtual environment with forewarn."""

    program: Path
    made_in: float  # seconds
    installed_in: float  # seconds


def install(folder: Path) -> InstalledForewarn:
    """Create a virtual environment in `folder` and install forewarn there."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    created = time.perf_counter()
    pip = [str(folder / "bin" / "pip"), "install", "--quiet", "--no-cache-dir"]
    subprocess.run([*pip, f"{_ROOT}[server]"], check=True, stderr=subprocess.DEVNULL)
    return InstalledForewarn(
        program=folder / "bin" / "forewarn",
        made_in=created - begun,
        installed_in=time.perf_counter() - created,
    )


def play(program: Path, folder: Path) -> FirstEventTimes:
    """Run the two commands, then read the event."""
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
        _check_event(metadata)
        seen = time.perf_counter() - begun
    return FirstEventTimes(ready=ready, announced=announced, seen=seen)


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
    """Read the two lines that are printed when both planes are ready."""
    assert process.stdout is not None
    lines = [process.stdout.readline().split() for _ in range(2)]
    addresses = dict(words for words in lines if len(words) == 2)
    return addresses["metadata"], addresses["control"]


def _check_event(metadata: str) -> None:
    """Check that one GET returns the event."""
    request = Request(metadata + _EVENTS, headers={"Metadata": "true"})
    with urlopen(request, timeout=10) as response:
        (event,) = json.load(response)["Events"]
    if event["EventType"] != "Reboot":
        raise RuntimeError(f"unexpected event: {event}")


def _format(seconds: Sequence[float]) -> str:
    half = statistics.median(seconds)
    return f"median {half:6.2f} s   max {max(seconds):6.2f} s   n {len(seconds)}"


def main() -> None:
    """Run the benchmark and print a table."""
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
    write(line("virtual environment", f"{installed.made_in:6.2f} s"))
    write(line("pip install '.[server]'", f"{installed.installed_in:6.2f} s"))
    write(line("serve: both planes ready", _format([one.ready for one in played])))
    write(line("vm restart: announced", _format([one.announced for one in played])))
    write(line("GET: event visible", _format([one.seen for one in played])))


if __name__ == "__main__":
    main()
