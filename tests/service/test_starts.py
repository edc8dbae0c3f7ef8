"""Repeated starts and stops of the complete service in one process."""

import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from threading import enumerate as threads
from typing import Any

import pytest
from tests.lanes import size
from tests.server.support.service import TOKEN, RunningService, a_config, a_service

from forewarn.server.metadata.faults.plane import InstrumentedPlane
from forewarn.service.service import Service
from forewarn.service.sockets import bound_address

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(360)
def test_starts_leave_nothing_behind() -> None:
    starts = str(size(10, 100))
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.starts", "--starts", starts],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_start_that_lacks_threads_fails_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, before = Thread.start, {*threads()}
    config = a_config(tmp_path, store=f"sqlite:///{tmp_path / 'kept.db'}")
    left = 0

    def start_some(thread: Thread) -> None:
        nonlocal left
        if not left:
            raise RuntimeError("can't start new thread")
        left -= 1
        start(thread)

    monkeypatch.setattr(Thread, "start", start_some)
    for most in range(6):  # it needs at least one more
        left, system = most, Service(config, TOKEN, is_guest=True)
        with pytest.raises(RuntimeError, match="start new thread"), system:
            system.open_control()
        assert {*threads()} <= before
    left = 100
    with Service(config, TOKEN, is_guest=True) as system:
        system.open_control()


def test_first_approval_after_a_start_is_visible_when_it_is_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = {"store": f"sqlite:///{tmp_path / 'kept.db'}"}
    with a_service(tmp_path, **store) as before:
        (event,) = before.announce(vms=["web-0"])["events"]
    statuses = []

    class EarlyPlane(InstrumentedPlane):
        """A plane with a VM that approves as soon as it can connect."""

        def __init__(self, sockets: Sequence[socket.socket], *parts: Any, **more: Any):
            super().__init__(sockets, *parts, **more)
            self.address = f"http://{bound_address(sockets[0])}"

        def start(self) -> None:
            super().start()
            vm = RunningService(metadata=self.address, control="")
            assert vm.approve_as("web-0", event["id"]).status == 200
            statuses.append(vm.document("web-0")["Events"][0]["EventStatus"])

    monkeypatch.setattr("forewarn.service.service.InstrumentedPlane", EarlyPlane)
    with a_service(tmp_path, **store):
        assert statuses == ["Started"]
