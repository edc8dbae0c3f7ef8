"""Drop-in scripts: a folder in which each script makes a rule."""

from pathlib import Path

import pytest

from forewarn.agent.config.file import read_plan
from forewarn.agent.config.plan import (
    ApprovalPolicy,
    HookPoint,
    Plan,
    RuleScope,
    SharedApproval,
)
from forewarn.errors import CannotStart


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    return scripts


def a_script(folder: Path, *names: str, mode: int = 0o755) -> None:
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(mode)


def read(folder: Path, text: str = "") -> Plan:
    file = folder.parent / "agent.toml"
    file.write_text(f'name = "web-0"\nscripts = "scripts"\n{text}')
    return read_plan(file)


def test_a_script_prepares_and_the_leader_approves(
    folder: Path,
) -> None:
    a_script(folder, "onReboot.sh")
    (rule,) = read(folder).rules
    assert rule.types == frozenset({"Reboot"})
    assert rule.hooks == {HookPoint.PREPARE: ("onReboot.sh",)}
    assert (rule.approve, rule.together) == (
        ApprovalPolicy.AFTER_HOOKS,
        SharedApproval.LEADER,
    )
    assert rule.concerns is RuleScope.ME
    hook = read(folder).hooks["onReboot.sh"]
    assert hook.command == (str(folder / "onReboot.sh"),)
    assert hook.is_script  # so that its permissions are checked


def test_every_step_has_a_script(folder: Path) -> None:
    steps = ("started", "started-without-notice", "recover", "undo")
    a_script(folder, "onRedeploy.sh", *(f"onRedeploy.{step}.sh" for step in steps))
    (rule,) = read(folder).rules
    assert rule.hooks == {
        HookPoint.PREPARE: ("onRedeploy.sh",),
        HookPoint.STARTED: ("onRedeploy.started.sh",),
        HookPoint.WITHOUT_NOTICE: ("onRedeploy.started-without-notice.sh",),
        HookPoint.RECOVER: ("onRedeploy.recover.sh",),
        HookPoint.UNDO: ("onRedeploy.undo.sh",),
    }


def test_without_a_preparing_script_the_event_is_not_approved(folder: Path) -> None:
    a_script(folder, "onReboot.recover.sh")
    (rule,) = read(folder).rules
    assert rule.approve is ApprovalPolicy.NEVER


def test_all_five_types_can_have_a_script(folder: Path) -> None:
    types = ("Freeze", "Preempt", "Reboot", "Redeploy", "Terminate")
    a_script(folder, *(f"on{kind}.sh" for kind in types))
    rule_types = [rule.types for rule in read(folder).rules]
    assert sorted(rule_types, key=str) == [frozenset({kind}) for kind in types]


def test_script_names_ignore_case(folder: Path) -> None:
    a_script(folder, "onreboot.sh", "ONREBOOT.UNDO.SH")
    plan = read(folder)
    assert plan.rules[0].hooks == {
        HookPoint.PREPARE: ("onreboot.sh",),
        HookPoint.UNDO: ("ONREBOOT.UNDO.SH",),
    }
    assert plan.warnings == ()


def test_rules_of_the_file_come_first(folder: Path) -> None:
    a_script(folder, "onReboot.sh")
    text = '[[rules]]\nname = "own"\nsources = ["User"]\napprove = "never"\n'
    assert [rule.name for rule in read(folder, text).rules] == ["own", "onReboot.sh"]


def test_a_script_that_never_matches_causes_a_warning(folder: Path) -> None:
    a_script(folder, "onReboot.sh")
    text = '[[rules]]\nname = "own"\ntypes = ["Reboot"]\napprove = "never"\n'
    (warning,) = read(folder, text).warnings
    assert 'line 2: rule "onReboot.sh" never matches, because earlier' in warning


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("onRebot.sh", 'onRebot.sh in {} is ignored; did you mean "onReboot.sh"?'),
        ("onReboot.bash", 'did you mean "onReboot.sh"?'),
        ("onReboot.recovr.sh", 'did you mean "onReboot.recover.sh"?'),
        ("README", "README in {} is ignored; script names must have the form"),
    ],
)
def test_a_file_with_another_name_causes_a_warning(
    folder: Path, name: str, said: str
) -> None:
    a_script(folder, "onReboot.sh", name)
    plan = read(folder)
    assert said.format(folder) in plan.warnings[0]
    assert [*plan.hooks] == ["onReboot.sh"]


def test_hidden_files_are_skipped(folder: Path) -> None:
    a_script(folder, "onReboot.sh", ".onReboot.sh.swp")
    assert read(folder).warnings == ()


def refusal(folder: Path) -> str:
    with pytest.raises(CannotStart) as caught:
        read(folder)
    return str(caught.value)


def test_a_script_that_is_not_executable_is_refused(folder: Path) -> None:
    a_script(folder, "onReboot.sh", mode=0o644)
    assert "line 2: scripts: " in refusal(folder)
    assert "onReboot.sh is not executable; run: chmod +x /" in refusal(folder)


def test_a_folder_named_like_a_script_is_refused(folder: Path) -> None:
    (folder / "onReboot.sh").mkdir()
    assert "onReboot.sh is not a file" in refusal(folder)


def test_two_scripts_for_the_same_step_are_refused(folder: Path) -> None:
    a_script(folder, "onReboot.sh", "onReboot.prepare.sh")
    message = refusal(folder)
    assert "onReboot.prepare.sh and onReboot.sh in" in message
    assert message.endswith("are for the same step; remove one of them")


def test_a_missing_folder_is_refused(folder: Path) -> None:
    folder.rmdir()
    assert f"cannot read {folder}: no such file or directory" in refusal(folder)


def test_a_folder_without_scripts_is_a_file_without_rules(folder: Path) -> None:
    assert "no rules" in refusal(folder)
