"""Hundreds of VMs for some minutes, while maintenances live their lives.

Run by `scripts/bench load`: the real program, its store in a file, the system's
clock, loopback. Every answer is judged as it comes (`oracle`), the journal at the end
(`ledger`). Exit code 1 when a bar is missed.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import uvloop
from benchmarks import figures
from benchmarks.fleet import Fleet, a_fleet
from benchmarks.ledger import Ledger
from benchmarks.line import Line
from benchmarks.lives import Operator
from benchmarks.oracle import Oracle
from benchmarks.program import Running, serving
from benchmarks.vms import EVENTS, VM, WAYS, Tally, World, lag

_LIFE = 75.0  # seconds that the last maintenance gets before the time is over
_MORE = 90  # seconds after that, if some are not over yet
_SAMPLE = 10.0  # seconds between two looks at the memory
_WARM = 60.0  # seconds, until caches are filled
_DIFFERENT = 5000  # requests; more than are remembered
_OVER = ("COMPLETED", "CANCELED")

#: The bars.
MOST_GROWTH = 256.0  # kB a minute, after the first minute
MOST_FILES = 16  # more at the end than at the start: connections of the store
MOST_MISSED = 0.01  # of all polls: else it is this program that is too slow
MOST_SECONDS = {"GET": 0.1, "POST": 1.0}  # for 99 of a hundred


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What was asked for."""

    vms: int
    minutes: float
    maintenances: int
    every: float
    seed: int

    @property
    def seconds(self) -> float:
        """How long it takes."""
        return self.minutes * 60


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What came of it."""

    tally: Tally = field(default_factory=Tally)
    oracle: Oracle = field(default_factory=Oracle)
    ledger: Ledger | None = None
    facts: int = 0
    announcements: Sequence[float] = ()
    phases: Counter[str] = field(default_factory=Counter)
    memory: list[tuple[float, float]] = field(default_factory=list)  # minutes, kB
    files: tuple[int, int] = (0, 0)
    processor: tuple[float, float] = (0.0, 0.0)  # of the service, and our own
    lag: Sequence[float] = ()
    took: float = 0.0
    complaints: list[str] = field(default_factory=list)


# --- running -----------------------------------------------------------------


async def run(program: Running, fleet: Fleet, plan: Plan) -> Outcome:
    """Let everything live, and judge it."""
    outcome, ended = Outcome(), asyncio.Event()
    world = World(
        address=program.metadata,
        every=plan.every,
        oracle=outcome.oracle,
        tally=outcome.tally,
        ended=ended,
    )
    operator = Operator(program.control, fleet, outcome.oracle, plan.seed)
    await _fill_caches(program.metadata, fleet)
    files, used, begun = program.files, program.processor, time.monotonic()
    late = asyncio.create_task(lag(ended))
    watching = asyncio.create_task(_watch(program, operator, outcome, plan))
    vms = [VM(world, each, n, plan.seed) for n, each in enumerate(fleet.machines)]
    living = [asyncio.create_task(each.live()) for each in vms]
    await operator.announce(plan.maintenances, max(plan.seconds - _LIFE, 1))
    await _until_over(operator, begun, plan)
    ended.set()
    await asyncio.gather(*living)
    outcome.took = time.monotonic() - begun
    watching.cancel()
    outcome.lag = await late
    outcome.processor = (program.processor - used, time.process_time())
    await _judge(operator, outcome)
    await asyncio.sleep(1)  # until the last connections are closed
    outcome.files = (files, program.files)
    return outcome


async def _fill_caches(address: str, fleet: Fleet) -> None:
    """Ask often and each time differently, as clients do that number their requests.

    What the service remembers of requests is limited; here it gets to the limit, so
    that from now on memory that grows is memory that leaks.
    """
    path = EVENTS.format(fleet.machines[0].name)
    line = Line(address)
    for number in range(_DIFFERENT):
        headers = {"Metadata": "true", "x-ms-client-request-id": f"{number:0800}"}
        await line.ask("GET", path, headers)
    line.close()


async def _until_over(operator: Operator, begun: float, plan: Plan) -> None:
    """Wait until the time is over, and so is every maintenance."""
    await asyncio.sleep(max(begun + plan.seconds - time.monotonic(), 0))
    for _ in range(_MORE):
        if {*await operator.phases()} <= {*_OVER}:
            return
        await asyncio.sleep(1)


async def _judge(operator: Operator, outcome: Outcome) -> None:
    maintenances = await operator.read("maintenances")
    facts = await operator.read("journal")
    ledger = outcome.ledger = Ledger(facts)
    outcome.facts = len(facts)
    outcome.phases = Counter(each["phase"] for each in maintenances)
    outcome.announcements = operator.log.announcements
    outcome.tally.errors += operator.log.errors
    outcome.complaints += outcome.oracle.complaints
    outcome.complaints += ledger.compare(maintenances, outcome.oracle.latest)
    for each in maintenances:
        if each["phase"] not in _OVER:
            outcome.complaints.append(f"{each['id']} is still {each['phase']}")
        for event in each["events"]:
            unseen = event["id"] in outcome.oracle.never_started
            if unseen and each["phase"] == "COMPLETED":
                said = f"{event['id']} was gone before Started was seen"
                outcome.complaints.append(said)


async def _watch(
    program: Running, operator: Operator, outcome: Outcome, plan: Plan
) -> None:
    """Look at the memory now and then; show progress to who looks on."""
    begun, following = time.monotonic(), 0.0
    while True:
        passed = time.monotonic() - begun
        if passed >= following:
            following += _SAMPLE
            outcome.memory.append((passed / 60, program.memory))
        if sys.stderr.isatty():
            phases = await operator.phases()
            _show_progress(passed, plan, outcome, phases)
        await asyncio.sleep(1)


def _show_progress(
    passed: float, plan: Plan, outcome: Outcome, phases: Counter[str]
) -> None:
    lives = ", ".join(f"{n} {name.lower()}" for name, n in sorted(phases.items()))
    bad = len(outcome.tally.errors) + len(outcome.oracle.complaints)
    sys.stderr.write(
        f"\r\x1b[K{passed:4.0f} of {plan.seconds:.0f} s: {outcome.tally.requests:,}"
        f" requests, {bad} bad; {outcome.memory[-1][1] / 1024:.1f} MB; {lives}"
    )
    sys.stderr.flush()


# --- telling -----------------------------------------------------------------


def growth(outcome: Outcome) -> float:
    """How much memory was added a minute, in kB, once caches were filled."""
    warm = [each for each in outcome.memory if each[0] * 60 >= _WARM]
    return figures.slope(warm)


def missed_bars(outcome: Outcome) -> Iterator[str]:
    """Name each bar that was missed."""
    tally = outcome.tally
    if tally.errors:
        yield f"{len(tally.errors)} errors, the first: {tally.errors[:3]}"
    if outcome.complaints:
        yield f"{len(outcome.complaints)} broken: {outcome.complaints[:5]}"
    if growth(outcome) > MOST_GROWTH:
        yield f"memory grows by {growth(outcome):.0f} kB a minute"
    if outcome.files[1] - outcome.files[0] > MOST_FILES:
        yield f"{outcome.files[1] - outcome.files[0]} files were left open"
    if tally.missed > MOST_MISSED * tally.requests:
        yield f"{tally.missed} polls could not be sent in time; is the machine busy?"
    for what, seconds in (("GET", tally.gets), ("POST", tally.posts)):
        if not seconds or figures.share(seconds, 0.99) > MOST_SECONDS[what]:
            yield f"{what}: p99 above {MOST_SECONDS[what]} s, or none"


def table(outcome: Outcome) -> Iterator[str]:
    """Write the figures."""
    tally, took = outcome.tally, outcome.took
    rate = tally.requests / took
    yield figures.line(
        "requests", f"{tally.requests:,} in {took:.0f} s, {rate:.0f} a second"
    )
    yield figures.line("errors", f"{len(tally.errors)}")
    yield figures.line("answers", f"{dict(sorted(tally.statuses.items()))}")
    yield figures.line("GET", figures.times(tally.gets))
    yield figures.line("held GET, beyond its wait", figures.times(tally.held))
    yield figures.line("POST of a VM", figures.times(tally.posts))
    yield figures.line("announcement", figures.times(outcome.announcements))
    yield figures.line("maintenances", f"{dict(sorted(outcome.phases.items()))}")
    if outcome.ledger is not None:
        yield figures.line("  how they went", f"{dict(outcome.ledger.fates())}")
    yield figures.line("approvals by peers", f"{tally.by_peers}")
    yield figures.line("journal", f"{outcome.facts:,} facts")
    yield figures.line("broken promises", f"{len(outcome.complaints)}")
    yield from _machine(outcome)


def _machine(outcome: Outcome) -> Iterator[str]:
    took, (served, own) = outcome.took, outcome.processor
    samples = [f"{kilobytes / 1024:.1f}" for _, kilobytes in outcome.memory]
    yield figures.line("memory of the service, MB", " ".join(samples))
    yield figures.line("  after the first minute", f"{growth(outcome):+.1f} kB/min")
    yield figures.line(
        "processor of the service", f"{served:.1f} s, {served / took:.1%} of a core"
    )
    start, end = outcome.files
    yield figures.line("open files", f"{start} at the start, {end} at the end")
    late = figures.times(outcome.lag)
    yield figures.line("this program", f"{own / took:.1%} of a core; late by {late}")
    yield figures.line("  polls not sent in time", f"{outcome.tally.missed}")


def _head(plan: Plan, fleet: Fleet) -> Iterator[str]:
    ways = Counter(WAYS[each % len(WAYS)] for each in range(plan.vms))
    groups, hosts = len(fleet.groups), len(fleet.hosts)
    yield f"{plan.vms} VMs in {groups} groups on {hosts} hosts, {plan.minutes:g} min,"
    yield f" {plan.maintenances} maintenances, seed {plan.seed}; load average of the"
    yield f" machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n"
    for way, count in ways.items():
        yield figures.line(f"  {count} VMs", way.value)
    yield figures.line("  polls", f"every {plan.every:g} s, but those that are held")


def _plan() -> Plan:
    parser = argparse.ArgumentParser(prog="scripts/bench load", description=__doc__)
    add: Callable[..., object] = parser.add_argument
    add("--vms", type=int, default=300, help="default: 300")
    add("--minutes", type=float, default=5.0, help="default: 5")
    add("--maintenances", type=int, default=100, help="default: 100")
    add("--every", type=float, default=1.0, help="seconds between polls; default: 1")
    add("--seed", type=int, default=1, help="leads to the same orders; default: 1")
    return Plan(**vars(parser.parse_args()))


def main() -> int:
    """Measure, print, and answer whether every bar was held."""
    plan = _plan()
    fleet = a_fleet(plan.vms)
    sys.stdout.write("".join(_head(plan, fleet)))
    sys.stdout.flush()
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "fleet.toml"
        file.write_text(fleet.text)
        with (
            serving(Path(name), file) as program,
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            outcome = runner.run(run(program, fleet, plan))
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    sys.stdout.write("".join(table(outcome)))
    missed = [*missed_bars(outcome)]
    for each in missed:
        sys.stdout.write(f"MISSED: {each}\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
