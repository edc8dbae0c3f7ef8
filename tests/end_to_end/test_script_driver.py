"""`serve --driver script`: real scripts, and all that can go wrong with them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.drivers.scripts import is_alive, write_script
from tests.end_to_end.program import serving, until
from tests.end_to_end.script_services import LONG, Stage, a_fleet, settings

#: Runs the script that the reason names.
BY_REASON = 'exec "$(dirname "$0")/$FOREWARN_REASON"'

REPORTING = """\
for vm in $FOREWARN_VMS; do
    echo "$FOREWARN_ATTEMPT $vm" >>{trace}
    {step}
    echo '{{"vm": "'$vm'", "status": "done"}}'
done
"""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("script")
    main = write_script(folder / "main", BY_REASON)
    options = settings(folder, main, timeout=20, grace=0.3)
    with serving(folder, *options, fleet=a_fleet(folder)) as program:
        names = (f"lone-{number}" for number in range(20))
        yield Stage(program=program, folder=folder, lone=names)


# --- it works ----------------------------------------------------------------


def test_a_script_does_the_work_and_its_output_is_kept(stage: Stage) -> None:
    made = stage.begin("happy", 'cat >/dev/null; echo "hello $FOREWARN_VMS"')
    stage.until_over(made)
    facts = [each["fact"] for each in stage.facts(made)]
    assert facts[-4:] == ["WorkBegan", "WorkPrinted", "WorkDone", "Completed"]
    (printed,) = stage.facts(made, "WorkPrinted")
    assert printed["output"] == f"hello {made['vms'][0]}\n"


def test_reports_are_written_down_in_their_order(stage: Stage, tmp_path: Path) -> None:
    text = REPORTING.format(trace=tmp_path / "trace", step="")
    made = stage.begin("each", text, host="a")
    stage.until_over(made)
    done = [vm for each in stage.facts(made, "WorkDone") for vm in each["vms"]]
    assert done == ["a1", "a2", "a3", "a4", "a5"]


# --- it fails ----------------------------------------------------------------


def test_when_the_third_of_five_fails_a_retry_does_what_is_left(
    stage: Stage, tmp_path: Path
) -> None:
    step = f"test $vm != b3 || test -e {tmp_path}/repaired || exit 4"
    text = REPORTING.format(trace=tmp_path / "trace", step=step)
    made = stage.begin("third", text, host="b")
    assert "exit code 4" in stage.until_stuck(made)
    (tmp_path / "repaired").touch()
    stage.act(made, "retry")
    stage.until_over(made)
    assert (tmp_path / "trace").read_text().split("\n") == [
        *("1 b1", "1 b2", "1 b3", "2 b3", "2 b4", "2 b5"),
        "",
    ]


def test_a_script_that_dies_half_way_has_done_half(
    stage: Stage, tmp_path: Path
) -> None:
    step = "test $vm != c4 || kill -KILL $$"
    text = REPORTING.format(trace=tmp_path / "trace", step=step)
    made = stage.begin("dies", text, host="c")
    assert "ended by signal 9 (KILL)" in stage.until_stuck(made)
    (failed,) = stage.facts(made, "WorkFailed")
    assert failed["vms"] == ["c4", "c5"]


def test_a_script_that_is_missing_can_be_put_back(stage: Stage) -> None:
    made = stage.begin("missing", "exit 0")
    stage.until_over(made)
    main = stage.folder / "main"
    main.rename(stage.folder / "away")
    try:
        made = stage.begin("missing", "exit 0")
        assert "does not exist" in stage.until_stuck(made)
    finally:
        (stage.folder / "away").rename(main)
    stage.act(made, "retry")
    stage.until_over(made)


@pytest.mark.parametrize(
    "flood",
    ["yes | head -c 100000000", "head -c 2000000 /dev/urandom", "printf half"],
    ids=["100 MB", "nonsense", "half a line"],
)
def test_whatever_it_prints_is_cut_and_kept(stage: Stage, flood: str) -> None:
    before = stage.program.memory
    made = stage.begin("flood", flood)
    stage.until_over(made)
    (printed,) = stage.facts(made, "WorkPrinted")
    assert 4 <= len(printed["output"].encode()) <= 65536
    assert stage.program.memory < before + 20_000


def test_what_it_leaves_behind_is_ended_before_the_work_is_over(
    stage: Stage, tmp_path: Path
) -> None:
    made = stage.begin("forks", f"sleep 30 & echo $! >{tmp_path}/pid")
    stage.until_over(made)
    assert not is_alive(int((tmp_path / "pid").read_text()))


# --- it takes long -----------------------------------------------------------


def test_meanwhile_everybody_else_is_served(stage: Stage, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    slow = stage.begin("slow", f"read line <{gate}")
    until(lambda: bool(stage.facts(slow, "WorkBegan")), LONG)
    stage.until_over(stage.begin("other", "exit 0"))
    answer = stage.service.as_vm(slow["vms"][0])
    assert [each["EventStatus"] for each in answer.json["Events"]] == ["Started"]
    gate.write_text("go on\n")
    stage.until_over(slow)


def test_complete_ends_the_script(stage: Stage, tmp_path: Path) -> None:
    text = f"echo $$ >{tmp_path}/draft; mv {tmp_path}/draft {tmp_path}/pid; sleep 30"
    made = stage.begin("endless", text)
    until((tmp_path / "pid").exists, LONG)
    stage.act(made, "complete")
    stage.until_over(made)
    pid = int((tmp_path / "pid").read_text())
    until(lambda: not is_alive(pid), LONG)
    assert not stage.facts(made, "WorkFailed")
