"""Assertions that wait in real time and show a timeline when they fail."""

from collections.abc import Callable
from datetime import timedelta

from forewarn.core.durations import duration_of, written
from forewarn.engine.engine import Engine
from forewarn.testing.recalling import tell
from forewarn.testing.watching import Watching


def demand(
    engine: Engine,
    watching: Watching,
    complaint: Callable[[], str | None],
    is_settled: Callable[[], bool],
    within: str | float | timedelta,
) -> None:
    """Wait until `is_settled`, then raise AssertionError if there is a `complaint`."""
    __tracebackhide__ = True  # show a failure at the test's own line
    watching.wait(is_settled, duration_of(within).total_seconds())
    message = complaint()
    if message is not None:
        raise AssertionError(f"{message}\n\n{tell(engine, watching)}")


def wait_marked(
    engine: Engine,
    watching: Watching,
    name: str,
    within: str | float | timedelta,
    times: int,
) -> None:
    """Wait until `name` has been marked `times` times in all."""
    __tracebackhide__ = True

    def is_marked() -> bool:
        return sum(1 for mark in watching.marks if mark.name == name) >= times

    def complaint() -> str | None:
        often = "" if times == 1 else f", {times} times"
        return None if is_marked() else f"there is no mark {name!r}{often}"

    demand(engine, watching, complaint, is_marked, within)


def wait_polled(
    engine: Engine,
    watching: Watching,
    vm: str,
    within: str | float | timedelta,
    times: int,
) -> None:
    """Wait until `vm` has polled `times` more times."""
    __tracebackhide__ = True
    before = len(watching.came_at(vm))

    def is_asked() -> bool:
        return len(watching.came_at(vm)) - before >= times

    def complaint() -> str | None:
        if is_asked():
            return None
        often = "" if times == 1 else f" {times} times"
        return f"{vm} did not ask{often} within {written(duration_of(within))}"

    demand(engine, watching, complaint, is_asked, within)
