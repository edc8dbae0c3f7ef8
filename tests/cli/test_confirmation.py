"""Confirmation of commands that cannot be undone, on a real terminal."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.samples import a_maintenance
from tests.cli.support.service import Service
from tests.patience import PATIENCE

FINAL = [
    ("vm delete web-0 web-1", "delete 2 VMs (web-0, web-1) ("),
    ("host failed host-a", "report that host-a failed, and cancel the maintenance"),
    ("token revoke ci", "revoke token ci, effective immediately ("),
    (
        "announce reboot --host host-a --emergency --reason smoke",
        "announce an emergency reboot of host-a, with less notice than the minimum (",
    ),
    (
        "host maintain host-a --emergency --reason smoke",
        "announce an emergency freeze of host-a, with less notice than the minimum (",
    ),
]


def on_terminal(
    service: Service, folder: Path, command: str, reply: bytes
) -> tuple[int, str]:
    """Run a command on a terminal, type `reply`, and return its code and output."""
    reading, writing = os.openpty()
    environment = {"FOREWARN_URL": service.url, "FOREWARN_TOKEN": "secret"}
    process = subprocess.Popen(
        [sys.executable, "-m", "forewarn", *command.split()],
        stdin=writing,
        stdout=writing,
        stderr=writing,
        env={**os.environ, **environment, "FOREWARN_STATE_DIR": str(folder)},
        start_new_session=True,
        preexec_fn=_control_terminal,
    )
    os.close(writing)
    shown, is_answered = b"", False
    deadline = time.monotonic() + PATIENCE
    try:
        while time.monotonic() < deadline:
            try:
                read = os.read(reading, 4096)
            except OSError:  # the program has closed the terminal
                break
            shown += read
            if b"[y/N] " in shown and not is_answered:
                os.write(reading, reply)
                is_answered = True
        return process.wait(PATIENCE), shown.decode().replace("\r\n", "\n")
    finally:
        process.kill()
        process.wait(PATIENCE)
        os.close(reading)


def _control_terminal() -> None:
    """Make standard input the controlling terminal, so that Ctrl-C sends a signal."""
    os.close(os.open(os.ttyname(0), os.O_RDWR))


def respond(service: Service) -> None:
    answer = {"maintenances": [a_maintenance(vms=["web-0"])]}
    service.respond("POST", "/v1/vms/web-0/delete", answer, 201)


@pytest.mark.parametrize(("command", "question"), FINAL)
def test_without_a_terminal_nothing_is_sent(
    service: Service, run: Cli, command: str, question: str
) -> None:
    message = run(command, code=2)
    assert message.startswith(f"forewarn: confirmation required: {question}")
    assert f"{service.url}); to confirm, add --yes" in message
    assert service.requests == []


@pytest.mark.slow
def test_confirmed_command_is_carried_out(service: Service, tmp_path: Path) -> None:
    respond(service)
    code, shown = on_terminal(service, tmp_path, "vm delete web-0", b"y\n")
    assert code == 0, shown
    assert shown.startswith(f"Delete 1 VM (web-0) ({service.url})? [y/N] ")
    assert "announced: Reboot of web-0" in shown


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reply", "code"), [(b"\n", 1), (b"n\n", 1), (b"\x04", 1), (b"\x03", 130)]
)
def test_declined_command_changes_nothing(
    service: Service, tmp_path: Path, reply: bytes, code: int
) -> None:
    result, shown = on_terminal(service, tmp_path, "vm delete web-0", reply)
    assert (result, service.requests) == (code, [])
    assert shown.endswith("\nforewarn: nothing was changed\n")
    assert "Traceback" not in shown


def test_yes_skips_the_prompt(service: Service, run: Cli) -> None:
    respond(service)
    assert "announced" in run("vm delete web-0 --yes -o table")


@pytest.mark.slow
def test_question_contains_no_control_characters(
    service: Service, tmp_path: Path
) -> None:
    _, shown = on_terminal(service, tmp_path, "vm delete a\x1b[31mb", b"n\n")
    assert "\x1b" not in shown
