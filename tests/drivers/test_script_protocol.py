"""The contract with a script: its input and environment, and the meaning of its
exit.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.drivers.scripts import a_work, output, reports

from forewarn.core.fleet_file import vm_table
from forewarn.drivers.script_protocol import (
    ScriptResult,
    reports_of,
    script_environment,
    script_input,
)
from forewarn.ports import Printed, Report
from forewarn.protocol.types import EventType

SECRETS = {"FOREWARN_TOKEN": "t", "FOREWARN_STORE": "postgresql://u:p@db/x"}


def parse_reports(
    *told: str, timeout: float = 3600, **ended: object
) -> list[Printed | Sequence[Report]]:
    return [*reports_of(a_work(), {*told}, ScriptResult(**ended), timeout)]  # type: ignore[arg-type]  # any fields of Ended


def detail(*told: str, timeout: float = 3600, **ended: object) -> str:
    failures = reports(parse_reports(*told, timeout=timeout, **ended))
    assert all(report.failed for report in failures)
    (text,) = {report.detail for report in failures}
    return text


# --- input and environment ---------------------------------------------------


def test_input_has_everything_about_the_work() -> None:
    work = a_work("web-0", host="host-a", reason="smoke", attempt=2)
    assert json.loads(script_input(work)) == {
        "maintenance": "0000ABCD",
        "type": "Reboot",
        "source": "Platform",
        "cause": "platform",
        "host": "host-a",
        "vms": [vm_table(work.vms[0])],
        "duration_seconds": -1,
        "description": "Host server is undergoing maintenance.",
        "reason": "smoke",
        "removes": False,
        "attempt": 2,
    }


def test_script_learns_that_vms_leave_the_fleet() -> None:
    work = replace(a_work(type=EventType.PREEMPT), removes=True)
    assert json.loads(script_input(work))["removes"] is True
    assert script_environment(work, {})["FOREWARN_REMOVES"] == "true"


def test_input_is_one_line() -> None:
    text = script_input(a_work(description="two\nlines"))
    assert text.index("\n") == len(text) - 1


def test_environment_has_the_same_values() -> None:
    work = a_work("web-0", "web-1", host="host-a", reason="smoke", attempt=2)
    assert script_environment(work, {}) == {
        "FOREWARN_MAINTENANCE": "0000ABCD",
        "FOREWARN_TYPE": "Reboot",
        "FOREWARN_SOURCE": "Platform",
        "FOREWARN_CAUSE": "platform",
        "FOREWARN_HOST": "host-a",
        "FOREWARN_VMS": "web-0 web-1",
        "FOREWARN_DURATION_SECONDS": "-1",
        "FOREWARN_REMOVES": "false",
        "FOREWARN_ATTEMPT": "2",
        "FOREWARN_DESCRIPTION": "Host server is undergoing maintenance.",
        "FOREWARN_REASON": "smoke",
    }


def test_missing_values_are_empty() -> None:
    environment = script_environment(a_work(), {})
    assert (environment["FOREWARN_HOST"], environment["FOREWARN_REASON"]) == ("", "")


def test_environment_is_inherited_without_the_secrets_of_the_service() -> None:
    environment = script_environment(a_work(), {"PATH": "/bin", "LANG": "C", **SECRETS})
    assert (environment["PATH"], environment["LANG"]) == ("/bin", "C")
    assert not SECRETS.keys() & environment.keys()


def test_names_too_long_for_a_variable_are_omitted() -> None:
    environment = script_environment(a_work(*(f"vm-{i:0>76}" for i in range(1300))), {})
    assert "FOREWARN_VMS" not in environment
    assert environment["FOREWARN_TYPE"] == "Reboot"


def test_characters_invalid_in_a_variable_are_removed() -> None:
    environment = script_environment(a_work(description="a\0b\ud800", reason="\0"), {})
    assert environment["FOREWARN_DESCRIPTION"] == "ab?"
    assert environment["FOREWARN_REASON"] == ""


# --- exit --------------------------------------------------------------------


def test_exit_code_0_without_reports_means_all_done() -> None:
    assert parse_reports(code=0) == [[Report(vm="web-0"), Report(vm="web-1")]]


def test_last_line_of_the_output_is_the_reason() -> None:
    assert detail(code=1, output="one\n  no disk \n\n") == "exit code 1: no disk"
    assert len(detail(code=1, output="x" * 5000)) < 300


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (3, "exit code 3"),
        (-9, "killed by signal 9 (KILL)"),
        (-15, "killed by signal 15 (TERM)"),
        (-40, "killed by signal 40"),
        (None, "could not be killed, even with SIGKILL"),
    ],
)
def test_exit_code_or_signal_is_named(code: int | None, words: str) -> None:
    assert detail(code=code) == words


def test_unreported_vms_fail_once_any_vm_was_reported() -> None:
    (failed,) = reports(parse_reports("web-0", code=0))
    words = "the script did not report on this VM (exit code 0)"
    assert failed == Report(vm="web-1", failed=True, detail=words)
    assert detail("web-0", code=-9, output="x") == (
        "the script did not report on this VM (killed by signal 9 (KILL)): x"
    )


def test_exit_code_is_ignored_once_all_vms_are_reported() -> None:
    results = parse_reports("web-0", "web-1", code=7, output="x")
    assert (reports(results), output(results)) == ([], "x")


def test_timeout_is_a_failure_whatever_the_exit_code() -> None:
    assert detail(code=0, is_late=True, timeout=90) == "took longer than 90 s"
    assert detail(code=-9, is_late=True, timeout=0.5) == "took longer than 0.5 s"


def test_halted_script_is_not_done_even_with_exit_code_0() -> None:
    assert detail(code=0, is_halted=True) == "was stopped"


def test_unreadable_report_is_a_failure_even_with_exit_code_0() -> None:
    why = "a report from the script is longer than 64 KiB: {"
    assert detail(code=0, unreadable=why) == why
    (failed,) = reports(parse_reports("web-0", code=0, unreadable=why))
    assert failed == Report(vm="web-1", failed=True, detail=why)


def test_script_that_could_not_be_supervised_has_failed() -> None:
    assert detail(error="no such thing") == "no such thing"
