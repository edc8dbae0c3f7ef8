"""Failures of a rehearsal: early ends, explanations, and the caller's line."""

import os
import sys
import traceback
import unittest
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.testing.support.actors import an_actor

from forewarn import Client
from forewarn.errors import CannotStart, ForewarnError, InvalidInput, NotFound
from forewarn.testing import Event, Rehearsal
from forewarn.testing.rehearsal.program import Program

LONG = PATIENCE  # never reached: these waits end earlier

CRASHES = [sys.executable, "-S", "-E", "-c", "print('no disk'); raise SystemExit(2)"]


@pytest.fixture
def rehearsal() -> Iterator[Rehearsal]:
    with Rehearsal(vms=["a", "b"], seed=1) as rehearsal:
        yield rehearsal


def ended(rehearsal: Rehearsal, program: Program) -> None:
    assert rehearsal.observer.wait(lambda: program.has_ended, PATIENCE)


# --- programs that end -------------------------------------------------------

WAITS: dict[str, Callable[[Rehearsal, Event], object]] = {
    "assert_approved": lambda _, event: event.assert_approved(LONG, by="a"),
    "assert_not_approved": lambda _, event: event.assert_not_approved(LONG),
    "wait_seen": lambda _, event: event.wait_seen(within=LONG),
    "wait_polled": lambda rehearsal, _: rehearsal.wait_polled(LONG),
    "wait_marked": lambda rehearsal, _: rehearsal.wait_marked("ready", LONG),
    "wait_output": lambda rehearsal, _: rehearsal.wait_output("ready", LONG),
}


@pytest.mark.parametrize("wait", WAITS)
def test_crashed_program_ends_every_wait_and_comes_first(
    rehearsal: Rehearsal, wait: str
) -> None:
    event = rehearsal.reboot()
    with (
        rehearsal.run(*CRASHES),
        pytest.raises(AssertionError, match="exited with code 2") as caught,
    ):
        WAITS[wait](rehearsal, event)
    first, second, *rest = str(caught.value).splitlines()
    assert first.startswith(f"{Path(sys.executable).name} exited with code 2 after ")
    assert second == "  no disk"
    assert "within" not in str(rest)
    assert "FOREWARN_ENDPOINT" not in str(rest)
    assert "timeline" not in str(rest)  # there is nothing to show


def test_program_that_did_its_work_before_it_ended_breaks_no_wait(
    rehearsal: Rehearsal,
) -> None:
    code = "print('draining', flush=True)\nfor event in scheduled(): approve(event)"
    event = rehearsal.reboot()
    with rehearsal.run(*an_actor(code), marks=["draining"]) as program:
        event.assert_approved(LONG, by="a")
        ended(rehearsal, program)
        event.assert_approved()
        event.wait_seen(by="a")
        rehearsal.wait_marked("draining")
        assert rehearsal.wait_output("drain") == "draining"
        event.assert_not_approved_before("draining")
        rehearsal.reboot("b").assert_not_approved(LONG)  # nobody is left to approve


@pytest.mark.parametrize(
    "other", [["sleep", "600"], ["sh", "-c", "sleep 600 & exit 0"]]
)
def test_wait_goes_on_while_another_program_or_a_child_process_is_running(
    rehearsal: Rehearsal, other: list[str]
) -> None:
    event = rehearsal.reboot()
    with rehearsal.run(*CRASHES) as crashed, rehearsal.run(*other):
        ended(rehearsal, crashed)
        with pytest.raises(AssertionError, match=r"approved within 0\.2 s") as caught:
            event.assert_approved(within=0.2)
    assert "  no disk" in str(caught.value)


def test_program_in_another_vm_does_not_end_the_wait_for_a_vm(
    rehearsal: Rehearsal,
) -> None:
    elsewhere = {"FOREWARN_ENDPOINT": rehearsal.endpoint_of("b")}
    event = rehearsal.reboot()
    with rehearsal.run(*CRASHES, environment=elsewhere) as crashed:
        ended(rehearsal, crashed)
        with pytest.raises(AssertionError, match=r"by a within 0\.01 s"):
            event.assert_approved(within=0.01, by="a")
        with pytest.raises(AssertionError, match="exited with code 2"):
            event.assert_approved(LONG, by="b")


# --- explanations ------------------------------------------------------------


def test_variable_is_suggested_only_after_a_while_without_requests(
    rehearsal: Rehearsal,
) -> None:
    event, hint = rehearsal.reboot(), "does sleep use $FOREWARN_ENDPOINT?"
    with rehearsal.run("sleep", "600"):
        with pytest.raises(AssertionError) as caught:
            event.assert_approved(within=1)
        assert str(caught.value).endswith(f"within 1 s\nno requests received; {hint}")
        with pytest.raises(AssertionError) as caught:
            rehearsal.wait_marked("ready", within=1)
        assert hint not in str(caught.value)
        with Client(rehearsal.endpoint) as client:
            client.document()
        with pytest.raises(AssertionError) as caught:
            event.assert_approved(within=1)
        assert hint not in str(caught.value)


def test_late_mark_is_awaited_to_show_the_delay(rehearsal: Rehearsal) -> None:
    code = "[approve(event) for event in scheduled()]; time.sleep(0.1)"
    code += "; print('drained', flush=True)"
    event = rehearsal.reboot()
    with rehearsal.run(*an_actor(code), marks=["drained"]):
        event.assert_approved(LONG)
        with pytest.raises(AssertionError, match=r"s before mark 'drained'") as caught:
            event.assert_not_approved_before("drained")
    lines = str(caught.value).splitlines()
    approved, marked = (
        next(number for number, line in enumerate(lines) if text in line)
        for text in ("a approved Reboot", "mark: drained")
    )
    assert approved < marked


def test_error_in_a_block_is_explained_once_by_a_note(rehearsal: Rehearsal) -> None:
    def notes(error: type[Exception], *, polls: bool) -> list[str]:
        if polls:
            with Client(rehearsal.endpoint) as client:
                client.document()
        failure = error("expected 3")
        with suppress(error), rehearsal.run(*CRASHES) as program:
            ended(rehearsal, program)
            with rehearsal.run("true"):
                raise failure
        return getattr(failure, "__notes__", [])

    (note,) = notes(ValueError, polls=False)
    assert "output of" in note
    assert "timeline" not in note
    (note,) = notes(AssertionError, polls=True)
    assert note.count("timeline") == 1
    assert notes(InvalidInput, polls=True) == []
    assert notes(unittest.SkipTest, polls=True) == []


# --- the caller's line -------------------------------------------------------

MISUSES: dict[str, Callable[[Any], object]] = {
    "unknown VM": lambda rehearsal: rehearsal.reboot("web-9"),
    "short notice": lambda rehearsal: rehearsal.reboot(notice="1m"),
    "misspelled option": lambda rehearsal: rehearsal.reboot(notise="20m"),
    "invalid option": lambda rehearsal: rehearsal.fault("429", cuont=1),
    "wrong type": lambda rehearsal: rehearsal.reboot(["a", "b"]),
    "event of a VM": lambda rehearsal: rehearsal.reboot().approve(by="web-9"),
    "invalid limit": lambda rehearsal: rehearsal.reboot().assert_approved("soon"),
    "missing program": lambda rehearsal: rehearsal.run("no-such.py"),
    "invalid mark list": lambda rehearsal: rehearsal.run("true", marks="drained"),
    "invalid argument": lambda _: Rehearsal(vms="a"),
}


@pytest.mark.parametrize("misuse", MISUSES)
def test_misuse_points_to_the_line_of_the_caller(
    rehearsal: Rehearsal, misuse: str
) -> None:
    with pytest.raises(ForewarnError) as caught:
        MISUSES[misuse](rehearsal)
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None
    frames = traceback.extract_tb(caught.tb)
    assert Path(frames[-2].filename) == Path(__file__)
    assert [Path(frame.filename).name for frame in frames[-1:]] == ["failures.py"]


def test_misuse_of_an_unknown_vm_names_it(rehearsal: Rehearsal) -> None:
    with pytest.raises(NotFound, match="VM web-9 not found; the fleet contains a, b"):
        rehearsal.reboot("web-9")


# --- programs ----------------------------------------------------------------


def test_python_file_is_found_next_to_the_caller_or_in_the_working_directory(
    rehearsal: Rehearsal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code = "import os, sys; print(sys.executable, os.getcwd())"
    (tmp_path / "here.py").write_text(code)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "there.py").write_text(code)
    with rehearsal.run("here.py"), rehearsal.run("there.py", cwd=tmp_path / "in"):
        assert rehearsal.wait_output(f"{sys.executable} {tmp_path}/in", LONG)
        assert rehearsal.wait_output(f"{sys.executable} {tmp_path}", LONG, times=2)
    with rehearsal.run(Path(__file__).name) as program:  # this file, which does nothing
        assert program.name == Path(__file__).name
    for name, cwd in (("there.py", None), ("here.py", tmp_path / "in")):
        with pytest.raises(CannotStart, match=f"cannot find {name} in /"):
            rehearsal.run(name, cwd=cwd)


def test_executable_script_runs_with_its_own_interpreter(
    rehearsal: Rehearsal, tmp_path: Path
) -> None:
    script = tmp_path / "handler.py"
    script.write_text("#!/bin/echo\n")
    script.chmod(0o755)
    with rehearsal.run("handler.py", cwd=tmp_path):
        assert rehearsal.wait_output(str(script), LONG)


def test_line_printed_before_a_request_is_a_mark_before_its_effect(
    rehearsal: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_late(program: Program, stop: int) -> None:
        """Read nothing, like a thread that gets no processor time."""
        del program
        os.close(stop)

    monkeypatch.setattr(Program, "_read", is_late)
    code = "for event in scheduled(): (print('ready', flush=True), approve(event))"
    event = rehearsal.reboot()
    with rehearsal.run(*an_actor(code), marks=["ready"]):
        event.assert_approved(LONG)
        event.assert_not_approved_before("ready")


def test_python_does_not_delay_its_lines(
    rehearsal: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    code = "import time; print('ready'); time.sleep(600)"
    with rehearsal.run(sys.executable, "-S", "-c", code):
        assert rehearsal.wait_output("read", LONG) == "ready"


def test_outputs_of_chatty_programs_stay_complete(
    rehearsal: Rehearsal, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    code = "for n in range(20000): print('line', n, 'x' * 80)\nprint('end', end='')"
    with rehearsal.run(sys.executable, "-c", code, output=log):
        rehearsal.wait_output("end", LONG)
    assert len(log.read_bytes().splitlines()) == 20001
    assert log.read_text().endswith("\nend")


def test_event_with_short_notice_starts_at_its_not_before() -> None:
    with Rehearsal(vms=["a"]) as rehearsal:
        event = rehearsal.preempt(notice="15s", short_notice=True)
        assert (event.not_before - rehearsal.now).total_seconds() == 15
        rehearsal.advance("14s")
        assert event.status == "Scheduled"
        rehearsal.advance("1s")
        assert event.status == "Started"
