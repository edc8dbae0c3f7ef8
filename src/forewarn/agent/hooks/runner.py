"""Hook runner: retries, timeouts and results.

1. `run_hook` always returns a result and never raises an error because of a hook.
2. A hook succeeds only if its process exits on its own with code 0.
3. A hook that runs out of time or is canceled receives SIGTERM and, a while later,
   SIGKILL. The processes that the hook started receive the same signals. If a hook
   exits on its own, processes that it leaves behind keep running.
4. No hook starts when no time is left.
5. A script in the scripts directory does not start if other users could change it.
"""

import errno
import os
import select
import time
from dataclasses import dataclass, replace
from pathlib import Path
from signal import Signals

from forewarn.agent.events.state import HookOutcome, HookRun
from forewarn.agent.hooks.call import HookCall
from forewarn.agent.hooks.command import command_failure, command_of, shell_command
from forewarn.agent.hooks.environment import hook_environment, hook_stdin
from forewarn.agent.hooks.process import HookProcess, OutputTail
from forewarn.agent.permissions import permission_problem

_RECHECK = 1.0  # seconds between checks of the remaining time: clocks can change
_DRAIN = 0.2  # seconds for remaining output after the process has ended


def run_hook(call: HookCall) -> HookRun:
    """Run a hook and wait for it to end; return the run with its result."""
    tail = OutputTail()
    try:
        with call.cancellation.wake_fd() as wake:
            last = _run(_Task(call, tail, wake))
    except OSError as error:  # no file descriptor for wake-ups
        last = _failed(call, f"could not start: {error.strerror}")
    return replace(last, ended_at=call.clock.now(), output=tail.text())


@dataclass(frozen=True, slots=True)
class _Task:
    """A call, its output, and the file descriptor that wakes its waits."""

    call: HookCall
    tail: OutputTail
    wake: int


def _failed(call: HookCall, reason: str, code: int | None = None) -> HookRun:
    return replace(call.run, outcome=HookOutcome.FAILED, code=code, reason=reason)


def _cut(call: HookCall, reason: str) -> HookRun:
    return replace(call.run, outcome=HookOutcome.CUT, reason=reason)


# --- retries -----------------------------------------------------------------


def _run(task: _Task) -> HookRun:
    """Try until the hook succeeds or no retry is allowed."""
    tries = 0
    last = _why_over(task.call, "no time was left to start it")
    while last is None or _can_retry(task, tries, last):
        tries += 1
        last = _try(task, tries)
    return replace(last, tries=tries)


def _can_retry(task: _Task, tries: int, last: HookRun) -> bool:
    """Wait until the next try is due; return False if no retry is allowed."""
    call = task.call
    if last.outcome is HookOutcome.DONE or tries >= call.hook.tries:
        return False
    until = time.monotonic() + call.clock.real(call.hook.retry_after)
    while (rest := until - time.monotonic()) > 0:
        left = call.wait_left()
        if _why_over(call) is not None or (left is not None and left <= rest):
            return False
        select.select([task.wake], [], [], min(rest, _RECHECK))
    return _why_over(call) is None


def _why_over(call: HookCall, reason: str = "time limit reached") -> HookRun | None:
    """Return why the hook may no longer run, or None if it may."""
    canceled = call.cancellation.reason
    if canceled is not None:
        return _cut(call, canceled)
    left = call.wait_left()
    return _cut(call, reason) if left is not None and left <= 0 else None


# --- one try -----------------------------------------------------------------


def _try(task: _Task, tried: int) -> HookRun:
    call, command = task.call, command_of(task.call.hook)
    problem = permission_problem(Path(command[0])) if call.hook.is_script else None
    if problem is not None:
        return _failed(call, problem)
    try:
        process = _start(task, command, tried)
    except (OSError, ValueError) as error:
        return _failed(call, command_failure(command, error))
    end: HookRun | None = None
    with process:
        own = call.hook.timeout
        until = None if own is None else time.monotonic() + call.clock.real(own)
        while not process.has_ended and (end := _why_end(call, until)) is None:
            process.pump(_seconds_to_wait(call, until))
        if end is not None:
            process.end(call.clock.real(call.kill_after))
        process.drain(_DRAIN)
    return _exited(call, process.code) if end is None else _ended(end, process)


def _start(task: _Task, command: tuple[str, ...], tried: int) -> HookProcess:
    environment = hook_environment(task.call, own=os.environ, tried=tried)

    def start(command: tuple[str, ...]) -> HookProcess:
        return HookProcess(
            command,
            environment=environment,
            stdin=hook_stdin(task.call),
            tail=task.tail,
            wake=task.wake,
        )

    if not command:
        raise ValueError("the command is empty")
    try:
        return start(command)
    except OSError as error:
        script = shell_command(command) if error.errno == errno.ENOEXEC else None
        if script is None:
            raise
        return start(script)


def _why_end(call: HookCall, until: float | None) -> HookRun | None:
    """Return why the hook must end now, or None if it may continue.

    `until` is the end of the hook's own timeout on the monotonic clock; None means no
    timeout.
    """
    if until is not None and time.monotonic() >= until:
        reason = f"it took longer than {call.hook.timeout:g} s"
        return _why_over(call) or _cut(call, reason)
    return _why_over(call)


def _seconds_to_wait(call: HookCall, until: float | None) -> float:
    """Return how long to wait, in real time, before checking the deadlines again."""
    left = call.wait_left()
    own = None if until is None else until - time.monotonic()
    return min(seconds for seconds in (left, own, _RECHECK) if seconds is not None)


# --- results -----------------------------------------------------------------


def _exited(call: HookCall, code: int | None) -> HookRun:
    if code == 0:
        return replace(call.run, outcome=HookOutcome.DONE, code=0)
    if code is None:
        return _failed(call, "exit code unknown, because SIGCHLD is ignored")
    if code > 0:
        return _failed(call, f"exit code {code}", code)
    return _failed(call, f"killed by signal {_signal_name(-code)}", code)


def _ended(end: HookRun, process: HookProcess) -> HookRun:
    reason = end.reason
    if not process.has_ended:
        reason += "; SIGKILL did not stop it"
    elif process.was_killed:
        reason += "; SIGTERM did not stop it, so it was killed"
    return replace(end, code=process.code, reason=reason)


def _signal_name(number: int) -> str:
    try:
        return f"{number} ({Signals(number).name})"
    except ValueError:  # a real-time signal
        return f"{number}"
