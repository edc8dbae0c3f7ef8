"""Outcome of a load test: its figures and their limits."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from benchmarks import figures
from benchmarks.fleet import Fleet
from benchmarks.journal_replay import JournalReplay
from benchmarks.oracle import Oracle
from benchmarks.vms import WAYS, LoadStatistics

_WARM = 60.0  # seconds until the caches are filled

#: The limits.
MOST_GROWTH = 8.0  # MB after the first minute
MOST_SLOPE = 64.0  # kB per minute, in the last third of a run of 10 minutes or more
MOST_FILES = 16  # more at the end than at the start, for connections of the store
MOST_MISSED = 0.01  # share of polls; if it is higher, this program is too slow
MOST_SECONDS = {"GET": 0.1, "POST": 1.0}  # 99th percentile


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """Options of the load test."""

    vms: int
    minutes: float
    maintenances: int
    every: float
    seed: int

    @property
    def seconds(self) -> float:
        """Duration in seconds."""
        return self.minutes * 60


@dataclass(slots=True, kw_only=True)
class LoadResults:
    """Results of the load test."""

    tally: LoadStatistics = field(default_factory=LoadStatistics)
    oracle: Oracle = field(default_factory=Oracle)
    ledger: JournalReplay | None = None
    facts: int = 0
    announcements: Sequence[float] = ()
    phases: Counter[str] = field(default_factory=Counter)
    memory: list[tuple[float, float]] = field(default_factory=list)  # minutes, kB
    files: tuple[int, int] = (0, 0)
    processor: tuple[float, float] = (0.0, 0.0)  # seconds: the service, this program
    lag: Sequence[float] = ()
    took: float = 0.0
    complaints: list[str] = field(default_factory=list)


def growth(outcome: LoadResults) -> float:
    """Return the growth of memory after the first minute, in MB."""
    warm = [kilobytes for at, kilobytes in outcome.memory if at * 60 >= _WARM]
    return (warm[-1] - warm[0]) / 1024 if warm else 0.0


def slope(outcome: LoadResults) -> float:
    """Return the growth of memory in the last third of the time, in kB per minute."""
    samples = outcome.memory
    return figures.slope(samples[len(samples) * 2 // 3 :])


def missed_bars(outcome: LoadResults) -> Iterator[str]:
    """Describe each limit that was exceeded."""
    tally = outcome.tally
    if tally.errors:
        yield f"{len(tally.errors)} errors, the first ones: {tally.errors[:3]}"
    if outcome.complaints:
        yield f"{len(outcome.complaints)} broken promises: {outcome.complaints[:5]}"
    yield from _missed_by_the_machine(outcome)
    if tally.missed > MOST_MISSED * tally.requests:
        yield f"{tally.missed} polls were sent late: the machine may be too busy"
    for what, seconds in (("GET", tally.gets), ("POST", tally.posts)):
        if not seconds or figures.share(seconds, 0.99) > MOST_SECONDS[what]:
            yield f"{what}: no requests, or p99 above {MOST_SECONDS[what]} s"


def _missed_by_the_machine(outcome: LoadResults) -> Iterator[str]:
    if growth(outcome) > MOST_GROWTH:
        yield f"memory has grown by {growth(outcome):.1f} MB"
    if outcome.took >= 600 and slope(outcome) > MOST_SLOPE:
        yield f"memory still grows by {slope(outcome):.0f} kB per minute"
    if outcome.files[1] - outcome.files[0] > MOST_FILES:
        yield f"{outcome.files[1] - outcome.files[0]} files remained open"


def table(outcome: LoadResults) -> Iterator[str]:
    """Format the figures."""
    tally, took = outcome.tally, outcome.took
    rate = tally.requests / took
    yield figures.line(
        "requests", f"{tally.requests:,} in {took:.0f} s, {rate:.0f} per second"
    )
    yield figures.line("errors", f"{len(tally.errors)}")
    yield figures.line("responses", f"{dict(sorted(tally.statuses.items()))}")
    yield figures.line("GET", figures.times(tally.gets))
    yield figures.line("long poll, after its wait", figures.times(tally.held))
    yield figures.line("  ended by a change", f"{tally.woken:,}")
    yield figures.line("POST", figures.times(tally.posts))
    yield figures.line("announcement", figures.times(outcome.announcements))
    yield figures.line("maintenance", f"{dict(sorted(outcome.phases.items()))}")
    if outcome.ledger is not None:
        yield figures.line("  outcomes", f"{dict(outcome.ledger.fates())}")
    yield figures.line("approvals by peers", f"{tally.by_peers}")
    yield figures.line("journal", f"{outcome.facts:,} facts")
    yield figures.line("broken promises", f"{len(outcome.complaints)}")
    yield from _machine(outcome)


def _machine(outcome: LoadResults) -> Iterator[str]:
    took, (served, own) = outcome.took, outcome.processor
    samples = [f"{kilobytes / 1024:.1f}" for _, kilobytes in outcome.memory]
    yield figures.line("memory of the service, MB", " ".join(samples))
    yield figures.line("  after the first minute", f"{growth(outcome):+.1f} MB")
    yield figures.line("  in the last third", f"{slope(outcome):+.0f} kB per minute")
    yield figures.line(
        "CPU time of the service", f"{served:.1f} s, {served / took:.1%} of a core"
    )
    start, end = outcome.files
    yield figures.line("open files", f"{start} at the start, {end} at the end")
    late = figures.times(outcome.lag)
    yield figures.line(
        "this program", f"{own / took:.1%} of a core; timers late by {late}"
    )
    yield figures.line("  polls not sent in time", f"{outcome.tally.missed}")


def head(plan: LoadPlan, fleet: Fleet) -> Iterator[str]:
    """Format the plan."""
    ways = Counter(WAYS[number % len(WAYS)] for number in range(plan.vms))
    groups, hosts = len(fleet.groups), len(fleet.hosts)
    yield f"{plan.vms} VMs in {groups} groups on {hosts} hosts, {plan.minutes:g} min,"
    yield f" {plan.maintenances} announcements, seed {plan.seed}; load average of the"
    yield f" machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n"
    for way, count in ways.items():
        yield figures.line(f"  {count} VMs", way.value)
    yield figures.line("  polls", f"every {plan.every:g} s, except long polls")
