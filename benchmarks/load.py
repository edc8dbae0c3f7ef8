"""Load test: hundreds of VMs poll and approve for minutes, during maintenance.

Run by `scripts/bench load`. It uses the real program with a store in a file, the system
clock and loopback. It checks every response immediately (`oracle`), and the journal at
the end (`journal_replay`). The exit code is 1 if a limit is exceeded.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import uvloop
from benchmarks.fleet import Fleet, a_fleet
from benchmarks.http_connection import KeepAliveConnection
from benchmarks.journal_replay import JournalReplay
from benchmarks.load_operator import Operator
from benchmarks.outcome import LoadPlan, LoadResults, head, missed_bars, table
from benchmarks.program import ServeProcess, serving
from benchmarks.vms import EVENTS, VM, SharedState, lag

_LIFE = 75.0  # seconds from the last announcement to the end
_MORE = 90  # seconds after the end, for maintenance that is not over yet
_SAMPLE = 10.0  # seconds between two memory samples
_DIFFERENT = 5000  # distinct requests; more than the service caches
_OVER = ("COMPLETED", "CANCELED")


async def run(program: ServeProcess, fleet: Fleet, plan: LoadPlan) -> LoadResults:
    """Run the load, and check its results."""
    outcome = LoadResults()
    operator = Operator(program.control, fleet, outcome.oracle, plan.seed)
    await _fill_caches(program.metadata, fleet)
    files, used, begun = program.files, program.processor, time.monotonic()
    watching = asyncio.create_task(_watch(program, operator, outcome, plan))
    async with _polled(program.metadata, fleet, plan, outcome):
        await operator.announce(plan.maintenances, max(plan.seconds - _LIFE, 1))
        await _until_over(operator, begun, plan)
    watching.cancel()
    outcome.took = time.monotonic() - begun
    outcome.processor = (program.processor - used, time.process_time())
    await _judge(operator, outcome)
    await asyncio.sleep(1)  # the last connections are closed by then
    outcome.files = (files, program.files)
    return outcome


@asynccontextmanager
async def _polled(
    address: str, fleet: Fleet, plan: LoadPlan, outcome: LoadResults
) -> AsyncIterator[None]:
    """Poll from all VMs until the block ends."""
    world = SharedState(
        address=address,
        every=plan.every,
        oracle=outcome.oracle,
        tally=outcome.tally,
        ended=asyncio.Event(),
    )
    late = asyncio.create_task(lag(world.ended))
    vms = [
        VM(world, machine, number, plan.seed)
        for number, machine in enumerate(fleet.machines)
    ]
    living = [asyncio.create_task(vm.live()) for vm in vms]
    try:
        yield
    finally:
        world.ended.set()
        await asyncio.gather(*living)
        outcome.lag = await late


async def _fill_caches(address: str, fleet: Fleet) -> None:
    """Send many distinct requests, like clients that number their requests.

    The service caches a limited number of requests. This fills the caches, so any later
    growth of memory is a leak.
    """
    path = EVENTS.format(fleet.machines[0].name)
    line = KeepAliveConnection(address)
    for number in range(_DIFFERENT):
        headers = {"Metadata": "true", "x-ms-client-request-id": f"{number:0800}"}
        await line.request("GET", path, headers)
    line.close()


async def _until_over(operator: Operator, begun: float, plan: LoadPlan) -> None:
    """Wait until the planned time and all maintenance operations are over."""
    await asyncio.sleep(max(begun + plan.seconds - time.monotonic(), 0))
    for _ in range(_MORE):
        if {*await operator.phases()} <= {*_OVER}:
            return
        await asyncio.sleep(1)


async def _judge(operator: Operator, outcome: LoadResults) -> None:
    maintenances = await operator.read("maintenances")
    facts = await operator.read("journal")
    ledger = outcome.ledger = JournalReplay(facts)
    outcome.facts = len(facts)
    outcome.phases = Counter(maintenance["phase"] for maintenance in maintenances)
    outcome.announcements = operator.log.announcements
    outcome.tally.errors += operator.log.errors
    outcome.complaints += outcome.oracle.complaints
    outcome.complaints += ledger.compare(maintenances, outcome.oracle.latest)
    for item in maintenances:
        if item["phase"] not in _OVER:
            outcome.complaints.append(f"{item['id']} is still {item['phase']}")
        for event in item["events"]:
            unseen = event["id"] in outcome.oracle.never_started
            if unseen and item["phase"] == "COMPLETED":
                text = f"{event['id']} disappeared before VMs saw Started"
                outcome.complaints.append(text)


async def _watch(
    program: ServeProcess, operator: Operator, outcome: LoadResults, plan: LoadPlan
) -> None:
    """Sample the memory; show progress on a terminal."""
    begun, following = time.monotonic(), 0.0
    while True:
        passed = time.monotonic() - begun
        if following <= passed <= plan.seconds:
            following += _SAMPLE
            outcome.memory.append((passed / 60, program.memory))
        if sys.stderr.isatty():
            announced = len(operator.log.announcements)
            _show_progress(passed, plan, outcome, announced)
        await asyncio.sleep(1)


def _show_progress(
    passed: float, plan: LoadPlan, outcome: LoadResults, announced: int
) -> None:
    bad = len(outcome.tally.errors) + len(outcome.oracle.complaints)
    sys.stderr.write(
        f"\r\x1b[K{passed:4.0f} of {plan.seconds:.0f} s: {outcome.tally.requests:,}"
        f" requests, {bad} bad; {announced} of {plan.maintenances} announced,"
        f" {len(outcome.oracle.lives)} events seen; {outcome.memory[-1][1]:,.0f} kB"
    )
    sys.stderr.flush()


def _plan() -> LoadPlan:
    parser = argparse.ArgumentParser(prog="scripts/bench load", description=__doc__)
    add: Callable[..., object] = parser.add_argument
    add("--vms", type=int, default=300, help="default: 300")
    add("--minutes", type=float, default=5.0, help="default: 5")
    add("--maintenances", type=int, default=100, help="default: 100")
    add("--every", type=float, default=1.0, help="seconds between polls; default: 1")
    add("--seed", type=int, default=1, help="for random choices; default: 1")
    return LoadPlan(**vars(parser.parse_args()))


def main() -> int:
    """Run the load test and print its figures; return 1 if a bar is missed."""
    plan = _plan()
    fleet = a_fleet(plan.vms)
    sys.stdout.write("".join(head(plan, fleet)))
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
    for text in missed:
        sys.stdout.write(f"MISSED: {text}\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
