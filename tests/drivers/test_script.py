"""Script driver with real scripts: input, exit codes, reports and output."""

import json
import os
from pathlib import Path
from threading import Thread

import pytest
from tests.drivers.scripts import (
    LONG,
    MakeDriver,
    a_work,
    descriptors,
    output,
    reports,
    write_script,
)

from forewarn.drivers.script import ScriptDriver
from forewarn.drivers.script_supervisor import MOST_OUTPUT
from forewarn.ports import Printed, Report

DONE = [Report(vm="web-0"), Report(vm="web-1")]


# --- input and environment ---------------------------------------------------


def test_script_gets_the_work_and_no_secret(
    run: MakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOREWARN_TOKEN", "hush")
    monkeypatch.setenv("SOMETHING_ELSE", "kept")
    text = output(run("cat; env").carry_out(a_work(host="host-a")))
    work = json.loads(text.partition("\n")[0])
    assert [vm["name"] for vm in work["vms"]] == ["web-0", "web-1"]
    assert (work["type"], work["host"]) == ("Reboot", "host-a")
    assert "FOREWARN_VMS=web-0 web-1\n" in text
    assert "SOMETHING_ELSE=kept\n" in text
    assert "hush" not in text


def test_arguments_are_those_of_the_command(tmp_path: Path) -> None:
    path = write_script(tmp_path / "script", 'printf "%s\\n" "$@"')
    driver = ScriptDriver([str(path), "two words", ""])
    assert output(driver.carry_out(a_work())) == "two words\n\n"


def test_script_need_not_read_its_input(run: MakeDriver) -> None:
    assert reports(run("exec <&-; exit 0").carry_out(a_work())) == DONE


@pytest.mark.parametrize("text", ["exit 0", "cat >/dev/null", "cat"])
def test_input_larger_than_a_pipe_is_passed(run: MakeDriver, text: str) -> None:
    work = a_work(*(f"vm-{number:0>70}" for number in range(1000)))
    assert len(reports(run(text).carry_out(work))) == 1000


def test_script_inherits_no_open_file_of_the_service(
    run: MakeDriver, tmp_path: Path
) -> None:
    with (tmp_path / "secret").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        text = output(run("ls -l /proc/self/fd").carry_out(a_work()))
    assert "secret" not in text
    assert "socket:" not in text
    assert text.count("pipe:") == 3


def test_script_has_default_signal_handling(run: MakeDriver) -> None:
    text = "#!/usr/bin/env python3\nprint(open('/proc/self/status').read())"
    status = output(run(text).carry_out(a_work()))
    (ignored,) = (line for line in status.splitlines() if line.startswith("SigIgn"))
    python = (1 << 12) | (1 << 24)  # SIGPIPE and SIGXFSZ, which Python itself ignores
    assert int(ignored.split()[1], 16) & ~python == 0


# --- exit code ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("echo no disk >&2; exit 3", "exit code 3: no disk"),
        ("kill -KILL $$", "killed by signal 9 (KILL)"),
    ],
)
def test_exit_code_or_signal_means_all_failed(
    run: MakeDriver, text: str, detail: str
) -> None:
    assert reports(run(text).carry_out(a_work())) == [
        Report(vm="web-0", failed=True, detail=detail),
        Report(vm="web-1", failed=True, detail=detail),
    ]


def test_file_without_a_shebang_is_not_a_program(tmp_path: Path) -> None:
    path = tmp_path / "script"
    path.write_bytes(b"\0\1\2")
    path.chmod(0o755)
    (failure,) = reports(ScriptDriver([str(path)]).carry_out(a_work("web-0")))
    assert failure.detail == "cannot start the command: Exec format error"


def test_missing_script_is_run_once_it_is_back(run: MakeDriver, tmp_path: Path) -> None:
    driver = run("exit 0")
    driver.open()
    (tmp_path / "script").rename(tmp_path / "gone")
    (first, _) = reports(driver.carry_out(a_work()))
    assert first.failed
    assert "does not exist" in first.detail
    (tmp_path / "gone").rename(tmp_path / "script")
    assert reports(driver.carry_out(a_work())) == DONE


# --- reports -----------------------------------------------------------------

REPORT = """echo '{"vm": "%s", "status": "%s", "detail": "%s"}'\n"""


def test_reports_arrive_while_the_script_runs(run: MakeDriver, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    text = REPORT % ("WEB-1", "done", "ok") + f"read line <{gate}; exit 0\n"
    results = run(text).carry_out(a_work())
    assert next(iter(results)) == [Report(vm="web-1", detail="ok")]
    gate.write_text("go on\n")  # blocks without a reader, so the script still runs
    (other,) = reports(results)
    assert (other.vm, other.failed) == ("web-0", True)
    assert "did not report on this VM" in other.detail


def test_reported_vm_stays_done_whatever_the_exit_code(run: MakeDriver) -> None:
    text = REPORT % ("web-0", "done", "") + REPORT % ("web-1", "failed", "x") + "exit 9"
    assert reports(run(text).carry_out(a_work())) == [
        Report(vm="web-0"),
        Report(vm="web-1", failed=True, detail="x"),
    ]


def test_report_longer_than_the_limit_is_a_failure(run: MakeDriver) -> None:
    text = """printf '{"vm":"web-0","status":"failed","detail":"'
        head -c 90000 /dev/zero | tr '\\0' y; echo '"}'"""
    results = reports(run(text).carry_out(a_work()))
    assert [(report.vm, report.failed) for report in results] == [
        ("web-0", True),
        ("web-1", True),
    ]
    assert "is longer than 64 KiB" in results[0].detail


# --- output ------------------------------------------------------------------


def test_output_comes_before_the_verdict(run: MakeDriver) -> None:
    results = [*run("echo one; echo two >&2").carry_out(a_work())]
    assert [type(item) for item in results] == [Printed, list]
    assert sorted(output(results).split()) == ["one", "two"]


@pytest.mark.parametrize(
    "text",
    [
        "head -c 100000000 /dev/zero | tr '\\0' x",
        "yes | head -c 100000000",
        "exec >&2; yes '{}' | head -c 2000000",
        "head -c 3000000 /dev/urandom",
        "exec >&2; head -c 3000000 /dev/urandom",
        'yes \'{"level": "info", "vm": "web-0"}\' | head -c 5000000',
    ],
    ids=["one line", "many lines", "stderr", "nonsense", "more of it", "nearly"],
)
def test_only_the_end_of_a_flood_is_kept(run: MakeDriver, text: str) -> None:
    results = [*run(f"{text}; echo; echo the end").carry_out(a_work())]
    assert reports(results) == DONE
    assert output(results).endswith("\nthe end\n")
    assert len(output(results)) <= MOST_OUTPUT


def test_output_left_in_the_pipe_at_exit_is_read(run: MakeDriver) -> None:
    text = (
        "#!/usr/bin/env python3\n"
        "import fcntl, os\n"
        "fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 1 << 20)\n"
        "os.write(1, b'x\\n' * 400_000 + b'the end')\n"
    )
    assert output(run(text).carry_out(a_work())).endswith("x\nthe end\n")


# --- several calls -----------------------------------------------------------


def test_calls_run_in_parallel(run: MakeDriver, tmp_path: Path) -> None:
    """Make each script wait for the other, so that sequential runs would never end."""
    for name in ("web-0", "web-1"):
        os.mkfifo(tmp_path / name)
    text = (
        f"cd {tmp_path}\n"
        "case $FOREWARN_VMS in web-0) : >web-0; : <web-1;; *) : <web-0; : >web-1;; esac"
    )
    driver, results = run(text), list[Report]()
    threads = [
        Thread(
            target=lambda vm=vm: results.extend(reports(driver.carry_out(a_work(vm))))
        )
        for vm in ("web-0", "web-1")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert sorted(report.vm for report in results if not report.failed) == [
        "web-0",
        "web-1",
    ]


def test_no_file_is_left_open(run: MakeDriver) -> None:
    driver = run("exit 0")
    reports(driver.carry_out(a_work()))
    before = descriptors()
    for _ in range(3):
        reports(driver.carry_out(a_work()))
    assert descriptors() == before
