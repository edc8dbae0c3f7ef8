"""`forewarn rehearse` as people and CI run it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from select import select
from xml.etree import ElementTree

import pytest
from tests.end_to_end.program import FOREWARN, environment_of, run
from tests.patience import PATIENCE
from tests.testing.support.actors import EAGER, IDLE, an_actor

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
    assert "step 3: restart is approved within 500ms: web-0 was shown it" in output
    assert "it posted no approval" in output
    assert "I do nothing" in done.out
    assert done.out.splitlines()[-1].startswith("FAILED short after ")
    assert done.err == ""


@pytest.mark.full
def test_every_report_is_written(tmp_path: Path, short: str) -> None:
    words = ("--json", "--junit", "r.xml", "--transcript", "t.jsonl", "--output", "o")
    program = an_actor("print('hello', flush=True)\nforever(approve)")
    done = run(tmp_path, "rehearse", short, *words, "--", *program)
    assert done.code == 0
    report = json.loads(done.out)
    assert report["passed"] is True
    assert [item["verdict"] for item in report["results"]] == [
        "passed",
        "done",
        "passed",
        "passed",
        "passed",
    ]
    suites = ElementTree.parse(tmp_path / "r.xml").getroot()
    assert suites.find("testsuite[@tests='4'][@failures='0']") is not None
    lines = (tmp_path / "t.jsonl").read_text().splitlines()
    facts = [json.loads(line) for line in lines]
    assert "Approved" in [item.get("fact") for item in facts]
    assert (tmp_path / "o").read_text() == "hello\n"


@pytest.mark.parametrize("option", ["--junit", "--transcript"])
def test_a_full_disk_is_reported_and_the_verdict_is_still_printed(
    tmp_path: Path, short: str, option: str
) -> None:
    done = run(tmp_path, "rehearse", short, option, "/dev/full", "--", *EAGER)
    assert done.code == 1
    assert "/dev/full cannot be written: No space left on device" in done.err
    assert done.out.splitlines()[-1].startswith("PASSED short")


@pytest.mark.full
def test_the_same_seed_gives_the_same_transcript(tmp_path: Path, short: str) -> None:
    for name in ("one", "two"):
        words = ("--seed", "7", "--transcript", name)
        assert run(tmp_path, "rehearse", short, *words, "--", *EAGER).code == 0
    first, second = (tmp_path / name for name in ("one", "two"))
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.full
def test_options_can_come_from_the_environment(tmp_path: Path, short: str) -> None:
    done = run(
        tmp_path,
        "rehearse",
        short,
        "--",
        *EAGER,
        FOREWARN_JUNIT="r.xml",
        FOREWARN_QUIET="1",
    )
    assert done.code == 0
    assert done.err == ""
    assert (tmp_path / "r.xml").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("user-reboot",), "say which program to run"),
        (("--", "true"), "say which scenario to play"),
        (("--list", "--schema"), "exclude each other"),
        (("--list", "user-reboot"), "plays no scenario"),
        (("user-reboot", "--seed", "x", "--", "true"), "expected a whole number"),
    ],
)
def test_a_usage_error_is_a_sentence_and_code_2(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    done = run(tmp_path, "rehearse", *words)
    assert done.code == 2
    assert said in done.err


@pytest.mark.full
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("no-such", "--", "true"), "there is no scenario no-such"),
        (("user-reboot", "--", "no-such"), "no-such cannot be started"),
        (("user-reboot", "--junit", "x/y", "--", "true"), "x/y cannot be written"),
        (("user-reboot", "--metadata", "192.0.2.1:80", "--", "true"), "192.0.2.1"),
    ],
)
def test_a_failure_is_a_sentence_and_code_1(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    done = run(tmp_path, "rehearse", *words)
    assert done.code == 1
    assert said in done.err
    assert "Traceback" not in done.err + done.out


@pytest.mark.full
def test_a_rehearsal_that_cannot_start_leaves_no_empty_report(tmp_path: Path) -> None:
    done = run(
        tmp_path, "rehearse", "user-reboot", "--junit", "report.xml", "--", "no-such"
    )
    assert done.code == 1
    assert not (tmp_path / "report.xml").exists()


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
    fifo = tmp_path / "told"
    os.mkfifo(fifo)
    program = an_actor(
        "import signal\n"
        f"tell = lambda *_: open({str(fifo)!r}, 'w').write(str(os.getpid()))\n"
        "signal.signal(signal.SIGTERM, tell)\nforever(lambda e: None)"
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


@pytest.mark.full
def test_a_program_with_options_of_its_own_keeps_them(
    tmp_path: Path, short: str
) -> None:
    code = "import sys; print(sys.argv[1:])"
    program = (sys.executable, "-c", code, "--json", "--", "-x")
    done = run(tmp_path, "rehearse", short, "--output", "o", "--", *program)
    assert done.code == 1  # it never polls
    assert (tmp_path / "o").read_text() == "['--json', '--', '-x']\n"


@pytest.mark.full
def test_a_program_that_starts_slowly_is_waited_for(tmp_path: Path, short: str) -> None:
    slow = an_actor("time.sleep(0.6)\nforever(approve)")
    assert run(tmp_path, "rehearse", short, "--", *slow).code == 0


@pytest.mark.full
def test_a_rehearsal_ends_at_its_timeout(tmp_path: Path) -> None:
    path = tmp_path / "long.toml"
    path.write_text('title = "Long"\n[[steps]]\nwait = "60s"\n')
    done = run(tmp_path, "rehearse", str(path), "--timeout", "1", "--", *IDLE)
    assert done.code == 1
    assert "no more time for the rehearsal" in done.out
