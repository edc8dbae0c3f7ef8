"""A folder of scripts, each of which is a rule of its own."""

from pathlib import Path

import pytest

from forewarn.agent import config
from forewarn.agent.plan import Approve, Concerns, Plan, Step, Together
from forewarn.errors import CannotStart


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "scripts"
    made.mkdir()
    return made


def a_script(folder: Path, *names: str, mode: int = 0o755) -> None:
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(mode)


def read(folder: Path, text: str = "") -> Plan:
    file = folder.parent / "agent.toml"
    file.write_text(f'name = "web-0"\nscripts = "scripts"\n{text}')
    return config.read(file)


def test_a_script_prepares_and_its_event_is_approved_by_the_leader(
    folder: Path,
) -> None:
    a_script(folder, "onReboot.sh")
    (rule,) = read(folder).rules
    assert rule.types == frozenset({"Reboot"})
    assert rule.hooks == {Step.PREPARE: ("onReboot.sh",)}
    assert (rule.approve, rule.together) == (Approve.AFTER_HOOKS, Together.LEADER)
    assert rule.concerns is Concerns.ME


def test_a_script_is_a_hook_by_its_whole_path(folder: Path) -> None:
    a_script(folder, "onFreeze.sh")
    hook = read(folder).hooks["onFreeze.sh"]
    assert hook.command == (str(folder / "onFreeze.sh"),)


def test_every_step_has_a_script(folder: Path) -> None:
    steps = ("started", "started-without-notice", "recover", "undo")
    a_script(folder, "onRedeploy.sh", *(f"onRedeploy.{step}.sh" for step in steps))
    (rule,) = read(folder).rules
    assert rule.hooks == {
        Step.PREPARE: ("onRedeploy.sh",),
        Step.STARTED: ("onRedeploy.started.sh",),
        Step.WITHOUT_NOTICE: ("onRedeploy.started-without-notice.sh",),
        Step.RECOVER: ("onRedeploy.recover.sh",),
        Step.UNDO: ("onRedeploy.undo.sh",),
    }


def test_what_no_script_prepares_is_not_approved(folder: Path) -> None:
    a_script(folder, "onReboot.recover.sh")
    (rule,) = read(folder).rules
    assert rule.approve is Approve.NEVER


def test_all_five_types_have_a_script(folder: Path) -> None:
    types = ("Freeze", "Preempt", "Reboot", "Redeploy", "Terminate")
    a_script(folder, *(f"on{kind}.sh" for kind in types))
    found = [rule.types for rule in read(folder).rules]
    assert sorted(found, key=str) == [frozenset({kind}) for kind in types]


def test_names_are_read_in_any_case(folder: Path) -> None:
    a_script(folder, "onreboot.sh", "ONREBOOT.UNDO.SH")
    plan = read(folder)
    assert plan.rules[0].hooks == {
        Step.PREPARE: ("onreboot.sh",),
        Step.UNDO: ("ONREBOOT.UNDO.SH",),
    }
    assert plan.warnings == ()


def test_rules_of_the_file_come_first(folder: Path) -> None:
    a_script(folder, "onReboot.sh")
    text = '[[rules]]\nname = "own"\nsources = ["User"]\napprove = "never"\n'
    assert [rule.name for rule in read(folder, text).rules] == ["own", "onReboot.sh"]


def test_a_script_whose_events_a_rule_takes_all_is_warned_of(folder: Path) -> None:
    a_script(folder, "onReboot.sh")
    text = '[[rules]]\nname = "own"\ntypes = ["Reboot"]\napprove = "never"\n'
    (warning,) = read(folder, text).warnings
    assert 'line 2: rule "onReboot.sh" never matches, as "own" before it' in warning


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("onRebot.sh", 'onRebot.sh in {} is ignored; did you mean "onReboot.sh"?'),
        ("onReboot.bash", 'did you mean "onReboot.sh"?'),
        ("onReboot.recovr.sh", 'did you mean "onReboot.recover.sh"?'),
        ("README", "README in {} is ignored; scripts are called on<Type>.sh or"),
    ],
)
def test_a_file_that_is_called_otherwise_is_warned_of(
    folder: Path, name: str, said: str
) -> None:
    a_script(folder, "onReboot.sh", name)
    plan = read(folder)
    assert said.format(folder) in plan.warnings[0]
    assert [*plan.hooks] == ["onReboot.sh"]


def test_hidden_files_are_passed_over(folder: Path) -> None:
    a_script(folder, "onReboot.sh", ".onReboot.sh.swp")
    assert read(folder).warnings == ()


def refusal(folder: Path) -> str:
    with pytest.raises(CannotStart) as caught:
        read(folder)
    return str(caught.value)


def test_a_script_that_cannot_be_run_is_refused(folder: Path) -> None:
    a_script(folder, "onReboot.sh", mode=0o644)
    assert "line 2: scripts: " in refusal(folder)
    assert "onReboot.sh is not executable; `chmod +x` makes it so" in refusal(folder)


def test_a_folder_that_is_called_as_a_script_is_refused(folder: Path) -> None:
    (folder / "onReboot.sh").mkdir()
    assert "onReboot.sh is not a file" in refusal(folder)


def test_two_scripts_for_the_same_are_refused(folder: Path) -> None:
    a_script(folder, "onReboot.sh", "onReboot.prepare.sh")
    said = refusal(folder)
    assert "onReboot.prepare.sh and onReboot.sh in" in said
    assert said.endswith("mean the same")


def test_a_folder_that_is_not_there_is_refused(folder: Path) -> None:
    folder.rmdir()
    assert f"{folder} cannot be read: no such file or directory" in refusal(folder)


def test_a_folder_without_scripts_is_a_file_without_rules(folder: Path) -> None:
    assert "there are no rules" in refusal(folder)
