"""Samples of the service and the machine, and the likely cause of a slow response."""

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.program import resident
from tests.faults.history import now
from tests.faults.workload import World, request

EVERY = 0.25  # seconds

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The service and the machine at one moment; counters run from their start."""

    at: float
    memory: int  # kB
    files: int
    threads: int
    live: int  # maintenance operations
    computed: float  # CPU seconds of the service
    queued: float  # seconds in which its threads waited for a processor
    written: int  # bytes
    synced: float  # seconds that a small fsync took in the same folder
    late: float  # seconds that the timer of this program was late
    position: int  # of the journal
    load: float


class Sampler:
    """Takes samples of the service until the trial is over."""

    def __init__(self, world: World, pid: Callable[[], int], folder: Path) -> None:
        """Sample the process `pid`; probe the disk of `folder`."""
        self.samples: list[Sample] = []
        self._world = world
        self._pid = pid
        self._probe = folder / "probe"
        self._position = 0

    async def sample(self) -> None:
        """Take samples until the load ends."""
        scraping = asyncio.create_task(self._scrape())
        while not self._world.ended.is_set():
            begun = time.monotonic()
            await self._world.pause(EVERY)
            late = max(time.monotonic() - begun - EVERY, 0.0)
            synced = await asyncio.to_thread(_sync, self._probe)
            if not self._world.ended.is_set():
                with suppress(OSError, StopIteration):  # it is being restarted
                    self.samples.append(self._sample(late, synced))
        await scraping

    async def _scrape(self) -> None:
        while not self._world.ended.is_set():
            response = await request(self._world, "/metrics")
            text = "" if response is None else response.body.decode()
            for line in text.splitlines():
                if line.startswith("forewarn_journal_position "):
                    self._position = int(float(line.split()[1]))
            await self._world.pause(1.0)

    def _sample(self, late: float, synced: float) -> Sample:
        process = Path(f"/proc/{self._pid()}")
        fields = (process / "stat").read_text().rpartition(")")[2].split()
        written = next(
            line.split()[1]
            for line in (process / "io").read_text().splitlines()
            if line.startswith("write_bytes")
        )
        return Sample(
            at=now(),
            memory=resident(self._pid()),
            files=len(os.listdir(process / "fd")),
            threads=int(fields[17]),
            live=len(self._world.live),
            computed=(int(fields[11]) + int(fields[12])) / _TICKS,
            queued=sum(_queue_times(process)),
            written=int(written),
            synced=synced,
            late=late,
            position=self._position,
            load=os.getloadavg()[0],
        )


def _queue_times(process: Path) -> Iterator[float]:
    """Yield the seconds that each thread waited for a processor."""
    for task in (process / "task").iterdir():
        with suppress(OSError):  # the thread has ended
            yield int((task / "schedstat").read_text().split()[1]) / 1e9


def _sync(probe: Path) -> float:
    begun = time.monotonic()
    with probe.open("wb") as file:
        file.write(b"x")
        file.flush()
        os.fsync(file.fileno())
    return time.monotonic() - begun


def explain(samples: Sequence[Sample], begun: float, ended: float) -> Iterator[str]:
    """Describe what happened from `begun` to `ended`, and name the likely cause."""
    before = [sample for sample in samples if sample.at <= begun]
    within = [sample for sample in samples if begun < sample.at < ended + 2 * EVERY]
    if not before or not within:
        yield "no sample of that moment"
        return
    first, last = before[-1], within[-1]
    span, took = last.at - first.at, ended - begun
    queued, computed = last.queued - first.queued, last.computed - first.computed
    synced = max(sample.synced for sample in within)
    late = max(sample.late for sample in within)
    written = (last.written - first.written) / 1024
    yield f"in the {span:.1f} s around it:"
    yield f"  service computed {computed:.2f} s, waited {queued:.2f} s for a processor"
    yield f"  wrote {written:,.0f} kB; a small fsync took up to {synced * 1000:.0f} ms"
    yield f"  {last.position - first.position} journal entries; load {last.load:.1f}"
    yield f"  timers of this program were up to {late * 1000:.0f} ms late"
    yield f"likely cause: {_cause(took, queued, computed, synced, late)}"


def _cause(
    took: float, queued: float, computed: float, synced: float, late: float
) -> str:
    shares = {
        "the machine was busy: this program was late itself": late,
        "the disk was slow: an fsync, or a checkpoint of the store": synced,
        "the machine was busy: the service waited for a processor": queued,
        "the service computed: a tick, garbage collection, many requests": computed,
    }
    cause = max(shares, key=lambda name: shares[name])
    return cause if shares[cause] >= 0.3 * took else "not in these samples"
