"""The recipe for checkpoints, with programs that save on a signal."""

import json
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
from tests.end_to_end.agents import an_agent
from tests.end_to_end.program import Program, until
from tests.patience import PATIENCE
from tests.programs.interactive_program import InteractiveProgram, running_program
from tests.programs.page import PAGE, copied
from tests.programs.recipe import OTHER, RECIPES, HookEnvironment, an_environment

RECIPE = RECIPES / "checkpoint"
SIMULATION = RECIPE / "simulation.py"

#: Saves on SIGUSR1, and prints a line once the handler is installed.
PROGRAM = "trap 'echo saved >>marker' USR1; echo; while :; do sleep 0.02; done"
DEAF = "trap '' USR1; echo; while :; do sleep 0.02; done"


@pytest.fixture
def checkpoint(tmp_path: Path) -> HookEnvironment:
    files = {"MARKER": str(tmp_path / "marker"), "STAMP": str(tmp_path / "s")}
    environment = an_environment(
        tmp_path, "checkpoint/checkpoint.sh", SERVICE="a.service", **files
    )
    environment.stub("systemctl", "cat process")
    return environment


@contextmanager
def a_service(environment: HookEnvironment, does: str) -> Iterator[None]:
    """Run `does` in bash as the main process of a service."""
    with subprocess.Popen(
        ["bash", "-c", does], cwd=environment.folder, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            environment.write("process", f"{process.pid}\n")
            yield
        finally:
            process.kill()


def saved(environment: HookEnvironment, left: int = 10, **more: str) -> int:
    """Run the hook and return its exit code."""
    return environment.run("prepare", left=left, **more).code


def test_a_program_saves_before_the_event(checkpoint: HookEnvironment) -> None:
    with a_service(checkpoint, PROGRAM):
        assert saved(checkpoint) == 0
    assert (checkpoint.folder / "marker").read_text() == "saved\n"
    assert checkpoint.calls() == ["systemctl show --property MainPID --value a.service"]


def test_an_old_checkpoint_is_not_mistaken_for_a_new_one(
    checkpoint: HookEnvironment,
) -> None:
    checkpoint.write("marker", "old\n")
    with a_service(checkpoint, DEAF):
        assert saved(checkpoint, left=3) == 1


def test_a_program_that_has_saved_is_not_signaled_by_a_second_run(
    checkpoint: HookEnvironment,
) -> None:
    with a_service(checkpoint, PROGRAM):
        assert saved(checkpoint) == 0
        assert saved(checkpoint, FOREWARN_AGAIN="1") == 0
    assert (checkpoint.folder / "marker").read_text() == "saved\n"


def test_a_program_saves_for_each_event(checkpoint: HookEnvironment) -> None:
    with a_service(checkpoint, PROGRAM):
        assert saved(checkpoint) == 0
        assert saved(checkpoint, event=OTHER) == 0
    assert (checkpoint.folder / "marker").read_text() == "saved\nsaved\n"


def test_a_stopped_program_has_nothing_to_save(checkpoint: HookEnvironment) -> None:
    checkpoint.write("process", "0\n")
    assert saved(checkpoint) == 0


def test_an_unknown_service_is_not_ready(checkpoint: HookEnvironment) -> None:
    checkpoint.stub("systemctl", "exit 1")
    assert saved(checkpoint) != 0


@contextmanager
def the_simulation(
    folder: Path, *, samples: int = 10**12, **more: str
) -> Iterator[InteractiveProgram]:
    """Run the recipe's program with its state in `folder`; kill it at the end."""
    command = [sys.executable, str(SIMULATION)]
    environment = {"STATE_DIRECTORY": str(folder), "SAMPLES": str(samples), **more}
    with running_program(command, folder, environment) as simulation:
        (folder / "process").write_text(f"{simulation.process.pid}\n")
        yield simulation


def uninterrupted(samples: int) -> Any:
    """Return the state after so many samples, computed in one go."""
    simulation = run_path(str(SIMULATION))["Simulation"]()
    while simulation.samples < samples:
        simulation.advance()
    return json.loads(simulation.dump())


def checkpointed(folder: Path) -> Any:
    return json.loads((folder / "checkpoint.json").read_text())


@pytest.fixture
def simulated(tmp_path: Path) -> HookEnvironment:
    files = {"MARKER": str(tmp_path / "checkpoint.done"), "STAMP": str(tmp_path / "s")}
    environment = an_environment(
        tmp_path, "checkpoint/checkpoint.sh", SERVICE="simulation.service", **files
    )
    environment.stub("systemctl", f'[ "$1" != show ] || cat {tmp_path}/process')
    return environment


def test_the_page_shows_the_program_and_its_unit() -> None:
    page = PAGE.with_name("checkpoint-a-program.md")
    for label in ("python simulation.py", "ini simulation.service"):
        shown = copied("The program", label, page)
        assert shown == (RECIPE / label.split()[1]).read_text()


def test_the_program_continues_from_its_checkpoint_after_a_kill(
    simulated: HookEnvironment, tmp_path: Path
) -> None:
    with the_simulation(tmp_path) as simulation:
        simulation.expect("starting at 0")
        assert saved(simulated) == 0
    first = checkpointed(tmp_path)
    assert first == uninterrupted(first["samples"])
    with the_simulation(tmp_path) as simulation:
        simulation.expect(f"continuing at {first['samples']}")
        assert saved(simulated, event=OTHER) == 0
    second = checkpointed(tmp_path)
    assert second["samples"] > first["samples"]
    assert second == uninterrupted(second["samples"])


def test_an_interrupted_program_has_the_result_of_an_uninterrupted_one(
    tmp_path: Path,
) -> None:
    with the_simulation(tmp_path) as simulation:
        simulation.expect("starting at 0")
        simulation.end()
        line = simulation.lines.get(timeout=PATIENCE)
        simulation.expect("ended with 0")
    samples = int(line.removeprefix("saved at "))
    whole = uninterrupted(samples + 20_000)
    with the_simulation(tmp_path, samples=samples + 20_000) as simulation:
        simulation.expect(f"continuing at {samples}")
        simulation.expect(f"pi is about {4 * whole['hits'] / whole['samples']}")


def test_the_program_does_not_start_over_if_its_checkpoint_is_damaged(
    tmp_path: Path,
) -> None:
    (tmp_path / "checkpoint.json").write_text('{"samples": 10000')
    with the_simulation(tmp_path) as simulation:
        simulation.expect("ended with 1")
    assert "delete it to start at 0" in (tmp_path / "stderr").read_text()


def test_the_program_is_ready_for_systemd_when_its_checkpoint_is_loaded(
    tmp_path: Path,
) -> None:
    checkpoint = tmp_path / "checkpoint.json"
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(address)
        systemd.settimeout(PATIENCE)
        checkpoint.write_text("damaged")
        with the_simulation(tmp_path, NOTIFY_SOCKET=address) as simulation:
            simulation.expect("ended with 1")
        assert select.select([systemd], [], [], 0) == ([], [], [])
        checkpoint.write_text(json.dumps(uninterrupted(10_000)))
        with the_simulation(tmp_path, NOTIFY_SOCKET=address) as simulation:
            assert systemd.recv(100) == b"READY=1"
            simulation.expect("continuing at 10000")


def test_a_program_that_ran_before_the_event_is_started_after_it(
    checkpoint: HookEnvironment,
) -> None:
    with a_service(checkpoint, PROGRAM):
        assert saved(checkpoint) == 0
    checkpoint.calls()
    assert checkpoint.run("recover").code == 0
    assert checkpoint.calls() == ["systemctl start a.service"]


def test_a_program_that_was_stopped_before_the_event_stays_stopped(
    checkpoint: HookEnvironment,
) -> None:
    checkpoint.write("process", "0\n")
    assert saved(checkpoint) == 0
    checkpoint.calls()
    assert checkpoint.run("recover").code == 0
    assert checkpoint.calls() == []


def test_a_program_continues_where_it_was_after_the_reboot(
    program: Program, simulated: HookEnvironment, tmp_path: Path
) -> None:
    plan = (RECIPE / "agent.toml").read_text()
    plan = plan.replace('state = "/var/lib/forewarn-agent"', "")
    plan = plan.replace("/etc/forewarn", str(RECIPE))
    plan = plan.replace("/var/lib/simulation", str(tmp_path))
    path = f"{tmp_path / 'bin'}:/usr/sbin:/usr/bin:/sbin:/bin"
    endpoint = f"{program.metadata[0]}/vm/db-0"

    def agent() -> Any:
        stamp = str(tmp_path / "s")
        return an_agent(tmp_path / "agent", endpoint, plan, PATH=path, STAMP=stamp)

    with the_simulation(tmp_path) as simulation, agent() as before:
        simulation.expect("starting at 0")
        before.wait_for("began")
        program.service.announce(type="Reboot", vms=["db-0"])
        before.wait_for("approved")
    saved_at = checkpointed(tmp_path)["samples"]  # both were killed, as by a reboot
    with the_simulation(tmp_path) as simulation, agent() as after:
        simulation.expect(f"continuing at {saved_at}")
        after.wait_for("began", times=2)
        program.service.advance(5)
        until(lambda: "systemctl start simulation.service" in simulated.calls())
        after.wait_for("over")
        assert saved(simulated, event=OTHER) == 0
    later = checkpointed(tmp_path)
    assert later["samples"] > saved_at
    assert later == uninterrupted(later["samples"])
