"""Fuzz benchmark of the HTTP parser: compares the metadata plane with two oracles.

Run by `scripts/bench bytes --cases 1000000 --seed 1`. Each case is a stream of bytes,
generated from its number and judged as in tests/server/metadata/test_any_bytes.py. If a
case differs, the benchmark reports its number and the shortest stream that differs.
"""

import argparse
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

from tests.server.support.invalid_streams import bad_stream, large
from tests.server.support.stream_judge import (
    StreamResult,
    check_stream,
    judge_good,
    shortest,
)
from tests.server.support.valid_streams import good_requests

_BATCH = 500
_PATIENCE = 20  # seconds for one case, which usually takes milliseconds
_SHOWN = 10  # differences reported in full


@dataclass(slots=True)
class CaseCounts:
    """Results of some cases."""

    cases: int = 0
    accepted: int = 0
    refused: Counter[int] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def add(self, other: "CaseCounts") -> None:
        """Add the counts of `other`."""
        self.cases += other.cases
        self.accepted += other.accepted
        self.refused += other.refused
        self.kinds += other.kinds
        self.differences += other.differences

    def count(self, kind: str, judgement: StreamResult) -> None:
        """Count one case."""
        self.kinds[kind] += 1
        self.accepted += judgement.accepted
        if judgement.refusal is not None:
            self.refused[judgement.refusal] += 1


def _draw(random: Random) -> tuple[str, StreamResult, bytes]:
    """Generate a case and judge it; two in ten are valid requests."""
    drawn = random.random()
    if drawn < 0.2:
        sent = good_requests(random)
        stream = b"".join(request.wire for request in sent)
        return "good", judge_good(sent, random), stream
    is_large = drawn < 0.201
    stream = large(random) if is_large else bad_stream(random)
    return "large" if is_large else "bad", check_stream(stream, random), stream


@contextmanager
def _patience() -> Iterator[None]:
    """Raise `TimeoutError` if the block does not end in time."""

    def give_up(*_: object) -> None:
        raise TimeoutError(f"the case took more than {_PATIENCE} seconds")

    signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, _PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _batch(seed: int, first: int, count: int) -> CaseCounts:
    tally = CaseCounts(cases=count)
    for number in range(first, first + count):
        name = f"{seed}:{number}"
        try:
            with _patience():
                kind, judgement, stream = _draw(Random(name))
            tally.count(kind, judgement)
            if judgement.complaints:
                is_shown = len(tally.differences) < _SHOWN
                short = _shortest(stream) if is_shown else stream
                tally.differences.append(_describe(name, short, judgement))
        except Exception as problem:  # every failure is reported
            tally.differences.append(f"case {name} raises {problem!r}")
    return tally


def _describe(name: str, short: bytes, judgement: StreamResult) -> str:
    complaints = check_stream(short, Random(0)).complaints or judgement.complaints
    return "\n  ".join([f"case {name}: {short!r}", *complaints])


def _shortest(stream: bytes) -> bytes:
    return shortest(stream, lambda part: bool(check_stream(part, Random(0)).complaints))


def _run(cases: int, seed: int, workers: int) -> CaseCounts:
    tally, begun, reported = CaseCounts(), time.monotonic(), 0.0
    with ProcessPoolExecutor(workers) as pool:
        batches = [
            pool.submit(_batch, seed, first, min(_BATCH, cases - first))
            for first in range(0, cases, _BATCH)
        ]
        for batch in batches:
            tally.add(batch.result())
            taken = time.monotonic() - begun
            if taken - reported > 10:
                reported = taken
                sys.stderr.write(
                    f"{tally.cases:>9} of {cases} cases, {tally.cases / taken:.0f} per "
                    f"second, {len(tally.differences)} differences\n"
                )
    return tally


def main() -> int:
    """Run the cases; return 1 if one of them differs."""
    parser = argparse.ArgumentParser(prog="scripts/bench bytes")
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    tally = _run(arguments.cases, arguments.seed, arguments.workers)
    refused = ", ".join(
        f"{n} by {status}" for status, n in sorted(tally.refused.items())
    )
    kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(tally.kinds.items()))
    lines = [
        f"cases              {tally.cases}: {kinds}; seed {arguments.seed}",
        f"requests accepted  {tally.accepted}",
        f"streams refused    {tally.refused.total()}: {refused}",
        f"differences        {len(tally.differences)}",
        *tally.differences[:_SHOWN],
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if tally.differences else 0


if __name__ == "__main__":
    sys.exit(main())
