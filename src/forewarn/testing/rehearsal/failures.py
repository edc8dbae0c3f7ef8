"""Failures of a rehearsal: waits, messages, and the line that they point to.

1. An error of a public method points to the caller's line. It does not show the frames
   of forewarn.
2. A wait ends when all programs that could end it have ended.
3. The program's output is shown if a test ran a program. The timeline is shown if the
   service has received a request or a mark. Neither is shown for invalid arguments.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import wraps
from inspect import isfunction
from typing import ParamSpec, TypeVar
from unittest import SkipTest

from forewarn.engine.engine import Engine
from forewarn.errors import CannotStart, ForewarnError, InvalidInput, NotFound
from forewarn.formats import format_duration, parse_duration
from forewarn.testing.rehearsal.observer import RehearsalObserver
from forewarn.testing.rehearsal.options import DurationLike
from forewarn.testing.rehearsal.program import Program
from forewarn.testing.rehearsal.timeline import timeline_of

__unittest = True  # unittest omits the frames of such modules

_MISUSE = (InvalidInput, NotFound, CannotStart)
_EXPLAINED = "_forewarn_explained"  # an attribute of exceptions

_LONG = timedelta(seconds=1)  # real time in which most programs send a request
_LINES = 20  # of a program's output

_P = ParamSpec("_P")
_R = TypeVar("_R")
_T = TypeVar("_T")

# --- the caller's line -------------------------------------------------------


def errors_at_caller(kind: type[_T]) -> type[_T]:
    """Make errors of the public methods of a class point to the caller's line."""
    for name, member in [*vars(kind).items()]:
        if name.startswith("_") and name not in ("__init__", "__enter__"):
            continue
        if isfunction(member):
            setattr(kind, name, error_at_caller(member))
        elif isinstance(member, property) and member.fget is not None:
            setattr(kind, name, property(error_at_caller(member.fget)))
    return kind


def error_at_caller(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Make errors of `function` point to the caller's line."""

    @wraps(function)
    def short(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except (ForewarnError, AssertionError) as error:
            raise error.with_traceback(None) from None

    return short


# --- waits -------------------------------------------------------------------


class RehearsalWaits:
    """Waits for programs, which fail with a message that explains the reason."""

    def __init__(
        self,
        engine: Engine,
        observer: RehearsalObserver,
        programs: Sequence[Program],
    ) -> None:
        """Create waits for `programs` and for other clients of the service."""
        self._engine = engine
        self._observer = observer
        self._programs = programs

    def until(
        self,
        problem: Callable[[], str | None],
        within: DurationLike,
        *,
        is_settled: Callable[[], bool] | None = None,
        by: str | None = None,
        is_request: bool = False,
    ) -> None:
        """Wait until `problem` returns None; raise AssertionError if it never does.

        If `is_settled` is given, wait until it holds and then check `problem`. With
        `by`, only programs in this VM can end the wait. `is_request` means that the
        wait is for a request.
        """
        is_over = is_settled or (lambda: problem() is None)
        limit = parse_duration(within)
        self._observer.wait(
            lambda: is_over() or bool(self._ended(by)), limit.total_seconds()
        )
        ended = self._ended(by)
        if is_over():  # perhaps the last thing that the program did
            ended = []
            message = problem()
        else:
            message = problem()
            if message is not None and not ended:
                message += f" within {duration_text(limit)}"
                message += self._unheard() if is_request and limit >= _LONG else ""
        if message is not None or any(program.has_failed for program in ended):
            raise self._failure(message, ended)

    def _ended(self, by: str | None) -> Sequence[Program]:
        """Return the programs in `by`, or in any VM, if all of them have ended."""
        programs = [
            program
            for program in self._programs
            if program.is_open and (by is None or program.vm == by)
        ]
        return programs if all(program.has_ended for program in programs) else []

    def _unheard(self) -> str:
        """Return the likely reason if nobody has sent a request, or ""."""
        running = [program for program in self._programs if program.is_running]
        if self._observer.has_arrivals or (self._programs and not running):
            return ""
        who = running[0].name if len(running) == 1 else "any program"
        return f"\nno requests received; does {who} use $FOREWARN_ENDPOINT?"

    def _failure(self, message: str | None, ended: Sequence[Program]) -> AssertionError:
        heads = [
            "\n".join([f"{program.name} {program.state}", *_output(program)])
            for program in ended
        ]
        rest = [program for program in self._programs if program not in ended]
        parts = [*heads, *filter(None, [message]), *self.report(rest)]
        error = AssertionError("\n\n".join(parts))
        vars(error)[_EXPLAINED] = True
        return error

    # --- explanations --------------------------------------------------------

    def report(self, programs: Sequence[Program] | None = None) -> Iterator[str]:
        """Yield the output of `programs`, or all programs, and the timeline."""
        for program in self._programs if programs is None else programs:
            if lines := [*_output(program)]:
                yield "\n".join([f"output of {program.name}:", *lines])
        if self._observer.has_arrivals or self._observer.marks:
            yield timeline_of(self._engine, self._observer, self._programs)

    def explain(self, error: BaseException) -> None:
        """Add the report to an error of the test, as a note."""
        if text := self.explanation(error):
            error.add_note(f"\n{text}")
            vars(error)[_EXPLAINED] = True

    def explanation(self, error: BaseException) -> str:
        """Return the report for an error of the test; "" if it already has one."""
        is_failure = isinstance(error, Exception) and not isinstance(error, SkipTest)
        if not is_failure or isinstance(error, _MISUSE) or _EXPLAINED in vars(error):
            return ""
        return "\n\n".join(self.report())


def _output(program: Program) -> Iterator[str]:
    """Yield the last lines of the output of `program`, indented."""
    lines = program.written.splitlines()
    if len(lines) > _LINES:
        yield f"  ... {len(lines) - _LINES} lines omitted ..."
    yield from (f"  {line}" for line in lines[-_LINES:])


def duration_text(within: DurationLike) -> str:
    """Format a time limit for a message, for example "30 s"."""
    seconds = parse_duration(within).total_seconds()
    return f"{seconds:g} s" if seconds < 60 else format_duration(seconds)
