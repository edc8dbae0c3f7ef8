"""Soak test: a trial that runs for minutes or hours, and a report.

Run by `scripts/soak`. With faults, the judge decides. Without them, the load is steady,
and memory, files and response times are judged as well. Exit code 1 when a bar is
missed. Ctrl-C ends the load; the report covers the time until then.
"""

import argparse
import asyncio
import gc
import signal
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom

from benchmarks import figures
from benchmarks.outcome import MOST_FILES, MOST_SLOPE
from tests.faults.history import History, Outcome
from tests.faults.judge import judge
from tests.faults.stalls import Sample, Sampler, explain
from tests.faults.trial import Plan, a_trial
from tests.faults.workload import MOST_LIVE

#: From this duration on, memory is judged; before it, caches are still filling.
LONG = 600.0  # seconds

_WIDTH = 78
_SHOWN = 20  # violations


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakResult:
    """A finished soak test."""

    plan: Plan
    history: History
    samples: Sequence[Sample]
    violations: Sequence[str]

    @property
    def begun(self) -> float:
        """The time of the first poll."""
        return min((poll.invoked for poll in self.history.polls), default=0.0)

    @property
    def ended(self) -> float:
        """The time of the last sample."""
        return self.samples[-1].at if self.samples else self.begun

    @property
    def errors(self) -> Sequence[str]:
        """The requests that failed, which without faults none does."""
        polls = Counter(
            f"GET: {poll.status or 'no response'}"
            for poll in self.history.polls
            if poll.status not in (200, 304)
        )
        commands = Counter(
            f"command: {operation.status or operation.detail}"
            for operation in self.history.operations
            if operation.outcome is Outcome.UNKNOWN or operation.status >= 500
        )
        return [f"{count} x {text}" for text, count in (polls + commands).items()]

    @property
    def slope(self) -> float:
        """The growth of memory in the last third, in kB a minute."""
        samples = [(sample.at / 60, float(sample.memory)) for sample in self.samples]
        return figures.slope(samples[len(samples) * 2 // 3 :])

    def responses(self) -> Iterator[tuple[float, float, float, str]]:
        """Yield begin, end and duration beyond the wait of each request."""
        for poll in self.history.polls:
            took = poll.returned - poll.invoked - poll.wait
            yield poll.invoked, poll.returned, took, f"GET of {poll.vm}"
        for operation in self.history.operations:
            took = operation.returned - operation.invoked
            yield operation.invoked, operation.returned, took, operation.kind


def missed_bars(result: SoakResult) -> Iterator[str]:
    """Describe each bar that was missed."""
    if result.violations:
        yield f"violations: {len(result.violations)}"
    if result.plan.has_faults or not result.samples:
        return
    if result.errors:
        yield f"errors: {'; '.join(result.errors[:3])}"
    if result.ended - result.begun >= LONG and result.slope > MOST_SLOPE:
        yield f"memory still grows by {result.slope:.0f} kB a minute"
    warm = result.samples[len(result.samples) // 5 :]
    if warm[-1].files - warm[0].files > MOST_FILES:
        yield f"{warm[-1].files - warm[0].files} more open files"
    most = max(sample.live for sample in result.samples)
    if most > 3 * MOST_LIVE:
        yield f"a backlog of {most} live maintenance operations"


# --- report ------------------------------------------------------------------


def report(result: SoakResult) -> Iterator[str]:
    """Format the report, at most 80 columns wide."""
    history, plan = result.history, result.plan
    outcomes = Counter(operation.outcome for operation in history.operations)
    broken = history.report.get("starts", {}).get("broken", "unknown")
    yield from _minutes(result)
    yield ""
    yield _line("load", f"{result.ended - result.begun:.0f} s, seed {plan.seed}")
    yield _line("requests", f"{len(history.polls) + len(history.operations):,}")
    yield _line("commands", ", ".join(f"{n:,} {text}" for text, n in outcomes.items()))
    yield _line("errors", f"{len(result.errors)} kinds" if result.errors else "0")
    for text in result.errors[:_SHOWN]:
        yield f"  {text}"[:_WIDTH]
    yield _line("journal entries", f"{len(history.journal):,}")
    yield _line("driver runs, webhooks", f"{len(history.runs)}, {_deliveries(history)}")
    yield _line("broken promises", f"{broken} (/v1/report)")
    for kind, count in sorted(Counter(fault.kind for fault in history.faults).items()):
        yield _line("fault", f"{count} x {kind}")
    if not plan.has_faults:
        yield _line("memory, last third", f"{result.slope:+.0f} kB a minute")
        yield from _longest(result)
    yield _line("violations", str(len(result.violations)))
    for text in result.violations[:_SHOWN]:
        yield from textwrap.wrap(
            text, _WIDTH, initial_indent="  ", subsequent_indent="    "
        )


def _deliveries(history: History) -> str:
    accepted = {item.position for item in history.deliveries if item.is_accepted}
    repeated = len(history.deliveries) - len(accepted)
    return f"{len(accepted)} ({repeated} repeated or refused)"


def _line(what: str, text: str) -> str:
    return f"{what:<23} {text}"[:_WIDTH]


def _minutes(result: SoakResult) -> Iterator[str]:
    """Yield a line for each minute."""
    yield "minute requests errors  p50 ms  p99 ms  max ms  RSS MB files thr live load"
    begun = result.begun
    took: dict[int, list[float]] = {}
    for at, _, seconds, _ in result.responses():
        took.setdefault(int((at - begun) // 60), []).append(max(seconds, 0) * 1000)
    failed = Counter(
        int((poll.invoked - begun) // 60)
        for poll in result.history.polls
        if poll.status not in (200, 304)
    )
    last = {int((sample.at - begun) // 60): sample for sample in result.samples}
    for minute, sample in last.items():
        times = took.get(minute, [0.0])
        yield (
            f"{minute + 1:6} {len(times):8} {failed[minute]:6}"
            f" {figures.share(times, 0.5):7.1f} {figures.share(times, 0.99):7.1f}"
            f" {max(times):7.0f} {sample.memory / 1024:7.1f} {sample.files:5}"
            f" {sample.threads:3} {sample.live:4} {sample.load:4.1f}"
        )


def _longest(result: SoakResult) -> Iterator[str]:
    begun, ended, took, what = max(result.responses(), key=lambda item: item[2])
    minute = max(begun - result.begun, 0.0) / 60
    yield _line("longest response", f"{took:.2f} s, {what}, minute {minute:.1f}")
    for text in explain(result.samples, begun, ended):
        yield f"  {text}"


# --- running -----------------------------------------------------------------


async def soak(plan: Plan, folder: Path) -> SoakResult:
    """Run the trial with samples; Ctrl-C ends the load."""
    async with a_trial(plan, folder) as trial:
        world, loop = trial.world, asyncio.get_running_loop()

        def stop() -> None:
            loop.remove_signal_handler(signal.SIGINT)  # the second one interrupts
            sys.stderr.write("\nstopping; the report follows\n")
            world.ended.set()

        loop.add_signal_handler(signal.SIGINT, stop)
        sampler = Sampler(world, lambda: trial.program.pid, folder)
        sampling = asyncio.create_task(sampler.sample())
        history = await trial.run()
        await sampling
    violations = judge(history)
    return SoakResult(
        plan=plan, history=history, samples=sampler.samples, violations=violations
    )


def _plan() -> Plan:
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__)
    add: Callable[..., object] = parser.add_argument
    add("--minutes", type=float, default=10.0, help="of load; default: 10")
    add("--seed", help="leads to the same choices; default: a new one")
    add("--store", choices=["sqlite", "postgresql"], default="sqlite")
    add(
        "--faults",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="inject faults; without them, the load is steady",
    )
    add("--vms", type=int, default=200, help="without faults; default: 200")
    options = parser.parse_args()
    seed = options.seed or str(SystemRandom().randrange(100_000))
    plan = Plan(seed=seed, seconds=options.minutes * 60, store=options.store)
    if options.faults:
        return plan
    return Plan(
        seed=seed,
        seconds=plan.seconds,
        store=options.store,
        has_faults=False,
        clock="x60",
        pause=0.5,
        every=1.0,
        vms=options.vms,
    )


def main() -> int:
    """Run the soak test and print its report; return 1 if a bar is missed."""
    plan = _plan()
    gc.disable()  # collecting a long history would delay what is measured
    kind = "faults" if plan.has_faults else "no faults"
    sys.stdout.write(
        f"{plan.store}, {kind}, {plan.seconds / 60:g} min, clock {plan.clock},"
        f" seed {plan.seed}\n"
    )
    sys.stdout.flush()
    with tempfile.TemporaryDirectory() as name:
        result = asyncio.run(soak(plan, Path(name)))
    sys.stdout.write("\n".join([*report(result), ""]))
    missed = [*missed_bars(result)]
    for text in missed:
        sys.stdout.write(f"MISSED: {text}\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
