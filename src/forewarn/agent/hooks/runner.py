"""Hook runner: retries, timeouts and results.

1. Whatever a hook does, `run` returns a result; it never raises because of the hook.
2. A hook has succeeded only if its process ended by itself with exit code 0.
3. A hook that runs out of time or is cut gets TERM, together with all that it has
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
from forewarn.agent.hooks.command import by_shell, command_failure, command_of
from forewarn.agent.hooks.environment import hook_environment, hook_stdin
from forewarn.agent.hooks.process import HookProcess, OutputTail

_LOOK = 1.0  # seconds between two looks at the remaining time: clocks can be moved
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
        with call.cut.waking() as wake:
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
    """The arguments of `run`."""

    hook: Hook
    call: HookCall
    tail: OutputTail
    wake: int
    kill_after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """The result of one try, or why there was none."""

    outcome: HookOutcome
    code: int | None = None
    reason: str = ""


def _failed(reason: str, code: int | None = None) -> _End:
    return _End(outcome=HookOutcome.FAILED, code=code, reason=reason)


# --- retries -----------------------------------------------------------------


def _run(task: _Task) -> tuple[int, _End]:
    """Try until it succeeds or may not be retried; return the number of tries."""
    tries = 0
    last = _over(task, "there was no time left to run it")
    while last is None or _may_go_on(task, tries, last):
        tries += 1
        last = _try(task, tries)
    return tries, last


def _may_go_on(task: _Task, tries: int, last: _End) -> bool:
    """Wait for the next try; return whether there is one."""
    if last.outcome is HookOutcome.DONE or tries >= task.hook.tries:
        return False
    until = time.monotonic() + task.call.real(task.hook.retry_after)
    while (rest := until - time.monotonic()) > 0:
        left = task.call.wait_left()
        if _over(task, "") is not None or (left is not None and left <= rest):
            return False
        select.select([task.wake], [], [], min(rest, _LOOK))
    return _over(task, "") is None


def _over(task: _Task, reason: str = "its time was up") -> _End | None:
    """Return why nothing may run any more; None if it may."""
    cut = task.call.cut.reason
    if cut is not None:
        return _End(outcome=HookOutcome.CUT, reason=cut)
    if task.call.is_late():
        return _End(outcome=HookOutcome.CUT, reason=reason)
    return None


# --- one try -----------------------------------------------------------------


def _try(task: _Task, tried: int) -> _End:
    command = command_of(task.hook)
    try:
        child = _begin(task, command, tried)
    except (OSError, ValueError) as error:
        return _failed(command_failure(command, error))
    cut: _End | None = None
    with child:
        until = _until(task)
        while not child.has_ended and (cut := _due(task, until)) is None:
            child.attend(_patience(task, until))
        if cut is not None:
            child.end(task.kill_after)
        child.drain(_DRAIN)
    return _judge(child.code) if cut is None else _told_to_end(cut, child)


def _begin(task: _Task, command: tuple[str, ...], tried: int) -> HookProcess:
    environment = hook_environment(task.call, task.hook, own=os.environ, tried=tried)

    def begin(command: tuple[str, ...]) -> HookProcess:
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
        return begin(command)
    except OSError as error:
        script = by_shell(command) if error.errno == errno.ENOEXEC else None
        if script is None:
            raise
        return begin(script)


def _until(task: _Task) -> float | None:
    """Return when the hook's own timeout ends (monotonic clock); None without one."""
    own = task.hook.timeout
    return None if own is None else time.monotonic() + task.call.real(own)


def _due(task: _Task, until: float | None) -> _End | None:
    """Return why it must end now; None if it may continue."""
    if until is not None and time.monotonic() >= until:
        reason = f"it took longer than {task.hook.timeout:g} s"
        return _over(task) or _End(outcome=HookOutcome.CUT, reason=reason)
    return _over(task)


def _patience(task: _Task, until: float | None) -> float:
    """Return the real seconds until the time must be checked again."""
    left = task.call.wait_left()
    own = None if until is None else until - time.monotonic()
    return min(seconds for seconds in (left, own, _LOOK) if seconds is not None)


# --- results -----------------------------------------------------------------


def _judge(code: int | None) -> _End:
    if code == 0:
        return _End(outcome=HookOutcome.DONE, code=0)
    if code is None:
        return _failed("it has ended, but nobody knows how: SIGCHLD is ignored")
    if code > 0:
        return _failed(f"it ended with exit code {code}", code)
    return _failed(f"it was ended by signal {_name(-code)}", code)


def _told_to_end(cut: _End, child: HookProcess) -> _End:
    reason = cut.reason
    if not child.has_ended:
        reason += "; it could not be ended, not even by KILL"
    elif child.was_killed:
        reason += "; it did not end when it was told to, and was killed"
    return _End(outcome=cut.outcome, code=child.code, reason=reason)


def _name(number: int) -> str:
    try:
        return f"{number} ({Signals(number).name})"
    except ValueError:  # a real-time signal
        return f"{number}"
