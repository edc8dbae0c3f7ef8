"""Permissions: paths that others could change are refused, with the remedy."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.agent.support.hook_builders import a_call

from forewarn.agent.agent import Agent
from forewarn.agent.audit.log import AuditLog
from forewarn.agent.config.file import read_plan
from forewarn.agent.config.plan import Hook, Plan
from forewarn.agent.config.preflight import check_machine
from forewarn.agent.events.state import HookOutcome
from forewarn.agent.hooks.runner import run_hook
from forewarn.agent.main import run_agent
from forewarn.agent.permissions import permission_problem
from forewarn.agent.storage.store import Disk, StateStore
from forewarn.agent.telemetry.impact import AliveFile
from forewarn.errors import CannotStart, FaultyFile, Unavailable

NOBODY = 65_534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change owners")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o755)
    (folder / "file").write_text("precious")
    return folder / "file"


def test_a_path_of_this_user_is_trusted(target: Path) -> None:
    assert permission_problem(target) is None
    assert permission_problem(target.parent) is None
    assert permission_problem(target.parent / "not" / "yet") is None


@pytest.mark.parametrize(("mode", "who"), [(0o646, "everyone"), (0o664, "the group ")])
def test_a_file_that_others_can_write_is_refused(
    target: Path, mode: int, who: str
) -> None:
    target.chmod(mode)
    problem = permission_problem(target)
    assert problem is not None
    assert problem.startswith(f"{target} can be changed by {who}")
    assert problem.endswith(f"; run: chmod go-w {target}")


def test_the_remedy_is_a_valid_shell_command(tmp_path: Path) -> None:
    odd = tmp_path / "it's a file"
    odd.write_text("")
    odd.chmod(0o666)
    assert "chmod go-w '" in (permission_problem(odd) or "")


def test_a_folder_above_that_others_can_write_is_refused(target: Path) -> None:
    target.parent.chmod(0o777)
    problem = f"{target.parent} can be changed by everyone; run: chmod go-w"
    assert permission_problem(target) == f"{problem} {target.parent}"
    assert permission_problem(target.parent / "missing") == f"{problem} {target.parent}"


def test_a_sticky_folder_is_trusted_only_above_the_path(target: Path) -> None:
    target.parent.chmod(0o1777)
    assert permission_problem(target) is None
    assert "chmod go-w" in (permission_problem(target.parent) or "")


def test_a_link_is_trusted_like_its_target(target: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(target)
    assert permission_problem(link) is None
    target.parent.chmod(0o777)
    assert "chmod go-w" in (permission_problem(link) or "")


def test_every_link_on_the_way_is_checked(target: Path, tmp_path: Path) -> None:
    (tmp_path / "public").mkdir()
    (tmp_path / "public").chmod(0o777)
    (tmp_path / "public" / "current").symlink_to(target.parent)
    (tmp_path / "link").symlink_to("public/../public/current")
    problem = f"{tmp_path}/public can be changed by everyone"
    for path in (tmp_path / "link", tmp_path / "link" / "file"):
        assert (permission_problem(path) or "").startswith(problem)
    (tmp_path / "public").chmod(0o755)
    assert permission_problem(tmp_path / "link" / "file") is None


def test_a_link_loop_is_not_a_permission_problem(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("link")
    assert permission_problem(tmp_path / "link") is None


@as_root
def test_a_path_that_belongs_to_another_user_is_refused(target: Path) -> None:
    os.chown(target.parent, NOBODY, -1)
    problem = permission_problem(target) or ""
    assert problem.startswith(f"{target.parent} belongs to nobody, who could change it")
    assert problem.endswith(f"; run: chown root {target.parent}")


@as_root
def test_a_link_of_another_user_is_refused(target: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(target)
    os.lchown(link, NOBODY, -1)
    assert (permission_problem(link) or "").endswith(f"run: chown -h root {link}")


def test_without_posix_permissions_nothing_is_refused(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target.chmod(0o666)
    monkeypatch.delattr(os, "geteuid")
    assert permission_problem(target) is None


# --- where it is checked -----------------------------------------------------


def test_the_check_reports_file_state_and_scripts(tmp_path: Path) -> None:
    config, state, scripts = (tmp_path / name for name in ("a.toml", "state", "on"))
    script = scripts / "onReboot.sh"
    config.write_text("")
    config.chmod(0o666)
    for folder in (state, scripts):
        folder.mkdir(mode=0o700)
    script.write_text("#!/bin/sh\n")
    script.chmod(0o777)
    state.chmod(0o770)
    hook = Hook(name="h", command=(str(script),), is_script=True)
    plan = Plan(state=state, file=config, scripts=scripts, hooks={"h": hook})
    assert [problem.split(" can be ")[0] for problem in check_machine(plan)] == [
        f"config: {config}",
        f"state: {state}",
        f"scripts: {script}",
    ]


def test_the_check_reports_a_folder_of_scripts_without_scripts(tmp_path: Path) -> None:
    scripts = tmp_path / "on"
    scripts.mkdir()
    scripts.chmod(0o777)
    plan = Plan(state=tmp_path / "state", scripts=scripts)
    assert [*map(_remedy, check_machine(plan))] == [f"chmod go-w {scripts}"]


def test_an_agent_whose_file_others_can_change_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Agent, "run", lambda *_: None)
    file = tmp_path / "agent.toml"
    top = f'state = "{tmp_path}/state"\nendpoint = "http://127.0.0.1:1"\n'
    file.write_text(f'{top}[[rules]]\napprove = "never"\n')
    file.chmod(0o666)
    with pytest.raises(FaultyFile, match=f"run: chmod go-w {file}"):
        run_agent(read_plan(file), is_dry=False)
    assert not (tmp_path / "state").exists()


@as_root
def test_the_check_reports_state_files_that_are_not_the_agent_s(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to("/etc/passwd")
    (tmp_path / "events").mkdir()
    state_file = tmp_path / "events" / "E1.json"
    state_file.write_text("")
    os.chown(state_file, NOBODY, -1)
    assert [*map(_remedy, check_machine(Plan(state=tmp_path)))] == [
        f"rm {tmp_path}/lock",
        f"chown root {state_file}",
    ]


def _remedy(problem: str) -> str:
    return problem.partition("; run: ")[2]


def test_a_script_that_others_can_change_is_not_run(tmp_path: Path) -> None:
    script = tmp_path / "onReboot.sh"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    script.chmod(0o777)
    hook = Hook(name="onReboot.sh", command=(str(script),), is_script=True)
    run = run_hook(a_call(hook=hook))
    assert run.outcome is HookOutcome.FAILED
    assert run.reason.endswith(f"run: chmod go-w {script}")
    assert not (tmp_path / "ran").exists()
    script.chmod(0o755)
    assert run_hook(a_call(hook=hook)).outcome is HookOutcome.DONE


# --- files of the state ------------------------------------------------------


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("no_umask")
def test_new_state_folders_are_safe_whatever_the_umask(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    store = StateStore(folder)
    store.open()
    store.close()
    assert permission_problem(folder / "events") is None
    assert permission_problem(folder / "lock") is None


def test_a_state_folder_that_others_can_change_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(CannotStart, match="run: chmod go-w"):
        StateStore(tmp_path).open()
    assert not [*tmp_path.iterdir()]


def test_links_are_not_followed_when_the_state_is_written(
    target: Path, tmp_path: Path
) -> None:
    for name in ("lock", "audit.jsonl", "alive"):
        (tmp_path / name).symlink_to(target)
    os.utime(target, (0, 0))
    with pytest.raises(CannotStart):
        StateStore(tmp_path).open()
    with pytest.raises(Unavailable):
        AuditLog(tmp_path / "audit.jsonl").write({"n": 1})
    AliveFile(tmp_path / "alive").touch()
    new = tmp_path / "E1.json.new"
    new.symlink_to(target)
    with pytest.raises(OSError, match="symbolic links"):
        Disk().write_file(new, b"mine")
    assert target.read_text() == "precious"
    assert target.stat().st_mtime == 0
