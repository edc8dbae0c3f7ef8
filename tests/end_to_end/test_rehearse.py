"""`forewarn rehearse` as people and CI run it."""

import os
import signal
import subprocess
from pathlib import Path
from select import select

import pytest
from tests.end_to_end.program import FOREWARN, environment_of, run
from tests.patience import PATIENCE
from tests.testing.support.actors import EAGER, an_actor

SHORT = """\
title = "A restart"
patience = "60s"
[[steps]]
restart = "web-0"
as = "restart"
[[steps]]
expect = "seen"
event = "restart"
within = "60s"
[[steps]]
expect = "approved"
event = "restart"
"""


@pytest.fixture
def short(tmp_path: Path) -> str:
    """Write a short scenario, and return its path."""
    path = tmp_path / "short.toml"
    path.write_text(SHORT)
    return str(path)


def test_a_good_program_passes_with_a_table_and_code_0(
    tmp_path: Path, short: str
) -> None:
    done = run(tmp_path, "rehearse", short, "--", *EAGER)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] == "short: A restart"
    assert lines[1].split() == ["step", "what", "verdict", "took"]
    assert lines[-1].startswith("PASSED short: 4 expectations met in ")
    assert max(map(len, lines)) <= 80
    assert "step 3 of 3: passed: restart is approved" in done.err


def test_a_bad_program_fails_with_the_reason_and_code_1(
    tmp_path: Path, short: str
) -> None:
    program = an_actor("print('I do nothing', flush=True)\nforever(lambda e: None)")
    Path(short).write_text(SHORT.replace('"60s"', '"500ms"', 1))
    done = run(tmp_path, "rehearse", short, "--quiet", "--", *program)
    assert done.code == 1
    output = " ".join(done.out.split())
    assert "step 3: restart is approved within 500ms: web-0 received" in output
    assert "but no approval" in output
    assert "I do nothing" in done.out
    assert done.out.splitlines()[-1].startswith("FAILED short after ")
    assert done.err == ""


@pytest.mark.parametrize("option", ["--junit", "--transcript"])
def test_a_full_disk_is_reported_and_the_verdict_is_still_printed(
    tmp_path: Path, short: str, option: str
) -> None:
    done = run(tmp_path, "rehearse", short, option, "/dev/full", "--", *EAGER)
    assert done.code == 1
    assert "cannot write /dev/full: No space left on device" in done.err
    assert done.out.splitlines()[-1].startswith("PASSED short")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("user-reboot",), "no program to run"),
        (("--", "true"), "no scenario to play"),
        (("--list", "--schema"), "cannot be used together"),
        (("--list", "user-reboot"), "does not play a scenario"),
        (("user-reboot", "--seed", "x", "--", "true"), "expected a whole number"),
    ],
)
def test_a_usage_error_prints_a_message_and_exits_with_2(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    done = run(tmp_path, "rehearse", *words)
    assert done.code == 2
    assert said in done.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_rehearsal_ends_the_program(
    tmp_path: Path, number: signal.Signals
) -> None:
    note = tmp_path / "pid"
    program = an_actor(
        f"open({str(note)!r} + '.new', 'w').write(str(os.getpid()))\n"
        f"os.rename({str(note)!r} + '.new', {str(note)!r})\nforever(lambda e: None)"
    )
    scenario = tmp_path / "long.toml"
    scenario.write_text('title = "Long"\n[[steps]]\nwait = "60s"\n')
    process = subprocess.Popen(
        [*FOREWARN, "rehearse", str(scenario), "--", *program],
        cwd=tmp_path,
        env=environment_of(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.stderr is not None
        assert b"step 0 of 1" in process.stderr.readline()
        child = os.pidfd_open(int(note.read_text()))
        process.send_signal(number)
        assert process.wait(PATIENCE) == 128 + number
        assert select([child], [], [], PATIENCE)[0]
        os.close(child)
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_does_not_wait_for_the_program(
    tmp_path: Path, number: signal.Signals
) -> None:
    fifo = tmp_path / "signaled"
    os.mkfifo(fifo)
    program = an_actor(
        "import signal\n"
        f"report = lambda *_: open({str(fifo)!r}, 'w').write(str(os.getpid()))\n"
        "signal.signal(signal.SIGTERM, report)\nforever(lambda e: None)"
    )
    process = subprocess.Popen(
        [*FOREWARN, "rehearse", "user-reboot", "--", *program],
        cwd=tmp_path,
        env=environment_of(tmp_path),
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.stderr is not None
        assert b"step 0 of" in process.stderr.readline()
        process.send_signal(number)
        child = os.pidfd_open(int(fifo.read_text()))  # it got SIGTERM and goes on
        process.send_signal(number)
        assert process.wait(PATIENCE) == 128 + number
        assert select([child], [], [], PATIENCE)[0]
        os.close(child)
        assert b"Traceback" not in process.stderr.read()
