"""Python functions as hooks."""

import sys
import zipapp
from pathlib import Path
from shutil import copytree
from subprocess import run as run_program

import pytest
from tests.agent.support.hook_builders import ran

import forewarn
from forewarn.agent.config.plan import Hook
from forewarn.agent.events.state import HookOutcome, HookRun
from forewarn.agent.hooks.command import command_of

#: The interpreter without the packages installed for these tests.
BARE = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"

MODULE = """
import sys

def shows(event):
    print(event["EventType"], event["Resources"])

def says_yes(event):
    return True

def says_no(event):
    return False

def says_one(event):
    return 1

async def never_awaited(event):
    return True

def breaks(event):
    raise RuntimeError("no disk")

def leaves(event):
    sys.exit(7)

class Drain:
    @staticmethod
    def all(event):
        print("drained")

not_a_function = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "my_hooks.py").write_text(MODULE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return "my_hooks"


def called(target: str) -> HookRun:
    return ran(Hook(name="drain", python=target))


def test_a_function_receives_the_event(module: str) -> None:
    ended = called(f"{module}:shows")
    assert ended.outcome is HookOutcome.DONE
    assert ended.output == "Reboot ['web-0', 'web-1']\n"


def test_true_is_success(module: str) -> None:
    assert called(f"{module}:says_yes").outcome is HookOutcome.DONE


@pytest.mark.parametrize(
    ("function", "answer"),
    [("says_no", "False"), ("says_one", "1"), ("never_awaited", "<coroutine")],
)
def test_any_other_return_value_is_a_failure(
    module: str, function: str, answer: str
) -> None:
    ended = called(f"{module}:{function}")
    assert (ended.outcome, ended.code) == (HookOutcome.FAILED, 1)
    assert f"{module}:{function} returned {answer}" in ended.output


def test_an_exception_is_a_failure_with_its_traceback(module: str) -> None:
    ended = called(f"{module}:breaks")
    assert (ended.outcome, ended.code) == (HookOutcome.FAILED, 1)
    assert ended.output.endswith("\nRuntimeError: no disk\n")


def test_a_function_may_choose_its_exit_code(module: str) -> None:
    assert called(f"{module}:leaves").code == 7


def test_a_function_may_be_in_a_class(module: str) -> None:
    assert called(f"{module}:Drain.all").output == "drained\n"


@pytest.mark.parametrize(
    ("target", "last"),
    [
        ("no_such_module:f", "No module named 'no_such_module'"),
        ("my_hooks:no_such_function", "no attribute 'no_such_function'"),
        ("my_hooks:not_a_function", "my_hooks:not_a_function is not a function"),
    ],
)
@pytest.mark.usefixtures("module")
def test_a_missing_or_uncallable_target_fails(target: str, last: str) -> None:
    ended = called(target)
    assert ended.outcome is HookOutcome.FAILED
    assert last in ended.output.splitlines()[-1]


def test_no_module_is_loaded_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "planted.py").write_text("def f(event): pass")
    monkeypatch.chdir(tmp_path)
    assert "No module named 'planted'" in called("planted:f").output


def test_a_function_can_be_checked_without_being_called(module: str) -> None:
    def checked(target: str) -> int:
        *command, _ = command_of(Hook(name="x", python=target))
        return run_program(
            [*command, "--check", target], capture_output=True
        ).returncode

    assert checked(f"{module}:breaks") == 0
    assert checked(f"{module}:no_such_function") == 1


def test_a_function_can_be_called_from_a_zipapp(module: str, tmp_path: Path) -> None:
    source = Path(forewarn.__file__).parent
    for part in ("agent", "client", "configfile", "protocol"):
        copytree(source / part, tmp_path / "app" / "forewarn" / part)
    for file in ("__init__.py", "errors.py", "processes.py"):
        (tmp_path / "app" / "forewarn" / file).write_text((source / file).read_text())
    main = tmp_path / "app" / "__main__.py"
    main.write_text(
        "from forewarn.agent.hooks import command\n"
        "from forewarn.agent.config.plan import Hook\n"
        "import subprocess, sys\n"
        f"line = command.command_of(Hook(name='x', python='{module}:shows'))\n"
        "sys.exit(subprocess.call(line))\n"
    )
    zipapp.create_archive(tmp_path / "app", tmp_path / "app.pyz")
    done = run_program(
        [BARE, tmp_path / "app.pyz"],
        input='{"EventType": "Freeze", "Resources": []}',
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(tmp_path)},
    )
    assert (done.stdout, done.stderr) == ("Freeze []\n", "")
