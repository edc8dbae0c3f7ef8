"""Health of the service: warnings and the problems that make the service unready.

1. This module is pure. Real time is passed in as seconds of a monotonic clock, and the
   service's time as dates.
2. A problem is a sentence for the operator. A problem lasts until its cause is gone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from forewarn.formats import format_duration

#: Seconds without a heartbeat after which the service is not ready. A heartbeat is due
#: every 10 s.
HEARTBEAT_LIMIT = 30.0

_GRACE = 5.0  # seconds that a thread may fail or documents may lag
_STANDSTILL = timedelta(seconds=5)  # smaller clock corrections do not matter


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthProblem:
    """A problem and how long it has lasted."""

    text: str
    seconds: float

    def __str__(self) -> str:
        """Return the problem as a sentence."""
        return f"{self.text} (for {format_duration(self.seconds)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The current problems and warnings. Without problems, the service is ready."""

    problems: Sequence[HealthProblem] = ()
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteHealth:
    """Whether writes to the store succeed.

    A write may succeed even though another has failed, because a heartbeat writes to
    only one table. A failure therefore lasts until a probe has written to every table,
    unless the connection was lost before the commit.
    """

    failures: int = 0  # since the start
    failing_since: float | None = None  # None if writes succeed
    reason: str = ""  # of the last failure
    needs_probe: bool = False  # then only a successful probe ends the failure
    is_damaged: bool = False  # then no later success ends the failure

    def failed(
        self, reason: str, at: float, *, is_damaged: bool, is_lost: bool = False
    ) -> "WriteHealth":
        """Return the state after a write that failed at `at`.

        `is_lost` means that only the connection failed.
        """
        return WriteHealth(
            failures=self.failures + 1,
            failing_since=at if self.failing_since is None else self.failing_since,
            reason=self.reason if self.is_damaged else reason,
            needs_probe=self.needs_probe or not is_lost,
            is_damaged=self.is_damaged or is_damaged,
        )

    def succeeded(self, *, is_probe: bool = False) -> "WriteHealth":
        """Return the state after a successful write or probe of all tables."""
        if self.is_damaged or self.failing_since is None:
            return self
        if self.needs_probe and not is_probe:
            return self
        return replace(self, failing_since=None, needs_probe=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadHealth:
    """The state of a thread that runs as long as the service."""

    name: str
    is_alive: bool = True
    failing_since: float | None = None  # None if its last turn succeeded
    reason: str = ""  # of the last failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """The measurements that determine the health."""

    now: float
    writes: WriteHealth
    heartbeat_at: float  # when the last one was saved
    behind_since: float | None  # documents; None if they are up to date
    threads: Sequence[ThreadHealth]
    standstill: datetime | None  # see `standstill_until`
    clock_now: datetime


def standstill_until(
    clock_now: datetime, last_fact: datetime | None
) -> datetime | None:
    """Return the end of the standstill if the clock is behind the journal.

    Return None if the clock is running.
    """
    if last_fact is None or last_fact - clock_now <= _STANDSTILL:
        return None
    return last_fact


def describe_standstill(until: datetime, clock_now: datetime) -> str:
    """Describe a clock that is behind the journal."""
    return (
        f"the service's clock is paused until {until.isoformat(timespec='seconds')},"
        " and nothing becomes due, because the journal is"
        f" {format_duration(until - clock_now)} ahead of the system clock. If the"
        " system clock is wrong, set it. Otherwise, the store was used with a wrong"
        " clock or a different --clock setting: wait, or restore an earlier backup"
    )


def judge(vitals: Vitals) -> Health:
    """Return the problems and warnings indicated by `vitals`."""
    until = vitals.standstill
    return Health(
        problems=[*_problems(vitals)],
        warnings=()
        if until is None
        else (describe_standstill(until, vitals.clock_now),),
    )


def _problems(vitals: Vitals) -> Iterator[HealthProblem]:
    now, writes = vitals.now, vitals.writes
    if writes.failing_since is not None:
        text = f"writes are failing: {writes.reason}"
        yield HealthProblem(text=text, seconds=now - writes.failing_since)
    if now - vitals.heartbeat_at > HEARTBEAT_LIMIT:
        yield HealthProblem(text="no heartbeat", seconds=now - vitals.heartbeat_at)
    behind = vitals.behind_since
    if behind is not None and now - behind > _GRACE:
        yield HealthProblem(
            text="documents are behind the journal", seconds=now - behind
        )
    for thread in vitals.threads:
        since = thread.failing_since
        if not thread.is_alive:
            text = f"thread {thread.name} has stopped unexpectedly; restart forewarn"
            yield HealthProblem(
                text=text, seconds=0.0 if since is None else now - since
            )
        elif since is not None and now - since > _GRACE:
            text = f"thread {thread.name} is failing: {thread.reason}"
            yield HealthProblem(text=text, seconds=now - since)
