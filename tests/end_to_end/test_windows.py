"""In-VM commands and clients with the restrictions of Windows imitated.

Nothing here has run on Windows: `imitated_windows` describes what is imitated.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.end_to_end.program import FinishedCommand, check_sentence, finish, until
from tests.patience import PATIENCE

from forewarn.cli.main import COMMANDS, LINUX_COMMANDS
from forewarn.recordings.file import read_recording
from forewarn.testing.rehearsal.rehearsal import Rehearsal

ROOT = Path(__file__).parents[2]
WINDOWS = (sys.executable, str(Path(__file__).with_name("imitated_windows.py")))
PAGE = "docs/how-to/scheduled-events-in-a-windows-vm.md"

SOON = 10.0  # seconds; a held request takes 30


def run(folder: Path, *words: str) -> FinishedCommand:
    """Run `forewarn` with `words`, or a program with -c, until it exits."""
    return finish([*WINDOWS, *words], folder, {})


class RunningCommand:
    """A running command and its output."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def until(self, words: str) -> str:
        """Read output until a line contains `words`, and return that line."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if words in line:
                return line
        raise AssertionError(f"it ended without printing {words!r}")

    def interrupt(self) -> tuple[int, str, float]:
        """Press Ctrl-C; return the exit code, the errors and the seconds it took."""
        began = time.monotonic()
        self._process.send_signal(signal.SIGINT)
        _, errors = self._process.communicate(timeout=PATIENCE)
        return self._process.returncode, errors, time.monotonic() - began


@contextmanager
def running(
    folder: Path, *words: str | Path, **environment: str
) -> Iterator[RunningCommand]:
    """Run a command, and kill it when the block ends."""
    with subprocess.Popen(
        [*WINDOWS, *map(str, words)],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield RunningCommand(process)
        finally:
            process.kill()


def until_held(rehearsal: Rehearsal, polls: int) -> None:
    """Wait until the service has received `polls` requests, the last of them held."""
    until(lambda: len(rehearsal.observer.arrivals_of("web-0")) >= polls)


# --- the imitation -----------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import forewarn.service.service", "Error"),
        ("import forewarn.service.sockets", "import of resource halted"),
        ("import forewarn.stores.sqlite_file", "import of fcntl halted"),
        ("import forewarn.agent.storage.store", "import of fcntl halted"),
        ("import pwd", "import of pwd halted"),
        ("import os; os.listdir('/proc')", "no such file"),
        ("open('/proc/self/stat')", "no such file"),
        ("import os; os.getuid()", "no attribute 'getuid'"),
        ("import signal; signal.SIGHUP", "no attribute 'SIGHUP'"),
        ("import signal; signal.alarm(1)", "no attribute 'alarm'"),
        (
            "import os, select; select.select([os.pipe()[0]], [], [], 0)",
            "non-socket",
        ),
    ],
)
def test_imitated_windows_lacks_what_the_service_needs(
    program: str, reason: str, tmp_path: Path
) -> None:
    done = run(tmp_path, "-c", program)
    assert done.code == 1
    assert reason in done.err.splitlines()[-1]


# --- commands ----------------------------------------------------------------


def test_watch_shows_changes_until_ctrl_c(tmp_path: Path) -> None:
    with (
        Rehearsal() as rehearsal,
        running(tmp_path, "watch", "--endpoint", rehearsal.endpoint) as watch,
    ):
        watch.until("no events")
        reboot = rehearsal.reboot("web-0")
        assert reboot.id in watch.until("appeared")
        rehearsal.advance_to_end(reboot)
        watch.until("completed")
        code, errors, _ = watch.interrupt()
    assert (code, errors) == (130, "")


def test_ctrl_c_ends_watch_while_the_service_holds_a_request(tmp_path: Path) -> None:
    with (
        Rehearsal() as rehearsal,
        running(tmp_path, "watch", "--endpoint", rehearsal.endpoint) as watch,
    ):
        watch.until("no events")
        until_held(rehearsal, 3)  # the first two are not held
        code, errors, seconds = watch.interrupt()
    assert (code, errors) == (130, "")
    assert seconds < SOON


def test_approve_starts_the_event(tmp_path: Path) -> None:
    with Rehearsal() as rehearsal:
        words = ("--endpoint", rehearsal.endpoint)
        run(tmp_path, "watch", "--once", *words)  # enables Scheduled Events
        reboot = rehearsal.reboot("web-0")
        done = run(tmp_path, "approve", "--all", "--json", *words)
        assert (done.code, done.err) == (0, "")
        assert json.loads(done.out) == {"approved": [reboot.id]}
        shown = run(tmp_path, "watch", "--once", *words)
    assert "Started" in shown.out


def test_record_writes_a_recording_until_ctrl_c(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    with Rehearsal() as rehearsal:
        words = ("record", "-o", path, "--append", "--endpoint", rehearsal.endpoint)
        with running(tmp_path, *words) as record:
            record.until("document 0")
            code, errors, seconds = record.interrupt()
        assert (code, errors) == (0, "")
        assert seconds < SOON
        rehearsal.reboot("web-0")
        with running(tmp_path, *words) as record:
            record.until("recording continues")
            record.until("Reboot Scheduled")
            assert record.interrupt()[:2] == (0, "")
    assert len(read_recording(path).documents) == 2
    assert b"\r" not in path.read_bytes()


def test_the_zipapp_runs_on_imitated_windows(tmp_path: Path) -> None:
    archive = tmp_path / "forewarn.pyz"
    finish([str(ROOT / "scripts" / "zipapp"), str(archive)], tmp_path, os.environ)
    python, launcher = WINDOWS
    with Rehearsal() as rehearsal:
        words = ("watch", "--once", "--endpoint", rehearsal.endpoint)
        alone = [python, "-S", launcher, *words]  # -S: forewarn is not installed
        done = finish(alone, tmp_path, {"PYTHONPATH": str(archive)})
    assert (done.code, done.err) == (0, "")
    assert "no events" in done.out


@pytest.mark.parametrize("command", LINUX_COMMANDS)
def test_commands_that_need_linux_name_the_page_for_windows(
    command: str, tmp_path: Path
) -> None:
    for words in ((command,), (command, "--help"), (command, "check")):
        done = run(tmp_path, *words)
        words_said = f"`forewarn {command}` does not run on Windows"
        check_sentence(done, 1, words_said, PAGE)
    assert (ROOT / PAGE).exists()


def test_help_lists_the_commands_that_run(tmp_path: Path) -> None:
    done = run(tmp_path, "--help")
    assert (done.code, done.err) == (0, "")
    for command in COMMANDS:
        assert (f"\n  {command} " in done.out) == (command not in LINUX_COMMANDS)


# --- clients -----------------------------------------------------------------

BLOCKING = """
import sys
from forewarn import Client
with Client(sys.argv[3]) as client:
    for change in client.watch():
        for event in change.appeared:
            print(event.id, client.instance().name, flush=True)
            client.approve(event)
        if change.started:
            break
"""
ASYNC = """
import asyncio, sys
from forewarn.client import aio
async def main():
    async with aio.Client(sys.argv[3]) as client:
        async for change in client.watch():
            for event in change.appeared:
                print(event.id, (await client.instance()).name, flush=True)
                await client.approve(event)
            if change.started:
                break
asyncio.run(main())
"""


@pytest.mark.parametrize("program", [BLOCKING, ASYNC], ids=["blocking", "asyncio"])
def test_clients_watch_and_approve(program: str, tmp_path: Path) -> None:
    with Rehearsal() as rehearsal:
        run(tmp_path, "watch", "--once", "--endpoint", rehearsal.endpoint)
        reboot = rehearsal.reboot("web-0")
        done = run(tmp_path, "-c", program, rehearsal.endpoint)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{reboot.id} web-0\n"


# --- the program on the page -------------------------------------------------

POWERSHELL = """\
#!/bin/sh
echo "$3" >> "$(dirname "$0")/commands"
"""


def test_program_on_the_page_stops_services_and_approves(tmp_path: Path) -> None:
    program = (ROOT / PAGE).read_text().split("```python\n")[1].partition("```")[0]
    powershell = tmp_path / "powershell"
    powershell.write_text(POWERSHELL)
    powershell.chmod(0o755)
    commands = tmp_path / "commands"
    path = f"{tmp_path}:/usr/bin:/bin"
    with Rehearsal() as rehearsal:
        environment = {"PATH": path, "FOREWARN_ENDPOINT": rehearsal.endpoint}
        with running(tmp_path, "-c", program, **environment) as running_program:
            until_held(rehearsal, 2)
            rehearsal.reboot("web-1")  # another VM
            reboot = rehearsal.reboot("web-0")
            running_program.until(f"Reboot {reboot.id}")
            reboot.assert_approved(by="web-0")
            assert commands.read_text() == "Stop-Service W3SVC\n"
            rehearsal.advance_to_end(reboot)
            until(lambda: "Start-Service W3SVC" in commands.read_text())
