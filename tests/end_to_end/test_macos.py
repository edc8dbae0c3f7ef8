"""The service and the test kit with the restrictions of macOS imitated.

Nothing here has run on a Mac: `imitated_macos` describes what is imitated.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from tests.end_to_end.program import (
    PORTS,
    FinishedCommand,
    check_sentence,
    finish,
)
from tests.patience import PATIENCE

MACOS = (sys.executable, "-m", "tests.end_to_end.imitated_macos")
ROOT = Path(__file__).parents[2]

HANDLER = """
import os, time
from forewarn import Client

client = Client(os.environ["FOREWARN_ENDPOINT"])
for change in client.watch():
    for event in change.appeared:
        if "web-0" in event.resources:
            client.approve(event)
"""


def environment(home: Path) -> Mapping[str, str]:
    """Return the environment of a program whose user has an empty home."""
    return {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}


def run(home: Path, *words: str) -> FinishedCommand:
    """Run `forewarn` with `words` until it exits."""
    return finish([*MACOS, *words], home, environment(home))


def test_service_announces_and_serves_events(tmp_path: Path) -> None:
    words = ("serve", "--store", "memory", "--fleet", "demo", "--json", *PORTS)
    with subprocess.Popen(
        [*MACOS, *words],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        text=True,
    ) as service:
        assert service.stdout is not None
        try:
            addresses = json.loads(service.stdout.readline())
            url = ("--url", addresses["control"])
            run(tmp_path, "vm", "restart", "web-0", *url)
            events = run(tmp_path, "maintenance", "list", "--json", *url)
        finally:
            service.terminate()
            service.wait(PATIENCE)
    assert service.returncode == 0
    assert "Reboot" in events.out


def test_program_is_rehearsed(tmp_path: Path) -> None:
    handler = tmp_path / "handler.py"
    handler.write_text(HANDLER)
    words = ("rehearse", "user-reboot", "--", sys.executable, str(handler))
    end = run(tmp_path, *words)
    assert (end.code, "Traceback" in end.err) == (0, False)
    assert "PASSED user-reboot" in end.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("agent",), "the agent requires Linux; use `forewarn watch`"),
        (
            ("serve", "--driver=script", "--driver-command=true", *PORTS),
            "the script driver requires Linux",
        ),
    ],
)
def test_linux_features_are_refused_with_an_alternative(
    words: Sequence[str], message: str, tmp_path: Path
) -> None:
    check_sentence(run(tmp_path, *words), 1, message)
