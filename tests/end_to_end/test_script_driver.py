"""`serve --driver script`: real scripts, and everything that can go wrong with them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.drivers.scripts import is_alive, write_script
from tests.end_to_end.program import serving, until
from tests.end_to_end.script_services import LONG, ScriptService, a_fleet, settings

#: Runs the script named by the maintenance's reason.
BY_REASON = 'exec "$(dirname "$0")/$FOREWARN_REASON"'

REPORTING = """\
for vm in $FOREWARN_VMS; do
    echo "$FOREWARN_ATTEMPT $vm" >>{trace}
    {step}
    echo '{{"vm": "'$vm'", "status": "done"}}'
done
"""


@pytest.fixture(scope="module")
def script_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptService]:
    folder = tmp_path_factory.mktemp("script")
    main = write_script(folder / "main", BY_REASON)
    options = settings(folder, main, timeout=20, grace=0.3)
    with serving(folder, *options, fleet=a_fleet(folder)) as program:
        names = (f"lone-{number}" for number in range(20))
        yield ScriptService(program=program, folder=folder, lone=names)


# --- success -----------------------------------------------------------------


def test_a_script_does_the_work_and_its_output_is_kept(
    script_service: ScriptService,
) -> None:
    maintenance = script_service.begin(
        "happy", 'cat >/dev/null; echo "hello $FOREWARN_VMS"'
    )
    script_service.until_over(maintenance)
    facts = [fact["fact"] for fact in script_service.facts(maintenance)]
    assert facts[-4:] == ["WorkBegan", "WorkPrinted", "WorkDone", "Completed"]
    (printed,) = script_service.facts(maintenance, "WorkPrinted")
    assert printed["output"] == f"hello {maintenance['vms'][0]}\n"


def test_reports_are_recorded_in_order(
    script_service: ScriptService, tmp_path: Path
) -> None:
    text = REPORTING.format(trace=tmp_path / "trace", step="")
    maintenance = script_service.begin("each", text, host="a")
    script_service.until_over(maintenance)
    done = [
        vm
        for fact in script_service.facts(maintenance, "WorkDone")
        for vm in fact["vms"]
    ]
    assert done == ["a1", "a2", "a3", "a4", "a5"]


# --- failures ----------------------------------------------------------------


def test_a_retry_continues_with_the_vm_that_failed(
    script_service: ScriptService, tmp_path: Path
) -> None:
    step = f"test $vm != b3 || test -e {tmp_path}/repaired || exit 4"
    text = REPORTING.format(trace=tmp_path / "trace", step=step)
    maintenance = script_service.begin("third", text, host="b")
    assert "exit code 4" in script_service.until_stuck(maintenance)
    (tmp_path / "repaired").touch()
    script_service.act(maintenance, "retry")
    script_service.until_over(maintenance)
    assert (tmp_path / "trace").read_text().split("\n") == [
        *("1 b1", "1 b2", "1 b3", "2 b3", "2 b4", "2 b5"),
        "",
    ]


def test_a_script_killed_halfway_keeps_its_reported_progress(
    script_service: ScriptService, tmp_path: Path
) -> None:
    step = "test $vm != c4 || kill -KILL $$"
    text = REPORTING.format(trace=tmp_path / "trace", step=step)
    maintenance = script_service.begin("dies", text, host="c")
    assert "ended by signal 9 (KILL)" in script_service.until_stuck(maintenance)
    (failed,) = script_service.facts(maintenance, "WorkFailed")
    assert failed["vms"] == ["c4", "c5"]


def test_a_missing_script_can_be_restored_and_retried(
    script_service: ScriptService,
) -> None:
    maintenance = script_service.begin("missing", "exit 0")
    script_service.until_over(maintenance)
    main = script_service.folder / "main"
    main.rename(script_service.folder / "away")
    try:
        maintenance = script_service.begin("missing", "exit 0")
        assert "does not exist" in script_service.until_stuck(maintenance)
    finally:
        (script_service.folder / "away").rename(main)
    script_service.act(maintenance, "retry")
    script_service.until_over(maintenance)


@pytest.mark.parametrize(
    "flood",
    ["yes | head -c 100000000", "head -c 2000000 /dev/urandom", "printf half"],
    ids=["100 MB", "nonsense", "half a line"],
)
def test_any_script_output_is_truncated_and_kept(
    script_service: ScriptService, flood: str
) -> None:
    before = script_service.program.memory
    maintenance = script_service.begin("flood", flood)
    script_service.until_over(maintenance)
    (printed,) = script_service.facts(maintenance, "WorkPrinted")
    assert 4 <= len(printed["output"].encode()) <= 65536
    assert script_service.program.memory < before + 20_000


def test_leftover_processes_are_ended_before_the_work_is_over(
    script_service: ScriptService, tmp_path: Path
) -> None:
    maintenance = script_service.begin("forks", f"sleep 30 & echo $! >{tmp_path}/pid")
    script_service.until_over(maintenance)
    assert not is_alive(int((tmp_path / "pid").read_text()))


# --- long-running scripts ----------------------------------------------------


def test_a_slow_script_does_not_block_other_maintenance(
    script_service: ScriptService, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    slow = script_service.begin("slow", f"read line <{gate}")
    until(lambda: bool(script_service.facts(slow, "WorkBegan")), LONG)
    script_service.until_over(script_service.begin("other", "exit 0"))
    answer = script_service.service.as_vm(slow["vms"][0])
    assert [event["EventStatus"] for event in answer.json["Events"]] == ["Started"]
    gate.write_text("go on\n")
    script_service.until_over(slow)


def test_complete_ends_the_script(
    script_service: ScriptService, tmp_path: Path
) -> None:
    text = f"echo $$ >{tmp_path}/draft; mv {tmp_path}/draft {tmp_path}/pid; sleep 600"
    maintenance = script_service.begin("endless", text)
    until((tmp_path / "pid").exists, LONG)
    script_service.act(maintenance, "complete")
    script_service.until_over(maintenance)
    pid = int((tmp_path / "pid").read_text())
    until(lambda: not is_alive(pid), LONG)
    assert not script_service.facts(maintenance, "WorkFailed")
