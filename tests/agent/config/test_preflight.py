"""Configuration check: whether this machine has everything a plan needs."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from forewarn.agent.config.plan import Hook, Plan
from forewarn.agent.config.preflight import check_machine
from forewarn.client import discovery


def a_script(path: Path, text: str = "#!/bin/sh\n", mode: int = 0o755) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def check_hook(folder: Path, *command: str, python: str | None = None) -> list[str]:
    hook = Hook(name="h", command=command, python=python)
    problems = check_machine(Plan(state=folder, hooks={"h": hook}))
    assert all(problem.startswith('hook "h": ') for problem in problems)
    return [problem.removeprefix('hook "h": ') for problem in problems]


# --- commands ----------------------------------------------------------------


def test_a_runnable_command_is_accepted(tmp_path: Path) -> None:
    assert check_hook(tmp_path, a_script(tmp_path / "drain"), "--now") == []
    assert check_hook(tmp_path, "sh", "-c", "true") == []


def test_a_missing_command_is_reported(tmp_path: Path) -> None:
    missing = str(tmp_path / "drain")
    assert check_hook(tmp_path, missing) == [f"{missing} does not exist"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        (
            "drain --now",
            'in a list, each word must be a separate string: ["drain", "--now"]',
        ),
        ("~/drain", "only a shell expands ~ and $; use a string instead of a list"),
        ("$HOME/drain", "only a shell expands ~ and $; use a string instead of a list"),
    ],
)
def test_shell_syntax_in_a_list_is_reported(
    tmp_path: Path, name: str, hint: str
) -> None:
    missing = f"{tmp_path}/{name}"
    assert check_hook(tmp_path, missing) == [f"{missing} does not exist; {hint}"]


# --- discovery ---------------------------------------------------------------


def test_discovery_without_permission_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(card: str) -> None:
        assert card == "lo"  # so that no other DHCP client is disturbed
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(discovery, "_open_socket", refuse)
    assert check_machine(Plan(state=tmp_path)) == []
    (problem,) = check_machine(Plan(state=tmp_path, discover=True))
    assert problem.startswith(
        "discover: discovery via DHCP requires root or the CAP_NET_RAW and"
        " CAP_NET_BIND_SERVICE capabilities; run it as root, or specify the endpoint"
    )


def test_a_temporary_network_problem_does_not_prevent_discovery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(card: str) -> None:
        raise OSError(98, "Address already in use")

    monkeypatch.setattr(discovery, "_open_socket", fail)
    assert check_machine(Plan(state=tmp_path, discover=True)) == []


def test_discovery_on_another_platform_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    (problem,) = check_machine(Plan(state=tmp_path, discover=True))
    assert "works only on Linux; specify the endpoint" in problem


# --- shell commands ----------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "true",
        "  true && no-such-thing",
        "if true; then no-such-thing; fi",
        "cd /tmp && no-such-thing",
        "A=1 no-such-thing",
        "f() { no-such-thing; }; f",
        '"no such thing"',
        "$DRAIN --now",
        "/bin/sh -c true",
    ],
)
def test_a_plausible_shell_command_is_accepted(tmp_path: Path, text: str) -> None:
    assert check_hook(tmp_path, "/bin/sh", "-c", text) == []


@pytest.mark.parametrize("text", ["drain-7 --now", "drain-7", "/no/drain-7; true"])
def test_a_shell_command_with_an_unknown_first_word_is_reported(
    tmp_path: Path, text: str
) -> None:
    (problem,) = check_hook(tmp_path, "/bin/sh", "-c", text)
    assert "/bin/sh cannot find " in problem
    assert problem.endswith("drain-7")


def test_a_shell_syntax_error_is_reported(tmp_path: Path) -> None:
    (problem,) = check_hook(tmp_path, "/bin/sh", "-c", "echo 'drain")
    assert problem.startswith("/bin/sh cannot parse the command: ")


def test_shell_commands_are_not_run(tmp_path: Path) -> None:
    check_hook(tmp_path, "/bin/sh", "-c", f"touch {tmp_path}/x; no-such-thing")
    assert not (tmp_path / "x").exists()


# --- functions ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("json:dumps", []),
        ("json:JSONDecoder.decode", []),
        ("no_such_module:f", ["ModuleNotFoundError: No module named 'no_such_module'"]),
        ("json:no_such", ["AttributeError: module 'json' has no attribute 'no_such'"]),
        ("json:__doc__", ["TypeError: json:__doc__ is not a function"]),
    ],
)
def test_the_check_finds_a_function_as_the_hook_does(
    tmp_path: Path, target: str, said: list[str]
) -> None:
    problems = check_hook(tmp_path, python=target)
    assert problems == [f"cannot call {target}: {reason}" for reason in said]


def test_a_module_in_the_current_folder_is_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "our_drain.py").write_text("def f(event): ...\n")
    monkeypatch.chdir(tmp_path)
    assert len(check_hook(tmp_path, python="our_drain:f")) == 1
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert check_hook(tmp_path, python="our_drain:f") == []


# --- folders and addresses ---------------------------------------------------


def test_the_state_folder_may_be_created_later(tmp_path: Path) -> None:
    assert check_machine(Plan(state=tmp_path / "a" / "b")) == []
    assert not (tmp_path / "a").exists()


def test_a_file_as_state_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")
    (problem,) = check_machine(Plan(state=tmp_path / "f"))
    assert problem.startswith(f"state: {tmp_path}/f is not a folder")
    (below,) = check_machine(Plan(state=tmp_path / "f" / "x"))
    assert below == (
        f"state: this user cannot create {tmp_path}/f/x in {tmp_path}/f; set `state` to"
        " another folder"
    )


def test_an_unwritable_folder_is_reported() -> None:
    (problem,) = check_machine(Plan(state=Path("/proc/self/x")))
    assert problem.startswith(
        "state: this user cannot create /proc/self/x in /proc/self"
    )


def test_the_folder_of_the_textfile_must_exist(tmp_path: Path) -> None:
    plan = Plan(state=tmp_path, textfile=tmp_path / "f.prom")
    assert check_machine(plan) == []
    (problem,) = check_machine(replace(plan, textfile=tmp_path / "no" / "f.prom"))
    assert problem.startswith(f"textfile: {tmp_path}/no is not a folder")
