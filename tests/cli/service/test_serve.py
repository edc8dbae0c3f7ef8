"""Tests of `forewarn serve` in this process; the end-to-end tests run the program."""

import logging
import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Event, current_thread, main_thread

import pytest
from tests.patience import PATIENCE

from forewarn.cli.main import main
from forewarn.cli.service import serve
from forewarn.service import service


class CrippledService:
    """A service that has lost a thread."""

    metadata = ("http://127.0.0.1:1",)
    control = "http://127.0.0.1:2"

    def __init__(self, *parts: object) -> None: ...

    def __enter__(self) -> "CrippledService":
        return self

    def __exit__(self, *exception: object) -> None: ...

    def ended_threads(self) -> list[str]:
        return ["timers"]


class _Exited(BaseException):
    pass


def test_service_that_has_lost_a_thread_exits(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    codes = []

    def leave(code: int) -> None:
        codes.append(code)
        raise _Exited

    monkeypatch.setenv("FOREWARN_STATE_DIR", str(tmp_path))
    monkeypatch.setattr(service, "Service", CrippledService)
    monkeypatch.setattr(serve, "_CHECK", 0.001)
    monkeypatch.setattr(serve, "_log_start", lambda service, config: None)
    monkeypatch.setattr(serve, "_start_log", lambda config: None)
    monkeypatch.setattr(os, "_exit", leave)
    with pytest.raises(_Exited):
        main(["serve", "--store", "memory"])
    assert codes == [1]
    assert "a service thread ended unexpectedly: timers" in caplog.text


def test_stop_that_hangs_is_aborted(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    left, codes = Event(), []

    class HangingService(CrippledService):
        """A service that receives a stop signal and then waits for its disk forever."""

        def ended_threads(self) -> list[str]:
            os.kill(os.getpid(), signal.SIGTERM)
            return []

        def __exit__(self, *exception: object) -> None:
            codes.append(-1 if left.wait(PATIENCE) else 1)

    def leave(code: int) -> None:
        codes.append(code)
        left.set()
        if current_thread() is main_thread():
            raise _Exited

    monkeypatch.setenv("FOREWARN_STATE_DIR", str(tmp_path))
    monkeypatch.setattr(service, "Service", HangingService)
    monkeypatch.setattr(serve, "_CHECK", 0.001)
    monkeypatch.setattr(serve, "_log_start", lambda service, config: None)
    monkeypatch.setattr(serve, "_STOP_LIMIT", 0.001)
    monkeypatch.setattr(serve, "_start_log", lambda config: None)
    monkeypatch.setattr(os, "_exit", leave)
    with pytest.raises(_Exited):
        main(["serve", "--store", "memory"])
    assert codes == [0, -1, 0]  # cut short first, and only then released
    assert "All acknowledged changes are saved" in caplog.text


def test_signal_during_the_start_ends_the_program_cleanly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missed, codes = [], []

    class InterruptedService(CrippledService):
        """A service that receives a stop signal before it has started."""

        def __enter__(self) -> "InterruptedService":
            os.kill(os.getpid(), signal.SIGTERM)
            return self

    def leave(code: int) -> None:
        codes.append(code)
        raise _Exited

    monkeypatch.setenv("FOREWARN_STATE_DIR", str(tmp_path))
    monkeypatch.setattr(service, "Service", InterruptedService)
    monkeypatch.setattr(serve, "_limit_stop", lambda: None)
    monkeypatch.setattr(serve, "_CHECK", 0.001)
    monkeypatch.setattr(serve, "_log_start", lambda service, config: None)
    monkeypatch.setattr(serve, "_start_log", lambda config: None)
    monkeypatch.setattr(os, "_exit", leave)
    before = signal.signal(signal.SIGTERM, lambda *_: missed.append(1))
    try:
        with pytest.raises(_Exited):
            main(["serve", "--store", "memory"])
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (codes, missed) == ([0], [])


def test_warnings_of_the_database_driver_are_not_logged() -> None:
    program = """\
import logging
from types import SimpleNamespace
from forewarn.cli.service.serve import _start_log
_start_log(SimpleNamespace(log_format="text", log_level="debug"))
logging.getLogger("psycopg").warning("error ignored terminating a pipeline")
logging.getLogger("forewarn").warning("ours")
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    (line,) = done.stderr.splitlines()
    assert line.endswith("forewarn: ours")


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (MemoryError(), "out of memory"),
        (SystemError("error return without exception set"), "out of memory"),
        (ImportError("failed to map segment from shared object"), "out of memory"),
        (RuntimeError("can't start new thread"), "cannot start another thread"),
        (OSError(24, "Too many open files"), "raise the limit on open files"),
    ],
)
def test_lack_of_resources_is_not_reported_as_a_bug(
    error: Exception,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*parts: object, **more: object) -> None:
        raise error

    monkeypatch.setattr(serve, "_serve", fail)
    monkeypatch.setattr(serve, "_config", lambda arguments: None)
    monkeypatch.setattr(serve, "_start_log", lambda config: None)
    assert main(["serve"]) == 1
    assert sentence in capsys.readouterr().err


def test_terminal_lines_fit_it_and_keep_commands_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    message = (
        "m-17 Reboot of node2 (web-0): stuck: the driver failed on web-0"
        " (exit code 100: no route); run `forewarn maintenance explain m-17`"
    )
    record = logging.makeLogRecord({"msg": message, "levelno": logging.ERROR})
    record.levelname, record.created = "ERROR", 43_200.0
    assert serve._TerminalFormatter().format(record).splitlines() == [
        "12:00:00Z ERROR   m-17 Reboot of node2 (web-0): stuck: the driver failed on",
        "                  web-0 (exit code 100: no route); run",
        "                  `forewarn maintenance explain m-17`",
    ]


def test_terminal_lines_have_colored_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    record = logging.makeLogRecord({"msg": "a\x1b[2J", "levelno": logging.ERROR})
    record.levelname = "ERROR"
    assert "\x1b[31mERROR  \x1b[0m a [2J" in serve._TerminalFormatter().format(record)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in serve._TerminalFormatter().format(record)
