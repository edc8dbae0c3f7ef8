"""The recipe for Slurm, with stubs of its commands."""

from pathlib import Path

import pytest
from tests.programs.recipe import EVENT, OTHER, HookEnvironment, an_environment

UPDATE = "scontrol update nodename=node-0"


@pytest.fixture
def slurm(tmp_path: Path) -> HookEnvironment:
    environment = an_environment(tmp_path, "slurm/drain.sh", NODE="node-0")
    environment.stub(
        "scontrol",
        'case "$1" in show) cat node ;; requeue) rm -f jobs ;; esac; '
        '[ "$1" != "${FAILS-}" ]',
    )
    environment.stub("squeue", "[ ! -e jobs ] || cat jobs")
    environment.write("node", "NodeName=node-0 State=IDLE\n")
    return environment


def drained(reason: str) -> str:
    """Return the output of scontrol for a drained node."""
    who = "[root@2030-01-01T00:00:00]"
    return f"NodeName=node-0 Arch=x86_64 State=MIXED+DRAIN Reason={reason} {who}\n"


def scontrol(environment: HookEnvironment) -> list[str]:
    """Return the calls of scontrol, except those that read the node's state."""
    commands = [call for call in environment.calls() if call.startswith("scontrol ")]
    return [call for call in commands if not call.startswith("scontrol show")]


def test_an_idle_node_is_drained(slurm: HookEnvironment) -> None:
    assert slurm.run("prepare").code == 0
    assert scontrol(slurm) == [f"{UPDATE} state=drain reason=forewarn {EVENT}"]


def test_jobs_are_requeued_when_time_is_short(slurm: HookEnvironment) -> None:
    slurm.write("jobs", "41\n42\n")
    assert slurm.run("prepare", left=30).code == 0
    assert scontrol(slurm)[1:] == ["scontrol requeue 41,42"]


def test_jobs_may_finish_while_there_is_time(slurm: HookEnvironment) -> None:
    slurm.write("jobs", "41\n")
    slurm.stub("squeue", "cat jobs; : >jobs")
    assert slurm.run("prepare", left=600).code == 0
    assert scontrol(slurm)[1:] == []


def test_a_job_that_does_not_leave_makes_the_node_not_ready(
    slurm: HookEnvironment,
) -> None:
    slurm.stub("squeue", "echo 41; echo 42")
    ended = slurm.run("prepare", left=1, FAILS="requeue")
    assert (ended.code, ended.err) == (1, "still here: 41 42\n")
    assert scontrol(slurm)[1:] == ["scontrol requeue 41,42"]  # once


def test_a_node_that_cannot_be_drained_is_not_ready(slurm: HookEnvironment) -> None:
    assert slurm.run("prepare", FAILS="update").code != 0


def test_an_unreadable_queue_is_not_treated_as_empty(slurm: HookEnvironment) -> None:
    slurm.stub("squeue", "exit 1")
    assert slurm.run("prepare").code != 0


def test_a_node_drained_by_someone_else_keeps_its_reason(
    slurm: HookEnvironment,
) -> None:
    slurm.write("node", drained("bad fan"))
    assert slurm.run("prepare").code == 0
    assert slurm.run("recover").code == 0
    assert scontrol(slurm) == []


def test_a_repeated_slurm_hook_names_its_event_once(slurm: HookEnvironment) -> None:
    slurm.write("node", drained(f"forewarn {EVENT}"))
    assert slurm.run("prepare", FOREWARN_AGAIN="1").code == 0
    assert scontrol(slurm) == [f"{UPDATE} state=drain reason=forewarn {EVENT}"]


@pytest.mark.parametrize("step", ["recover", "undo"])
def test_a_node_drained_by_the_hook_is_resumed(
    slurm: HookEnvironment, step: str
) -> None:
    slurm.write("node", drained(f"forewarn {EVENT}"))
    assert slurm.run(step).code == 0
    assert scontrol(slurm) == [f"{UPDATE} state=resume"]


def test_a_node_stays_drained_for_the_next_event(slurm: HookEnvironment) -> None:
    slurm.write("node", drained(f"forewarn {OTHER}"))
    slurm.run("prepare")
    both = f"forewarn {OTHER} {EVENT}"
    assert scontrol(slurm) == [f"{UPDATE} state=drain reason={both}"]
    slurm.write("node", drained(both))
    slurm.run("recover", event=OTHER)
    assert scontrol(slurm) == [f"{UPDATE} state=drain reason=forewarn {EVENT}"]
