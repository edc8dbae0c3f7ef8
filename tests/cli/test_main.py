"""The command as a process: exit codes, and never a traceback."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.samples import an_entry, page
from tests.cli.support.service import Service, json_reply
from tests.patience import PATIENCE

import forewarn
from forewarn.cli import main

SOURCE = str(Path(forewarn.__file__).parent.parent)

_FAR_FUTURE = """\
import sys, time
def overflow():
    raise OverflowError("timestamp too large to convert to C _PyTime_t")
time.time = overflow
from forewarn.cli.main import main
sys.exit(main(["serve", "--store", "memory"]))
"""


def start(
    *words: str, python: tuple[str, ...] = (), **more: str
) -> "subprocess.Popen[str]":
    environment: Mapping[str, str] = {**os.environ, "PYTHONPATH": SOURCE, **more}
    return subprocess.Popen(
        [sys.executable, *python, "-m", "forewarn", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def test_version_is_printed(run: Cli) -> None:
    assert run("--version") == f"forewarn {forewarn.__version__}\n"


def test_a_bare_install_has_every_command() -> None:
    with start("--help", python=("-S",)) as process:
        out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    for command in main.COMMANDS:
        assert f"\n  {command} " in out


def test_bare_install_can_use_a_service(service: Service) -> None:
    with start("clock", "show", python=("-S",)) as process:
        out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert out == "2026-01-01 12:00:00Z (manual clock)\n"


def test_serve_in_a_bare_install_names_the_missing_extra() -> None:
    with start("serve", "--store", "memory", python=("-S",)) as process:
        _, err = process.communicate()
    assert process.returncode == 1
    assert "install the package with its server extra" in err
    assert "Traceback" not in err


def test_closed_output_ends_the_command_quietly(service: Service) -> None:
    entries = [an_entry(number, "Started") for number in range(1, 1001)]
    service.respond("GET", "/v1/journal", page(*entries))
    with start("journal") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        err = process.stderr.read()
    assert (process.returncode, err) == (141, "")


def test_follow_ends_as_soon_as_its_output_is_closed(service: Service) -> None:
    service.respond("GET", "/v1/journal", page(an_entry(1, "Started")))
    service.reply_with("GET", "/v1/stream", json_reply({"detail": "later"}, 503))
    with start("journal", "--follow") as process:
        assert process.stdout is not None
        assert "Started" in process.stdout.readline()
        process.stdout.close()
        try:
            assert process.wait(PATIENCE) == 141
        finally:
            process.kill()


@pytest.mark.parametrize(
    "line", ["maintenance show", "journal --vm", "vm restart web-0 --reason"]
)
def test_argument_that_is_not_utf8_is_wrong_usage(
    service: Service, line: str, run: Cli
) -> None:
    message = run(line, "\udcff", code=2)
    assert message == "forewarn: an argument contains bytes that are not valid UTF-8\n"
    assert service.requests == []


def test_ctrl_c_ends_quietly(service: Service) -> None:
    service.respond("GET", "/v1/journal", page(an_entry(1, "Started")))
    service.reply_with("GET", "/v1/stream", json_reply({"detail": "later"}, 503))
    with start("journal", "--follow") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert "Started" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        err = process.stderr.read()
    assert process.returncode == 130
    assert "Traceback" not in err


def test_full_disk_is_an_error_message(service: Service) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "forewarn", "clock", "show"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "forewarn: no space left on device\n"


def test_terminal_without_unicode_gets_escaped_json(service: Service) -> None:
    service.respond("GET", "/v1/journal", page(an_entry(1, "Closed", reason="café")))
    with start("journal", "--json", PYTHONIOENCODING="ascii") as process:
        out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert "caf\\u00e9" in out


def test_bug_is_reported_without_a_traceback(service: Service, run: Cli) -> None:
    service.set_clock("0001-01-01T00:00:00+14:00")  # before year 1 in UTC
    err = run("clock show", code=1)
    assert err.startswith("forewarn: internal error; please report it")
    assert "OverflowError" in err
    assert "Traceback" not in err


def test_clock_that_python_cannot_read_is_an_error_message() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FAR_FUTURE], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (
        1,
        "",
        "forewarn: the system clock is set to a time after the year 2262, which"
        " Python cannot handle; correct the clock\n",
    )


def test_every_error_in_the_agent_file_is_reported_on_its_own_line(
    tmp_path: Path, run: Cli
) -> None:
    file = tmp_path / "agent.toml"
    file.write_text("pol = 1\nlisten = 2\n")
    messages = run("agent --config", file, code=1).splitlines()
    assert [line.split(": unknown key;")[0] for line in messages] == [
        f"forewarn: {file}, line 1: pol",
        f"forewarn: {file}, line 2: listen",
    ]


@pytest.mark.parametrize("option", ["--log-format", "--log-level"])
def test_unknown_log_option_stops_the_agent(option: str, run: Cli) -> None:
    line = f"agent {option} xml --config /no/such/file"
    assert 'not "xml"' in run(line, code=2)


@pytest.mark.parametrize("command", ["announce", "health", "journal", "report"])
def test_operator_commands_import_neither_drivers_nor_posix_modules(
    command: str,
) -> None:
    module = f"forewarn.cli.{main.COMMANDS[command]}.{command}"
    program = f"import {module}, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    unwanted = {"fcntl", "subprocess", "sqlalchemy", "forewarn.drivers.script"}
    assert unwanted.isdisjoint(done.stdout.split())
