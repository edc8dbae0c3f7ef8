"""The recipe for checkpoints, with a program that saves on a signal."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.programs.recipe import OTHER, HookEnvironment, an_environment

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
