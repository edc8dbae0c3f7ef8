"""Agent shutdown and canceled events while a hook is still running."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.end_to_end.agents import an_agent
from tests.end_to_end.program import Program, serving, until
from tests.patience import PATIENCE

FLEET = '[[vms]]\nname = "busy"\n[[vms]]\nname = "polling"\n'

STUBBORN = '''
[hooks.drain]
command = """
trap 'echo yes > signaled' TERM; echo $$ > pid; until [ -e enough ]; do sleep 0.05; done
sleep 0.5"""
[[rules]]
name = "all"
prepare = ["drain"]
'''
ASKING = """
[hooks.drain]
command = "true"
[hooks.ready]
command = "echo $$ > pid; exec sleep 600"
[[rules]]
name = "all"
prepare = ["drain"]
together = "when-ready"
ready = "ready"
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    folder = tmp_path_factory.mktemp("service")
    with serving(folder, "--store", "memory", fleet=FLEET) as program:
        yield program


def endpoint(program: Program, vm: str) -> str:
    return f"{program.metadata[0]}/vm/{vm}"


def process(folder: Path) -> Path:
    """Return the /proc path of the hook that has written its process id to a file."""
    path = folder / "pid"
    until(lambda: path.exists() and bool(path.read_text().strip()))
    return Path("/proc") / path.read_text().strip()


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_second_signal_does_not_stop_the_agent_from_ending_its_hooks(
    program: Program, tmp_path: Path, second: signal.Signals
) -> None:
    folder, top = tmp_path / "vm", {"kill_after_seconds": 4}  # less than an agent waits
    with an_agent(folder, endpoint(program, "busy"), STUBBORN, top=top) as agent:
        maintenance = program.service.announce(vms=["busy"])
        hook = process(folder)
        agent.process.send_signal(signal.SIGTERM)
        until((folder / "signaled").exists)
        agent.process.send_signal(second)
        (folder / "enough").touch()
        assert agent.process.wait(PATIENCE) == 0
    assert not hook.exists()
    assert agent.lines("ended") != []
    path = f"/v1/maintenances/{maintenance['id']}/cancel"
    program.service.request("POST", path, {"reason": "the next one"})


def test_a_readiness_hook_ends_with_the_event(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "vm"
    with an_agent(folder, endpoint(program, "polling"), ASKING) as agent:
        maintenance = program.service.announce(vms=["polling"])
        hook = process(folder)
        path = f"/v1/maintenances/{maintenance['id']}/cancel"
        program.service.request("POST", path, {"reason": "a test"})
        agent.wait_for("over")
        until(lambda: not hook.exists())
        assert agent.lines("not-approved") == []
