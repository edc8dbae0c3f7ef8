"""Runs a hook: its tries, its time, and how it ended.

1. Whatever a hook does, `run` answers; it raises nothing for it.
2. A hook has succeeded if its process has ended by itself with exit code 0, and in no
   other case.
3. What runs out of time, or is cut, is told to end (TERM), with all that it has
   started, and killed a while later. What a hook leaves behind when it ends by itself
   is left alone.
4. Nothing is begun when there is no time left.
"""

import errno
import os
import select
import time
from dataclasses import dataclass
from signal import Signals

from forewarn.agent import commands, told
from forewarn.agent.calls import Call
from forewarn.agent.child import Child, Tail
from forewarn.agent.lives import Outcome
from forewarn.agent.plan import Hook

_LOOK = 1.0  # seconds after which the time left is asked for again: clocks are moved
_DRAIN = 0.2  # seconds for what is still written when the process has ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a hook has ended."""

    outcome: Outcome
    code: int | None = None  # exit code, minus a signal's number; None: not run
    output: str = ""  # the end of what it wrote, in all tries
    tries: int = 0
    reason: str = ""  # why it failed or was cut, in a sentence
    seconds: float = 0.0  # real ones, also those between tries


def run(hook: Hook, call: Call, *, kill_after: float) -> Ended:
    """Run `hook`, and wait for its end; real `kill_after` seconds from TERM to KILL."""
    began, tail = time.monotonic(), Tail()
    try:
        with call.cut.waking() as wake:
            tries, last = _run(_Task(hook, call, tail, wake, kill_after))
    except OSError as error:  # there is no file to be woken by
        tries, last = 0, _failed(f"it cannot be run: {error.strerror}")
    return Ended(
        outcome=last.outcome,
        code=last.code,
        output=tail.text(),
        tries=tries,
        reason=last.reason,
        seconds=time.monotonic() - began,
    )


@dataclass(frozen=True, slots=True)
class _Task:
    """What `run` was asked for."""

    hook: Hook
    call: Call
    tail: Tail
    wake: int
    kill_after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """How one try has ended, or why there was none."""

    outcome: Outcome
    code: int | None = None
    reason: str = ""


def _failed(reason: str, code: int | None = None) -> _End:
    return _End(outcome=Outcome.FAILED, code=code, reason=reason)


# --- one try after the other -------------------------------------------------


def _run(task: _Task) -> tuple[int, _End]:
    """Try until it succeeds or may not be tried again; count the tries."""
    tries = 0
    last = _over(task, "there was no time left to run it")
    while last is None or _may_go_on(task, tries, last):
        tries += 1
        last = _try(task, tries)
    return tries, last


def _may_go_on(task: _Task, tries: int, last: _End) -> bool:
    """Wait for the next try; say whether there is one."""
    if last.outcome is Outcome.DONE or tries >= task.hook.tries:
        return False
    until = time.monotonic() + task.call.real(task.hook.retry_after)
    while (rest := until - time.monotonic()) > 0:
        left = task.call.wait_left()
        if _over(task, "") is not None or (left is not None and left <= rest):
            return False
        select.select([task.wake], [], [], min(rest, _LOOK))
    return _over(task, "") is None


def _over(task: _Task, reason: str = "its time was up") -> _End | None:
    """Say why nothing may run any more; None: it may."""
    cut = task.call.cut.reason
    if cut is not None:
        return _End(outcome=Outcome.CUT, reason=cut)
    if task.call.is_late():
        return _End(outcome=Outcome.CUT, reason=reason)
    return None


# --- one try -----------------------------------------------------------------


def _try(task: _Task, tried: int) -> _End:
    command = commands.command_of(task.hook)
    try:
        child = _begin(task, command, tried)
    except (OSError, ValueError) as error:
        return _failed(commands.trouble(command, error))
    cut: _End | None = None
    with child:
        until = _until(task)
        while not child.has_ended and (cut := _due(task, until)) is None:
            child.attend(_patience(task, until))
        if cut is not None:
            child.end(task.kill_after)
        child.drain(_DRAIN)
    return _judge(child.code) if cut is None else _told_to_end(cut, child)


def _begin(task: _Task, command: tuple[str, ...], tried: int) -> Child:
    environment = told.environment(task.call, task.hook, own=os.environ, tried=tried)

    def begin(command: tuple[str, ...]) -> Child:
        return Child(
            command,
            environment=environment,
            stdin=told.stdin(task.call),
            tail=task.tail,
            wake=task.wake,
        )

    if not command:
        raise ValueError("there is nothing to run")
    try:
        return begin(command)
    except OSError as error:
        script = commands.by_shell(command) if error.errno == errno.ENOEXEC else None
        if script is None:
            raise
        return begin(script)


def _until(task: _Task) -> float | None:
    """When the hook's own time is up, on the monotonic clock; None: it has none."""
    own = task.hook.timeout
    return None if own is None else time.monotonic() + task.call.real(own)


def _due(task: _Task, until: float | None) -> _End | None:
    """Say why it must end now; None: it may go on."""
    if until is not None and time.monotonic() >= until:
        reason = f"it took longer than {task.hook.timeout:g} s"
        return _over(task) or _End(outcome=Outcome.CUT, reason=reason)
    return _over(task)


def _patience(task: _Task, until: float | None) -> float:
    """Count the real seconds until the time must be looked at again."""
    left = task.call.wait_left()
    own = None if until is None else until - time.monotonic()
    return min(each for each in (left, own, _LOOK) if each is not None)


# --- what is made of it ------------------------------------------------------


def _judge(code: int | None) -> _End:
    if code == 0:
        return _End(outcome=Outcome.DONE, code=0)
    if code is None:
        return _failed("it has ended, but nobody knows how: SIGCHLD is ignored")
    if code > 0:
        return _failed(f"it ended with exit code {code}", code)
    return _failed(f"it was ended by signal {_name(-code)}", code)


def _told_to_end(cut: _End, child: Child) -> _End:
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
