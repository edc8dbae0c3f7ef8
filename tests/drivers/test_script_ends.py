"""Termination of scripts: on timeout, at their end, and when the service stops.

No process of a script survives any of these.
"""

import fcntl
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest
from tests.drivers.scripts import (
    LONG,
    MakeDriver,
    Said,
    a_work,
    all_done,
    is_alive,
    output,
    reports,
    write_script,
)

from forewarn.ports import Report

STUBBORN = "trap '' TERM\n"
FOR_LONG = "exec sleep 600\n"


class DriverCall:
    """A call of the driver in its own thread."""

    def __init__(self, said: Iterator[Said]) -> None:
        self.said: list[Said] = []
        self._thread = Thread(target=lambda: self.said.extend(said))
        self._thread.start()

    def end(self) -> list[Said]:
        self._thread.join(LONG)
        assert not self._thread.is_alive()
        return self.said

    def detail(self) -> str:
        (detail,) = {report.detail for report in reports(self.end()) if report.failed}
        return detail


def pids(pipe: Path, count: int = 1) -> list[int]:
    """Wait for `count` lines, each with a process id."""
    with pipe.open() as lines:
        return [int(lines.readline()) for _ in range(count)]


# --- timeout -----------------------------------------------------------------


def test_hanging_script_is_ended_after_its_timeout(run: MakeDriver) -> None:
    failures = reports(run(FOR_LONG, timeout=0.2).carry_out(a_work()))
    assert {report.detail for report in failures} == {"took longer than 0.2 s"}


def test_script_that_ignores_term_is_killed_after_the_grace_period(
    run: MakeDriver, pipe: Path
) -> None:
    text = f"{STUBBORN} echo $$ >{pipe}; while :; do sleep 0.1; done"
    call = DriverCall(run(text, timeout=10, grace=0.2).carry_out(a_work()))
    (pid,) = pids(pipe)
    assert call.detail() == "took longer than 10 s"
    assert not is_alive(pid)


def test_reports_before_the_timeout_count(run: MakeDriver) -> None:
    text = """echo '{"vm": "web-0", "status": "done"}'\n""" + FOR_LONG
    done, late = reports(run(text, timeout=10).carry_out(a_work()))
    assert done == Report(vm="web-0")
    assert late == Report(vm="web-1", failed=True, detail="took longer than 10 s")


def test_output_after_the_request_to_end_counts(run: MakeDriver) -> None:
    text = "trap 'echo bye; exit 0' TERM; while :; do sleep 0.05; done"
    results = [*run(text, timeout=10, grace=LONG).carry_out(a_work())]
    assert "bye\n" in output(results)


def test_script_without_a_timeout_runs_to_its_end(run: MakeDriver) -> None:
    assert all_done(run("sleep 0.3", timeout=0).carry_out(a_work()))


# --- halt and close ----------------------------------------------------------


def test_a_halt_ends_the_script_and_its_session(run: MakeDriver, pipe: Path) -> None:
    work = a_work()
    call = DriverCall(run(f"echo $$ >{pipe}\n{FOR_LONG}").carry_out(work))
    (pid,) = pids(pipe)
    assert os.getsid(pid) != os.getsid(0)
    work.halt.set()
    assert call.detail() == "was stopped"
    assert not is_alive(pid)


def test_nothing_starts_after_a_halt(run: MakeDriver, tmp_path: Path) -> None:
    work = a_work()
    work.halt.set()
    assert not [*run(f"touch {tmp_path}/trace").carry_out(work)]
    assert not (tmp_path / "trace").exists()


def test_close_kills_a_script_that_ignores_term(run: MakeDriver, pipe: Path) -> None:
    work = a_work()
    driver = run(f"{STUBBORN} echo $$ >{pipe}; while :; do sleep 0.1; done", grace=30)
    call = DriverCall(driver.carry_out(work))
    (pid,) = pids(pipe)
    work.halt.set()
    driver.close()
    assert not is_alive(pid)
    call.end()


# --- leftover processes ------------------------------------------------------

CHILDREN = {
    "a child": "sleep 600 & echo $! >&3",
    "a child that holds no pipe": "sleep 600 </dev/null >/dev/null 2>&1 & echo $! >&3",
    "a child that ignores TERM": "(trap '' TERM; exec sleep 600) & echo $! >&3",
    "a child in a group of its own": "timeout 900 sleep 600 & echo $! >&3",
    "a grandchild": "(sleep 600 & echo $! >&3)",
}


@pytest.mark.parametrize("child", CHILDREN)
def test_leftover_processes_are_ended(run: MakeDriver, pipe: Path, child: str) -> None:
    text = f"exec 3>{pipe}\n{CHILDREN[child]}\nexit 0"
    call = DriverCall(run(text).carry_out(a_work()))
    left = pids(pipe)
    assert all_done(call.end())
    assert not any(is_alive(pid) for pid in left)


def test_process_in_its_own_session_survives(run: MakeDriver, pipe: Path) -> None:
    text = f"setsid sh -c 'echo $$ >{pipe}; exec sleep 600' &\nread line <{pipe}.go"
    os.mkfifo(f"{pipe}.go")
    call = DriverCall(run(text).carry_out(a_work()))
    (daemon,) = pids(pipe)
    try:
        Path(f"{pipe}.go").write_text("\n")
        assert all_done(call.end())
        assert is_alive(daemon)
    finally:
        os.kill(daemon, signal.SIGKILL)


def test_daemon_that_floods_the_output_does_not_block_the_call(
    run: MakeDriver, pipe: Path
) -> None:
    text = f"setsid sh -c 'echo $$ >{pipe}; exec yes' &\nread line <{pipe}.go"
    os.mkfifo(f"{pipe}.go")
    call = DriverCall(run(text).carry_out(a_work()))
    (daemon,) = pids(pipe)
    try:
        Path(f"{pipe}.go").write_text("\n")
        assert all_done(call.end())
    finally:
        with suppress(ProcessLookupError):  # already dead: nothing reads its output
            os.kill(daemon, signal.SIGKILL)


def test_script_that_closes_its_output_is_still_supervised(
    run: MakeDriver, pipe: Path
) -> None:
    text = f"exec >&- 2>&- 3>{pipe}; echo $$ >&3; exec sleep 600"
    call = DriverCall(run(text, timeout=10).carry_out(a_work()))
    (pid,) = pids(pipe)
    assert call.detail() == "took longer than 10 s"
    assert not is_alive(pid)


# --- supervisor --------------------------------------------------------------


def test_script_whose_supervisor_is_killed_is_ended(
    run: MakeDriver, pipe: Path
) -> None:
    call = DriverCall(run(f"echo $$ $PPID >{pipe}\n{FOR_LONG}").carry_out(a_work()))
    with pipe.open() as line:
        pid, supervisor = map(int, line.readline().split())
    os.kill(supervisor, signal.SIGKILL)
    assert call.detail() == "its supervisor was killed"
    assert not is_alive(pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_supervisor_ignores_signals_meant_for_the_service(
    run: MakeDriver, pipe: Path, number: signal.Signals
) -> None:
    call = DriverCall(
        run(f"echo $PPID >{pipe}; read line <{pipe}.go").carry_out(a_work())
    )
    os.mkfifo(f"{pipe}.go")
    (supervisor,) = pids(pipe)
    os.kill(supervisor, number)
    Path(f"{pipe}.go").write_text("\n")
    assert all_done(call.end())


SERVICE = """\
from pathlib import Path
from tests.drivers.scripts import a_work
from forewarn.drivers.script import ScriptDriver
driver = ScriptDriver([{script!r}], grace={grace}, lock_file=Path({held!r}))
driver.open()
print([*driver.carry_out(a_work())])
"""


def a_service(script: Path, held: Path, grace: float = 5) -> "subprocess.Popen[bytes]":
    """Start a process that runs `script` and can be killed."""
    code = SERVICE.format(script=str(script), held=str(held), grace=grace)
    root = Path(__file__).parents[2]
    return subprocess.Popen([sys.executable, "-c", code], cwd=root)


def alone(*pids: int) -> str:
    """Return a script that fails if a process still runs; zombies do not count."""
    files = " ".join(f"/proc/{pid}/status" for pid in pids)
    return f"! grep -qs '^State:.[^ZX]' {files}\n"


def test_script_ends_with_its_service_and_a_new_service_waits_for_that(
    run: MakeDriver, tmp_path: Path, pipe: Path
) -> None:
    end = f"trap 'read line <{pipe}.go; exit' TERM"
    text = f"{end}; echo $$ >{pipe}; while :; do sleep 0.05; done"
    os.mkfifo(f"{pipe}.go")
    script = write_script(tmp_path / "old", text)
    with a_service(script, tmp_path / "held", grace=LONG) as service:
        (pid,) = pids(pipe)
        service.kill()
    assert is_alive(pid)
    driver = run(alone(pid), lock_file=tmp_path / "held")
    driver.open()
    call = DriverCall(driver.carry_out(a_work()))
    Path(f"{pipe}.go").write_text("\n")
    assert all_done(call.end())


def test_script_whose_service_and_supervisor_are_killed_ends_before_the_next(
    run: MakeDriver, tmp_path: Path, pipe: Path
) -> None:
    text = f"sleep 600 & echo $$ $! $PPID >{pipe}; wait"
    script = write_script(tmp_path / "old", text)
    with a_service(script, tmp_path / "held") as service:
        with pipe.open() as line:
            pid, child, supervisor = map(int, line.readline().split())
        service.send_signal(signal.SIGSTOP)
        os.kill(supervisor, signal.SIGKILL)
        service.kill()
    driver = run(alone(pid, child), lock_file=tmp_path / "held")
    driver.open()
    assert all_done(driver.carry_out(a_work()))


def test_script_dies_with_its_supervisor_even_if_no_service_is_left(
    tmp_path: Path, pipe: Path
) -> None:
    script = write_script(tmp_path / "script", f"echo $$ $PPID >{pipe}\n{FOR_LONG}")
    with a_service(script, tmp_path / "held") as service:
        with pipe.open() as line:
            pid, supervisor = map(int, line.readline().split())
        process = os.pidfd_open(pid)
        service.send_signal(signal.SIGSTOP)
        os.kill(supervisor, signal.SIGKILL)
        service.kill()
    has_ended = select.select([process], [], [], LONG)[0]
    os.close(process)
    assert has_ended


def test_supervisor_that_is_stopped_is_killed_before_anything_is_run(
    run: MakeDriver, tmp_path: Path, pipe: Path
) -> None:
    script = write_script(tmp_path / "old", f"echo $$ $PPID >{pipe}\n{FOR_LONG}")
    with a_service(script, tmp_path / "held") as service:
        with pipe.open() as line:
            pid, supervisor = map(int, line.readline().split())
        os.kill(supervisor, signal.SIGSTOP)
        service.kill()
    driver = run(alone(pid, supervisor), lock_file=tmp_path / "held", patience=0.5)
    driver.open()
    assert is_alive(pid)  # its supervisor may still end it
    assert all_done(driver.carry_out(a_work()))


def test_nothing_is_run_while_the_lock_cannot_be_freed(
    run: MakeDriver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    held, trace, work = tmp_path / "held", tmp_path / "trace", a_work()
    driver = run(f"touch {trace}", lock_file=held, patience=0.0)
    with held.open("w") as other:  # as in another container
        fcntl.flock(other, fcntl.LOCK_SH)
        driver.open()
        call = DriverCall(driver.carry_out(work))
        halted = a_work()
        halted.halt.set()
        assert not [*driver.carry_out(halted)]
        assert "no new scripts will start" in driver.warning
        assert not trace.exists()
    assert all_done(call.end())
    assert not driver.warning
    assert len(caplog.records) == 1


def test_script_that_ignores_the_end_of_its_service_is_killed(
    tmp_path: Path, pipe: Path
) -> None:
    text = f"{STUBBORN} echo $$ >{pipe}; while :; do sleep 0.1; done"
    script = write_script(tmp_path / "script", text)
    with a_service(script, tmp_path / "held") as service:
        (pid,) = pids(pipe)
        service.kill()
    with (tmp_path / "held").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
    assert not is_alive(pid)


def test_scripts_of_one_service_do_not_block_each_other(
    run: MakeDriver, tmp_path: Path, pipe: Path
) -> None:
    driver = run(
        f"case $FOREWARN_VMS in web-0) echo $$ >{pipe}; read line <{pipe}.go;; esac",
        lock_file=tmp_path / "held",
    )
    os.mkfifo(f"{pipe}.go")
    driver.open()
    slow = DriverCall(driver.carry_out(a_work("web-0")))
    pids(pipe)
    assert reports(driver.carry_out(a_work("web-1"))) == [Report(vm="web-1")]
    Path(f"{pipe}.go").write_text("\n")
    slow.end()
