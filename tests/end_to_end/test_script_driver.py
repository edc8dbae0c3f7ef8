"""`serve --driver script`: real scripts, whose work survives failures and kills."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.drivers.scripts import write_script
from tests.end_to_end.program import Program, serving, until

#: A host with five VMs, and a standalone VM.
FLEET = "".join(
    [
        '[[hosts]]\nname = "b"\n[[vms]]\nname = "lone"\n',
        *(f'[[vms]]\nname = "b{number}"\nhost = "b"\n' for number in range(1, 6)),
    ]
)

REPORTING = """\
for vm in $FOREWARN_VMS; do
    echo "$FOREWARN_ATTEMPT $vm" >>{folder}/trace
    test $vm != b3 || test -e {folder}/repaired || exit 4
    echo '{{"vm": "'$vm'", "status": "done"}}'
done
"""

#: Records when two runs of the script overlap.
ALONE = """\
exec 9>>{folder}/alone
flock -n 9 || echo overlap >>{folder}/trace
echo "begin $FOREWARN_ATTEMPT" >>{folder}/trace
test "$FOREWARN_ATTEMPT" = 1 || exit 0
trap 'sleep 0.3; exit 1' TERM
echo $$ >{folder}/pid
while :; do sleep 0.05; done
"""


def options(folder: Path, text: str) -> Sequence[str]:
    """Return options that run a script without a lead, and end reboots immediately."""
    script = write_script(folder / "script", text)
    lines = ["[shown]", "reboot = 0", "[driver]", "lead = 0", 'name = "script"']
    lines += [f'command = ["{script}"]']
    (folder / "forewarn.toml").write_text("\n".join(lines))
    return "--config", str(folder / "forewarn.toml")


def begin(program: Program, **target: object) -> Any:
    return program.service.announce(emergency=True, reason="a test", **target)


def until_over(program: Program, made: Any) -> None:
    path = f"/v1/maintenances/{made['id']}"
    until(lambda: program.service.get(path)["phase"] == "COMPLETED")


def test_a_retry_continues_with_the_vm_that_failed(tmp_path: Path) -> None:
    text = REPORTING.format(folder=tmp_path)
    with serving(tmp_path, *options(tmp_path, text), fleet=FLEET) as program:
        service = program.service
        maintenance = begin(program, host="b")
        path = f"/v1/maintenances/{maintenance['id']}"
        until(lambda: service.get(path)["stuck_since"] is not None)
        (failed,) = service.facts("WorkFailed")
        assert "exit code 4" in failed["detail"]
        (tmp_path / "repaired").touch()
        assert service.request("POST", f"{path}/retry").status == 200
        until_over(program, maintenance)
        done = [vm for fact in service.facts("WorkDone") for vm in fact["vms"]]
    assert done == ["b1", "b2", "b3", "b4", "b5"]
    assert (tmp_path / "trace").read_text().split("\n") == [
        *("1 b1", "1 b2", "1 b3", "2 b3", "2 b4", "2 b5"),
        "",
    ]


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ('cat >/dev/null; echo "hello $FOREWARN_VMS"', "hello lone\n"),
        ("yes | head -c 100000000", ""),
        ("head -c 2000000 /dev/urandom", ""),
        ("printf half", "half"),
    ],
    ids=["a line", "100 MB", "nonsense", "half a line"],
)
def test_any_script_output_is_truncated_and_kept(
    tmp_path: Path, text: str, start: str
) -> None:
    with serving(tmp_path, *options(tmp_path, text), fleet=FLEET) as program:
        before = program.memory
        until_over(program, begin(program, vms=["lone"]))
        kinds = ("WorkBegan", "WorkPrinted", "WorkDone", "Completed")
        facts = program.service.facts(*kinds)
        assert program.memory < before + 20_000
    assert [fact["fact"] for fact in facts] == [*kinds]
    output = facts[1]["output"]
    assert output.startswith(start)
    assert 4 <= len(output.encode()) <= 65536


def test_a_kill_of_the_service_ends_the_script_before_the_next_run(
    tmp_path: Path,
) -> None:
    arguments = options(tmp_path, ALONE.format(folder=tmp_path))
    with serving(tmp_path, *arguments, fleet=FLEET) as program:
        maintenance = begin(program, vms=["lone"])
        until((tmp_path / "pid").exists)
        program.kill()
    with serving(tmp_path, *arguments, fleet=FLEET) as program:
        until_over(program, maintenance)
        began = program.service.facts("WorkBegan")
    assert [fact["attempt"] for fact in began] == [1, 2]
    assert (tmp_path / "trace").read_text() == "begin 1\nbegin 2\n"
