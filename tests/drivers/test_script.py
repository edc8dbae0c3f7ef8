"""Real scripts: what they are told, and what is made of what they say."""

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

from forewarn.drivers.ear import MOST_OUTPUT
from forewarn.drivers.script import ScriptDriver
from forewarn.ports import Printed, Report

DONE = [Report(vm="web-0"), Report(vm="web-1")]


def failed(run: MakeDriver, text: str) -> str:
    """Run a script that fails on all VMs; answer why."""
    said = reports(run(text).carry_out(a_work()))
    assert [(each.vm, each.failed) for each in said] == [
        ("web-0", True),
        ("web-1", True),
    ]
    (detail,) = {each.detail for each in said}
    return detail


# --- what it is told ---------------------------------------------------------


def test_it_reads_the_work(run: MakeDriver) -> None:
    text = output(run("cat").carry_out(a_work(host="host-a")))
    told = json.loads(text)
    assert [vm["name"] for vm in told["vms"]] == ["web-0", "web-1"]
    assert (told["type"], told["host"]) == ("Reboot", "host-a")


def test_its_environment_tells_the_work_and_no_secret(
    run: MakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOREWARN_TOKEN", "hush")
    monkeypatch.setenv("SOMETHING_ELSE", "kept")
    text = output(run("env").carry_out(a_work()))
    assert "FOREWARN_VMS=web-0 web-1\n" in text
    assert "SOMETHING_ELSE=kept\n" in text
    assert "hush" not in text


def test_its_arguments_are_those_of_the_command(tmp_path: Path) -> None:
    path = write_script(tmp_path / "script", 'printf "%s\\n" "$@"')
    driver = ScriptDriver([str(path), "two words", ""])
    assert output(driver.carry_out(a_work())) == "two words\n\n"


def test_who_does_not_read_misses_nothing(run: MakeDriver) -> None:
    assert reports(run("exec <&-; exit 0").carry_out(a_work())) == DONE


@pytest.mark.parametrize("text", ["exit 0", "cat >/dev/null", "cat"])
def test_a_thousand_vms_are_more_than_a_pipe_holds(run: MakeDriver, text: str) -> None:
    work = a_work(*(f"vm-{number:0>70}" for number in range(1000)))
    assert len(reports(run(text).carry_out(work))) == 1000


def test_it_inherits_no_file_of_the_service(run: MakeDriver, tmp_path: Path) -> None:
    with (tmp_path / "secret").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        text = output(run("ls -l /proc/self/fd").carry_out(a_work()))
    assert "secret" not in text
    assert "socket:" not in text
    assert text.count("pipe:") == 3


def test_its_signals_are_as_usual(run: MakeDriver) -> None:
    text = "#!/usr/bin/env python3\nprint(open('/proc/self/status').read())"
    told = output(run(text).carry_out(a_work()))
    (ignored,) = (line for line in told.splitlines() if line.startswith("SigIgn"))
    python = (1 << 12) | (1 << 24)  # PIPE and XFSZ, which Python itself ignores
    assert int(ignored.split()[1], 16) & ~python == 0


# --- its exit code -----------------------------------------------------------


def test_exit_code_0_is_all_done(run: MakeDriver) -> None:
    assert reports(run("exit 0").carry_out(a_work())) == DONE


def test_another_exit_code_is_all_failed(run: MakeDriver) -> None:
    assert failed(run, "echo no disk >&2; exit 3") == "exit code 3: no disk"


def test_a_signal_is_all_failed(run: MakeDriver) -> None:
    assert failed(run, "kill -KILL $$") == "ended by signal 9 (KILL)"


def test_a_file_without_a_first_line_is_no_program(tmp_path: Path) -> None:
    path = tmp_path / "script"
    path.write_bytes(b"\0\1\2")
    path.chmod(0o755)
    (said,) = reports(ScriptDriver([str(path)]).carry_out(a_work("web-0")))
    assert said.detail == "the command cannot be started: Exec format error"


def test_a_script_that_went_missing_is_run_when_it_is_back(
    run: MakeDriver, tmp_path: Path
) -> None:
    driver = run("exit 0")
    driver.open()
    (tmp_path / "script").rename(tmp_path / "gone")
    (first, _) = reports(driver.carry_out(a_work()))
    assert first.failed
    assert "does not exist" in first.detail
    (tmp_path / "gone").rename(tmp_path / "script")
    assert reports(driver.carry_out(a_work())) == DONE


# --- its reports -------------------------------------------------------------

REPORT = """echo '{"vm": "%s", "status": "%s", "detail": "%s"}'\n"""


def test_reports_are_told_while_it_runs(run: MakeDriver, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    text = REPORT % ("WEB-1", "done", "ok") + f"read line <{gate}; exit 0\n"
    said = run(text).carry_out(a_work())
    assert next(iter(said)) == [Report(vm="web-1", detail="ok")]
    gate.write_text("go on\n")  # it waits for a reader, which proves that it runs
    (other,) = reports(said)
    assert (other.vm, other.failed) == ("web-0", True)
    assert "without a word" in other.detail


def test_what_is_done_stays_done_whatever_the_exit_code(run: MakeDriver) -> None:
    text = REPORT % ("web-0", "done", "") + REPORT % ("web-1", "failed", "x") + "exit 9"
    assert reports(run(text).carry_out(a_work())) == [
        Report(vm="web-0"),
        Report(vm="web-1", failed=True, detail="x"),
    ]


def test_a_report_on_another_vm_is_output(run: MakeDriver) -> None:
    said = [*run(REPORT % ("db-0", "done", "")).carry_out(a_work())]
    assert reports(said) == DONE
    assert '"db-0"' in output(said)


# --- its output --------------------------------------------------------------


def test_its_output_comes_before_the_verdict(run: MakeDriver) -> None:
    said = [*run("echo one; echo two >&2").carry_out(a_work())]
    assert [type(each) for each in said] == [Printed, list]
    assert sorted(output(said).split()) == ["one", "two"]


@pytest.mark.parametrize(
    "text",
    [
        "head -c 100000000 /dev/zero | tr '\\0' x",
        "yes | head -c 100000000",
        "exec >&2; yes '{}' | head -c 2000000",
        "head -c 3000000 /dev/urandom",
        "exec >&2; head -c 3000000 /dev/urandom",
        'yes \'{"vm": "web-0", "status": "perhaps"}\' | head -c 5000000',
    ],
    ids=["one line", "many lines", "stderr", "nonsense", "more of it", "nearly"],
)
def test_a_flood_is_cut_to_its_end(run: MakeDriver, text: str) -> None:
    said = [*run(f"{text}; echo; echo the end").carry_out(a_work())]
    assert reports(said) == DONE
    assert output(said).endswith("\nthe end\n")
    assert len(output(said)) <= MOST_OUTPUT


def test_what_is_in_the_pipe_when_it_ends_is_heard(run: MakeDriver) -> None:
    text = (
        "#!/usr/bin/env python3\n"
        "import fcntl, os\n"
        "fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 1 << 20)\n"
        "os.write(1, b'x\\n' * 400_000 + b'the end')\n"
    )
    assert output(run(text).carry_out(a_work())).endswith("x\nthe end\n")


# --- many --------------------------------------------------------------------


def test_calls_run_beside_each_other(run: MakeDriver, tmp_path: Path) -> None:
    """Each waits for the other: one after the other they would never end."""
    for name in ("web-0", "web-1"):
        os.mkfifo(tmp_path / name)
    text = (
        f"cd {tmp_path}\n"
        "case $FOREWARN_VMS in web-0) : >web-0; : <web-1;; *) : <web-0; : >web-1;; esac"
    )
    driver, said = run(text), list[Report]()
    threads = [
        Thread(target=lambda vm=vm: said.extend(reports(driver.carry_out(a_work(vm)))))
        for vm in ("web-0", "web-1")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert sorted(each.vm for each in said if not each.failed) == ["web-0", "web-1"]


def test_nothing_is_left_open(run: MakeDriver) -> None:
    driver = run("exit 0")
    reports(driver.carry_out(a_work()))
    before = descriptors()
    for _ in range(3):
        reports(driver.carry_out(a_work()))
    assert descriptors() == before
