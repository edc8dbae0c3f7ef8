"""Builders for hooks and hook calls; every argument is optional."""

import json
import os
import select
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.patience import PATIENCE

from forewarn.agent.config.plan import Hook, HookPoint
from forewarn.agent.events.state import HookRun
from forewarn.agent.hooks.call import Cancellation, HookCall
from forewarn.agent.hooks.runner import run_hook
from forewarn.client.service_clock import ClockEstimate, ServiceClock
from forewarn.protocol.codec import decode
from forewarn.protocol.types import ScheduledEvent

LONG = PATIENCE

#: Goes on for longer than any test; TERM ends the shell while it waits.
ON_AND_ON = "sleep 120 & wait"

DEADLINE = datetime(2016, 9, 19, 18, 29, 42, tzinfo=UTC)
DRAIN = Hook(name="drain", command=("/usr/local/bin/drain",))

SHOWN: Mapping[str, object] = {
    "EventId": "7D4C0FBB-5A6E-4F9B-9A51-1D2C3B4A5968",
    "EventStatus": "Scheduled",
    "EventType": "Reboot",
    "ResourceType": "VirtualMachine",
    "Resources": ["web-0", "web-1"],
    "NotBefore": "Mon, 19 Sep 2016 18:29:47 GMT",
    "Description": "Host server is undergoing maintenance.",
    "EventSource": "Platform",
    "DurationInSeconds": 9,
}


def an_event(**shown: object) -> ScheduledEvent:
    """Return an event as decoded from a document, with some keys changed."""
    (event,) = decode(json.dumps({"Events": [{**SHOWN, **shown}]}).encode()).events
    return event


def sh(
    text: str, *, timeout: float | None = None, tries: int = 1, retry_after: float = 0.0
) -> Hook:
    """Build a hook that the shell runs."""
    return Hook(
        name="drain",
        command=("/bin/sh", "-c", text),
        timeout=timeout,
        tries=tries,
        retry_after=retry_after,
    )


def a_call(
    event: ScheduledEvent | None = None,
    *,
    hook: Hook = DRAIN,
    token: str = "run-1",
    times: int = 1,
    left: float = 1e6,
    rate: float = 1.0,
    monotonic: Callable[[], float] = time.monotonic,
    cut: Cancellation | None = None,
) -> HookCall:
    """Build a call in the step `prepare` on web-0, `left` seconds before `DEADLINE`."""
    now = DEADLINE - timedelta(seconds=left)
    clock = ServiceClock(monotonic)
    clock.update(ClockEstimate(date=now, at=monotonic(), rate=rate))
    return HookCall(
        hook=hook,
        run=HookRun(
            step=HookPoint.PREPARE, hook="drain", token=token, times=times, begun_at=now
        ),
        event=event or an_event(),
        rule="reboots",
        name="web-0",
        endpoint="http://127.0.0.1:1",
        clock=clock,
        deadline=DEADLINE,
        kill_after=LONG,
        cancellation=cut or Cancellation(),
    )


def ran(
    hook: Hook | str, call: HookCall | None = None, kill_after: float = LONG
) -> HookRun:
    """Run a hook, or a shell command given as text."""
    hook = sh(hook) if isinstance(hook, str) else hook
    return run_hook(replace(call or a_call(), hook=hook, kill_after=kill_after))


def seconds(run: HookRun) -> float:
    """Return how long a hook ran, by the service's clock."""
    assert run.ended_at is not None
    return (run.ended_at - run.begun_at).total_seconds()


class ReadyPipe:
    """A named pipe through which a hook reports that it is up."""

    def __init__(self, folder: Path, name: str = "ready") -> None:
        self.path = folder / name
        os.mkfifo(self.path)
        self._file = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)

    def read(self) -> str:
        """Wait for one message and return it."""
        with closing(select.epoll()) as poller:
            poller.register(self._file, select.EPOLLIN)
            assert poller.poll(LONG), "the hook sent no message"
        return os.read(self._file, 4096).decode().strip()

    def close(self) -> None:
        os.close(self._file)


def is_gone(pid: int) -> bool:
    """Return whether a process ends within `PATIENCE`, even if not reaped."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([pidfd], [], [], LONG)[0])
    finally:
        os.close(pidfd)
