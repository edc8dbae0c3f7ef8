"""Agent crashes: the agent is killed at random moments of events.

The checks read what is on disk in the end: the lines that hooks wrote, the agent's
event states, and the service's journal.
"""

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.agent.support.hook_builders import is_gone
from tests.end_to_end.agent_forks import AgentForks, agent_forks
from tests.end_to_end.agents import a_plan
from tests.end_to_end.client_load import journal
from tests.end_to_end.program import Program, serving, until
from tests.lanes import SEED, size
from tests.server.support.service import TOKEN, send_request

KILLS = int(os.environ.get("KILLS") or size(96, 200))
LANES = 8
PER_LANE = -(-KILLS // LANES)
LONGEST = 0.7  # seconds from the announcement to the latest kill

FLEET = "".join(f'[[vms]]\nname = "vm-{number}"\n' for number in range(LANES))

#: Records when a hook begins and ends, and whether two runs overlap.
HOOK = """#!/bin/sh
exec 9>>lock-$FOREWARN_HOOK
me="$FOREWARN_EVENT_ID $FOREWARN_STEP $FOREWARN_HOOK"
flock -n 9 || echo "overlap $me" >> lines
echo "begin $me ${FOREWARN_AGAIN:-0}" >> lines
sleep 0.05
echo "end $me $(date +%s.%N)" >> lines
"""
PLAN = """
[hooks.drain]
command = ["./hook"]
[hooks.flush]
command = ["./hook"]
[hooks.fill]
command = ["./hook"]
[[rules]]
name = "all"
prepare = ["drain", "flush"]
started = ["flush"]
recover = ["fill"]
undo = ["fill"]
"""


def wait_for(is_true: Callable[[], bool]) -> None:
    """Poll until `is_true` holds, slowly enough to leave the CPU to the agents."""
    until(is_true, every=0.04)


@dataclass(frozen=True, slots=True, kw_only=True)
class KilledAgent:
    """One VM whose agent is killed repeatedly."""

    program: Program
    forks: AgentForks
    folder: Path
    vm: str
    dice: random.Random

    def kill(self, times: int) -> int:
        """Announce `times` events and kill the agent once during each."""
        self.folder.mkdir()
        hook = self.folder / "hook"
        hook.write_text(HOOK)
        hook.chmod(0o755)
        endpoint = f"{self.program.metadata[0]}/vm/{self.vm}"
        file = a_plan(self.folder, endpoint, PLAN, poll_seconds=0.2)
        agent = self.forks.begin(file)
        for _ in range(times):
            agent = self._live_through(agent, file)
        os.kill(agent, signal.SIGKILL)
        return times

    def _live_through(self, agent: int, file: Path) -> int:
        began = time.monotonic()
        maintenance = self.program.service.announce(vms=[self.vm])
        with ThreadPoolExecutor(1) as other:
            ending = other.submit(self._complete, maintenance["id"])
            if self.dice.random() < 0.5:  # during its hooks, however late they begin
                wait_for(lambda: self._has_begun(maintenance["events"][0]["id"]))
                began = time.monotonic()
            moment = began + self.dice.uniform(0, LONGEST)
            time.sleep(max(0.0, moment - time.monotonic()))
            os.kill(agent, signal.SIGKILL)
            assert is_gone(agent)  # systemd also waits before it restarts a service
            agent = self.forks.begin(file)
            ending.result()
        wait_for(lambda: self._is_over(maintenance["events"][0]["id"]))
        return agent

    def _complete(self, made: str) -> None:
        wait_for(lambda: b"Started" in self.program.service.as_vm(self.vm).body)
        path = f"{self.program.service.control}/v1/maintenances/{made}/complete"
        answer = send_request("POST", path, b"", Authorization=f"Bearer {TOKEN}")
        assert answer.status == 200, answer.body

    def _has_begun(self, event: str) -> bool:
        path = self.folder / "lines"
        return path.exists() and f"begin {event}" in path.read_text()

    def _is_over(self, event: str) -> bool:
        path = self.folder / "state" / "events" / f"{event}.json"
        return path.exists() and b'"over_at":"' in path.read_bytes()

    def last_lines(self) -> str:
        """Return the end of what its agents have logged, to explain a failure."""
        path = self.folder / "log"
        lines = path.read_text().splitlines() if path.exists() else []
        return "\n".join(lines[-20:])

    def lives(self) -> Iterator[Any]:
        """Yield the event states on disk, one for each kill."""
        paths = [*(self.folder / "state" / "events").glob("*.json")]
        assert len(paths) == PER_LANE
        for path in paths:
            yield json.loads(path.read_text().partition("\n")[2])

    def lines(self, word: str) -> list[list[str]]:
        """Return the hook lines that begin with `word`, split and without it."""
        written = (self.folder / "lines").read_text().splitlines()
        return [line.split()[1:] for line in written if line.startswith(f"{word} ")]


pytestmark = pytest.mark.timeout(600)  # seconds; the first test includes all kills


@pytest.fixture(scope="module")
def lanes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sequence[KilledAgent]]:
    folder = tmp_path_factory.mktemp("kills")
    options = ("--store", "memory", "--driver", "operator")
    seed = SEED
    print(f"seed {seed}")  # noqa: T201  # shown if it fails
    with (
        serving(folder, *options, fleet=FLEET, FOREWARN_SHOWN_REBOOT="0") as program,
        agent_forks(folder) as forks,
    ):
        all_lanes = [
            KilledAgent(
                program=program,
                forks=forks,
                folder=folder / f"vm-{number}",
                vm=f"vm-{number}",
                dice=random.Random(seed + number),
            )
            for number in range(LANES)
        ]
        program.service.get("/v1/clock")  # loads the API description before the threads
        with ThreadPoolExecutor(LANES) as threads:
            futures = [threads.submit(lane.kill, PER_LANE) for lane in all_lanes]
        for lane, future in zip(all_lanes, futures, strict=True):
            if (error := future.exception()) is not None:
                error.add_note(f"{lane.vm} logged:\n{lane.last_lines()}")
                raise error
        assert sum(future.result() for future in futures) >= KILLS
        yield all_lanes


def test_every_hook_of_every_event_has_succeeded_in_the_end(
    lanes: Sequence[KilledAgent],
) -> None:
    """Hooks of a start that was over at once are exempt; it may even be missed."""
    for lane in lanes:
        for life in lane.lives():
            done = by_outcome(life, "done")
            assert {("prepare", "drain"), ("prepare", "flush")} <= done
            last = "recover" if life["started_at"] else "undo"
            assert done & {("recover", "fill"), ("undo", "fill")} == {(last, "fill")}
            assert by_outcome(life, "cut") <= {("started", "flush")}
            assert by_outcome(life, "failed", "running") == set()


def by_outcome(life: Any, *outcomes: str) -> set[tuple[str, str]]:
    runs = [run for run in life["runs"] if run["outcome"] in outcomes]
    return {(run["step"], run["hook"]) for run in runs}


def test_a_hook_whose_end_is_on_disk_never_runs_again(
    lanes: Sequence[KilledAgent],
) -> None:
    for lane in lanes:
        begun = Counter(tuple(line[:3]) for line in lane.lines("begin"))
        for life in lane.lives():
            for run in life["runs"]:
                name = (life["event"]["EventId"], run["step"], run["hook"])
                assert begun[name] <= run["times"] <= 2, name


def test_an_interrupted_hook_learns_that_it_runs_again(
    lanes: Sequence[KilledAgent],
) -> None:
    again = 0
    for lane in lanes:
        seen = set[tuple[str, ...]]()
        for *name, flag in lane.lines("begin"):
            assert (flag == "1") >= (tuple(name) in seen), name
            seen.add(tuple(name))
            again += flag == "1"
    assert again > KILLS / 20, "no kill hit a running hook"


def test_no_hook_runs_twice_at_the_same_time(lanes: Sequence[KilledAgent]) -> None:
    for lane in lanes:
        assert lane.lines("overlap") == []


def test_no_event_is_approved_before_it_is_prepared(
    lanes: Sequence[KilledAgent],
) -> None:
    approved = {
        fact["event"]: datetime.fromisoformat(fact["at"]).timestamp()
        for fact in journal(lanes[0].program.service)
        if fact["fact"] == "Approved"
    }
    assert len(approved) >= KILLS
    for lane in lanes:
        for life in lane.lives():
            event = life["event"]["EventId"]
            ends = [
                float(line[3])
                for line in lane.lines("end")
                if line[:2] == [event, "prepare"]
            ]
            assert len(ends) >= 2
            assert approved[event] >= min(sorted(ends)[1:]) - 0.001
