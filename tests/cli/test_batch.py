"""Commands on several names, and error messages that name options."""

import pytest

from forewarn.cli.batch import distinct, naming_options, run_each
from forewarn.cli.operate.announce import _FLAGS
from forewarn.errors import Incomplete, Lost, Refused


def test_names_are_distinct_regardless_of_case() -> None:
    assert distinct(["web-1", "web-0", "WEB-1", "web-0"]) == ["web-1", "web-0"]


@pytest.mark.parametrize(
    ("detail", "message"),
    [
        ("not_before must be within ten years", "--not-before must be within"),
        ("the earliest possible not_before is", "possible --not-before is"),
        ("notice_seconds must be at most ten years", "--notice must be"),
        ("duration_seconds: input should be a valid integer", "--duration: input"),
        ("fails_by: expected a time with a time zone", "--fails-by: expected"),
        ("live_migration requires a Freeze", "--live-migration requires a Freeze"),
        ("ignore_blockers requires emergency", "--ignore-blockers requires"),
        ("source: must be User with a group's token", "--source: must be User"),
        ("reason: string should have at most", "--reason: string"),
        ("vms: input should be a valid list", "--vm: input"),
        ("type: expected one of", "TYPE: expected"),
        ("host host-a not found", "host host-a not found"),
    ],
)
def test_fields_of_the_api_are_replaced_by_options(detail: str, message: str) -> None:
    with pytest.raises(Refused) as caught, naming_options(_FLAGS):
        raise Refused(detail, 422)
    assert message in str(caught.value)
    assert caught.value.status == 422


def test_single_name_is_not_checked_first() -> None:
    checked: list[str] = []
    assert run_each(["a"], str.upper, checked.append).results == ["A"]
    assert checked == []


def test_nothing_runs_if_a_check_fails(capsys: pytest.CaptureFixture[str]) -> None:
    ran: list[str] = []

    def check(name: str) -> None:
        if name != "a":
            raise Refused(f"no {name}", 404)

    with pytest.raises(Incomplete, match="nothing was changed"):
        run_each(["a", "b", "c"], ran.append, check)
    assert ran == []
    assert capsys.readouterr().err == "forewarn: no b\nforewarn: no c\n"


def test_failure_midway_reports_every_name(capsys: pytest.CaptureFixture[str]) -> None:
    def run(name: str) -> str:
        if name == "b":
            raise Lost("the connection was lost")
        return name

    batch = run_each(["a", "b", "c", "d"], run, lambda name: None)
    assert batch.results == ["a"]
    with pytest.raises(Incomplete, match=r"^done: a; failed: b; not attempted: c, d$"):
        batch.finish(0)
    assert "the connection was lost" in capsys.readouterr().err
