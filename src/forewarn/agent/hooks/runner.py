"""Hook runner: retries, timeouts and results.

1. Whatever a hook does, `run_hook` returns a result; it never raises because of it.
2. A hook has succeeded only if its process ended by itself with exit code 0.
3. A hook that runs out of time or is canceled gets TERM, together with all that it has
   started, and KILL a while later. Processes that a hook leaves behind when it ends by
   itself are left alone.
4. Nothing is started when no time is left.
"""

import errno
import os
import select
import time
from dataclasses import dataclass
from signal import Signals

from forewarn.agent.config.plan import Hook
from forewarn.agent.events.state import HookOutcome
from forewarn.agent.hooks.call import HookCall
from forewarn.agent.hooks.command import command_failure, command_of, shell_command
from forewarn.agent.hooks.environment import hook_environment, hook_stdin
from forewarn.agent.hooks.process import HookProcess, OutputTail

_RECHECK = 1.0  # seconds between two checks of the remaining time: clocks can be moved
_DRAIN = 0.2  # seconds for remaining output after the process has ended


@dataclass(frozen=True, slots=True, kw_only=True)
class HookResult:
    """The result of a hook."""

    outcome: HookOutcome
    code: int | None = None  # exit code, or minus a signal's number; None if not run
    output: str = ""  # the end of its output, of all tries
    tries: int = 0
    reason: str = ""  # why it failed or was cut, as a sentence
    seconds: float = 0.0  # real seconds, including those between tries


def run_hook(hook: Hook, call: HookCall, *, kill_after: float) -> HookResult:
    """Run `hook` and wait for its end.

    `kill_after` is the number of real seconds between TERM and KILL.
    """
    began, tail = time.monotonic(), OutputTail()
    try:
        with call.cancellation.wake_fd() as wake:
            tries, last = _run(_Task(hook, call, tail, wake, kill_after))
    except OSError as error:  # no file descriptor for wake-ups
        tries, last = 0, _failed(f"it cannot be run: {error.strerror}")
    return HookResult(
        outcome=last.outcome,
        code=last.code,
        output=tail.text(),
        tries=tries,
        reason=last.reason,
        seconds=time.monotonic() - began,
    )


@dataclass(frozen=True, slots=True)
class _Task:
    """The arguments of one `run_hook` call."""

    hook: Hook
    call: HookCall
    tail: OutputTail
    wake: int
    kill_after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """The result of one try, or why there was none."""

    outcome: HookOutcome
    code: int | None = None
    reason: str = ""


def _failed(reason: str, code: int | None = None) -> _Result:
    return _Result(outcome=HookOutcome.FAILED, code=code, reason=reason)


# --- retries -----------------------------------------------------------------


def _run(task: _Task) -> tuple[int, _Result]:
    """Try until it succeeds or may not be retried; return the number of tries."""
    tries = 0
    last = _why_over(task, "there was no time left to run it")
    while last is None or _can_retry(task, tries, last):
        tries += 1
        last = _try(task, tries)
    return tries, last


def _can_retry(task: _Task, tries: int, last: _Result) -> bool:
    """Wait for the next try; return whether there is one."""
    if last.outcome is HookOutcome.DONE or tries >= task.hook.tries:
        return False
    until = time.monotonic() + task.call.real(task.hook.retry_after)
    while (rest := until - time.monotonic()) > 0:
        left = task.call.wait_left()
        if _why_over(task, "") is not None or (left is not None and left <= rest):
            return False
        select.select([task.wake], [], [], min(rest, _RECHECK))
    return _why_over(task, "") is None


def _why_over(task: _Task, reason: str = "its time was up") -> _Result | None:
    """Return why nothing may run any more; None if it may."""
    canceled = task.call.cancellation.reason
    if canceled is not None:
        return _Result(outcome=HookOutcome.CUT, reason=canceled)
    if task.call.is_late():
        return _Result(outcome=HookOutcome.CUT, reason=reason)
    return None


# --- one try -----------------------------------------------------------------


def _try(task: _Task, tried: int) -> _Result:
    command = command_of(task.hook)
    try:
        process = _start(task, command, tried)
    except (OSError, ValueError) as error:
        return _failed(command_failure(command, error))
    end: _Result | None = None
    with process:
        until = _own_deadline(task)
        while not process.has_ended and (end := _why_end(task, until)) is None:
            process.pump(_seconds_to_wait(task, until))
        if end is not None:
            process.end(task.kill_after)
        process.drain(_DRAIN)
    return _exit_result(process.code) if end is None else _ended_result(end, process)


def _start(task: _Task, command: tuple[str, ...], tried: int) -> HookProcess:
    environment = hook_environment(task.call, task.hook, own=os.environ, tried=tried)

    def start(command: tuple[str, ...]) -> HookProcess:
        return HookProcess(
            command,
            environment=environment,
            stdin=hook_stdin(task.call),
            tail=task.tail,
            wake=task.wake,
        )

    if not command:
        raise ValueError("there is nothing to run")
    try:
        return start(command)
    except OSError as error:
        script = shell_command(command) if error.errno == errno.ENOEXEC else None
        if script is None:
            raise
        return start(script)


def _own_deadline(task: _Task) -> float | None:
    """Return when the hook's own timeout ends (monotonic clock); None without one."""
    own = task.hook.timeout
    return None if own is None else time.monotonic() + task.call.real(own)


def _why_end(task: _Task, until: float | None) -> _Result | None:
    """Return why it must end now; None if it may continue."""
    if until is not None and time.monotonic() >= until:
        reason = f"it took longer than {task.hook.timeout:g} s"
        return _why_over(task) or _Result(outcome=HookOutcome.CUT, reason=reason)
    return _why_over(task)


def _seconds_to_wait(task: _Task, until: float | None) -> float:
    """Return the real seconds until the time must be checked again."""
    left = task.call.wait_left()
    own = None if until is None else until - time.monotonic()
    return min(seconds for seconds in (left, own, _RECHECK) if seconds is not None)


# --- results -----------------------------------------------------------------


def _exit_result(code: int | None) -> _Result:
    if code == 0:
        return _Result(outcome=HookOutcome.DONE, code=0)
    if code is None:
        return _failed("it has ended, but nobody knows how: SIGCHLD is ignored")
    if code > 0:
        return _failed(f"it ended with exit code {code}", code)
    return _failed(f"it was ended by signal {_signal_name(-code)}", code)


def _ended_result(end: _Result, process: HookProcess) -> _Result:
    reason = end.reason
    if not process.has_ended:
        reason += "; it could not be ended, not even by KILL"
    elif process.was_killed:
        reason += "; it did not end when it was told to, and was killed"
    return _Result(outcome=end.outcome, code=process.code, reason=reason)


def _signal_name(number: int) -> str:
    try:
        return f"{number} ({Signals(number).name})"
    except ValueError:  # a real-time signal
        return f"{number}"
