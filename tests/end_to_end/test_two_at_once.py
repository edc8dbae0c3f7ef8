"""Concurrency: two first starts at once, and fleet changes during an advance."""

import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from threading import Thread

import pytest
from tests.end_to_end.client_load import journal
from tests.end_to_end.program import (
    DEMO,
    FOREWARN,
    PORTS,
    environment_of,
    run,
    serving,
)
from tests.patience import PATIENCE

SERVE = (*FOREWARN, "serve", *PORTS, "--fleet", str(DEMO))


@contextmanager
def started(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        SERVE,
        env=environment_of(folder, FOREWARN_TOKEN=None),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_only_one_of_two_simultaneous_first_starts_serves(tmp_path: Path) -> None:
    with ExitStack() as stack:
        both = [stack.enter_context(started(tmp_path)) for _ in range(2)]
        printed = [process.stdout.readline() for process in both if process.stdout]
        assert sorted(map(bool, printed)) == [False, True]
        for process, line in zip(both, printed, strict=True):
            if line:
                process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=PATIENCE)
            assert process.returncode == (0 if line else 1)
            assert bool(errors) is not bool(line)
            assert line or "in use by another forewarn" in errors
    left = {file.name for file in (tmp_path / "state").iterdir()}
    assert left == {"forewarn.db", "forewarn.db-lock", "token"}


@pytest.fixture
def fleets(tmp_path: Path) -> Sequence[Path]:
    """Return the demo fleet, and a copy with one more VM."""
    more = tmp_path / "more.toml"
    more.write_text(DEMO.read_text() + '\n[[vms]]\nname = "more"\n')
    return DEMO, more


@pytest.mark.full
def test_a_fleet_can_be_applied_while_the_clock_advances(
    tmp_path: Path, fleets: Sequence[Path]
) -> None:
    with serving(tmp_path, "--clock", "manual") as program:
        service = program.service
        for number in range(40):
            service.announce(vms=["web-0"], notice_seconds=900 + 60 * number)
        advancing = Thread(target=service.advance, args=(2 * 3600,))
        advancing.start()
        codes: list[int] = []
        while advancing.is_alive() or len(codes) < 2:
            file, flags = str(fleets[len(codes) % 2]), ("--remove", "--yes")
            words = ("fleet", "apply", file, *flags)
            done = run(tmp_path, *words, FOREWARN_URL=service.control)
            codes.append(done.code)
        advancing.join()
        assert {*codes} == {0}
        facts = journal(service)
    assert [fact["position"] for fact in facts] == [*range(1, len(facts) + 1)]
    times = [datetime.fromisoformat(fact["at"]) for fact in facts]
    assert times == sorted(times)
    assert sum(fact["fact"] == "Completed" for fact in facts) == 40
    assert sum(fact["fact"] == "FleetChanged" for fact in facts) >= 2
