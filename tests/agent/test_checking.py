"""Whether all that a plan needs is on this machine."""

from dataclasses import replace
from pathlib import Path

import pytest

from forewarn.agent.checking import check
from forewarn.agent.plan import Hook, Plan


def a_script(path: Path, text: str = "#!/bin/sh\n", mode: int = 0o755) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def found(folder: Path, *command: str, python: str | None = None) -> list[str]:
    hook = Hook(name="h", command=command, python=python)
    said = check(Plan(state=folder, hooks={"h": hook}))
    assert all(each.startswith('hook "h": ') for each in said)
    return [each.removeprefix('hook "h": ') for each in said]


# --- commands ----------------------------------------------------------------


def test_a_command_that_can_be_run_is_well(tmp_path: Path) -> None:
    assert found(tmp_path, a_script(tmp_path / "drain"), "--now") == []
    assert found(tmp_path, "sh", "-c", "true") == []


def test_a_command_that_does_not_exist_is_told(tmp_path: Path) -> None:
    missing = str(tmp_path / "drain")
    assert found(tmp_path, missing) == [f"{missing} does not exist"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("drain --now", 'in a list each word stands for itself: ["drain", "--now"]'),
        ("~/drain", "only a shell knows ~ and $: write a text instead of a list"),
        ("$HOME/drain", "only a shell knows ~ and $: write a text instead of a list"),
    ],
)
def test_what_only_a_shell_understands_is_told(
    tmp_path: Path, name: str, hint: str
) -> None:
    missing = f"{tmp_path}/{name}"
    assert found(tmp_path, missing) == [f"{missing} does not exist; {hint}"]


def test_what_env_is_to_run_is_looked_at_too(tmp_path: Path) -> None:
    missing = str(tmp_path / "drain")
    assert found(tmp_path, "env", "A=1", "B=/x", missing) == [
        f"{missing} does not exist"
    ]
    assert found(tmp_path, "/usr/bin/env", "A=1", "sh", "-c", "true") == []
    assert found(tmp_path, "env", "-i", missing) == []
    assert found(tmp_path, "env", "A=1") == []


def test_a_command_that_is_a_directory_is_told(tmp_path: Path) -> None:
    assert found(tmp_path, str(tmp_path)) == [f"{tmp_path} is a directory"]


def test_a_command_that_is_not_executable_is_told(tmp_path: Path) -> None:
    script = a_script(tmp_path / "drain", mode=0o644)
    (said,) = found(tmp_path, script)
    assert said == f"{script} is not executable by this user; `chmod +x` may make it so"


def test_a_name_is_looked_for_in_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found(tmp_path, "drain-7") == ["drain-7 is not in $PATH"]
    a_script(tmp_path / "drain-7")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert found(tmp_path, "drain-7") == []


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ("#!/no/such/shell -e\n", "wants the interpreter /no/such/shell, which does"),
        ("#! /no/such/shell\n", "wants the interpreter /no/such/shell, which does"),
        ("#!/usr/bin/env no-such-python\n", "wants the interpreter no-such-python, "),
        ("#!/bin/sh\r\n", "has lines that end as on Windows"),
    ],
)
def test_a_script_whose_interpreter_is_not_there_is_told(
    tmp_path: Path, first: str, said: str
) -> None:
    script = a_script(tmp_path / "drain", first)
    (told,) = found(tmp_path, script)
    assert told.startswith(f"{script} {said}")


@pytest.mark.parametrize(
    "first", ["#!/usr/bin/env sh\n", "#!/usr/bin/env -S sh -e\n", "#!\n", "true\n", ""]
)
def test_a_script_may_begin_otherwise(tmp_path: Path, first: str) -> None:
    assert found(tmp_path, a_script(tmp_path / "drain", first)) == []


# --- text for the shell ------------------------------------------------------


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
def test_text_that_the_shell_may_well_run_is_well(tmp_path: Path, text: str) -> None:
    assert found(tmp_path, "/bin/sh", "-c", text) == []


@pytest.mark.parametrize("text", ["drain-7 --now", "drain-7", "/no/drain-7; true"])
def test_text_whose_first_word_is_not_found_is_told(tmp_path: Path, text: str) -> None:
    (said,) = found(tmp_path, "/bin/sh", "-c", text)
    assert "drain-7 is not found by /bin/sh" in said


def test_text_that_the_shell_cannot_read_is_told(tmp_path: Path) -> None:
    (said,) = found(tmp_path, "/bin/sh", "-c", "echo 'drain")
    assert said.startswith("/bin/sh cannot read it: ")


def test_no_text_is_run(tmp_path: Path) -> None:
    found(tmp_path, "/bin/sh", "-c", f"touch {tmp_path}/x; no-such-thing")
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
def test_a_function_is_looked_for_where_it_is_called(
    tmp_path: Path, target: str, said: list[str]
) -> None:
    told = found(tmp_path, python=target)
    assert told == [f"{target} cannot be called: {each}" for each in said]


def test_a_module_of_the_folder_one_is_in_is_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "our_drain.py").write_text("def f(event): ...\n")
    monkeypatch.chdir(tmp_path)
    assert len(found(tmp_path, python="our_drain:f")) == 1
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert found(tmp_path, python="our_drain:f") == []


# --- folders and addresses ---------------------------------------------------


def test_a_state_folder_may_be_made_later(tmp_path: Path) -> None:
    assert check(Plan(state=tmp_path / "a" / "b")) == []
    assert not (tmp_path / "a").exists()


def test_a_state_folder_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")
    (said,) = check(Plan(state=tmp_path / "f"))
    assert said.startswith(f"state: {tmp_path}/f is not a folder")
    (below,) = check(Plan(state=tmp_path / "f" / "x"))
    assert below == (
        f"state: {tmp_path}/f/x cannot be made in {tmp_path}/f by this user; `state` in"
        " the file names another folder"
    )


def test_a_folder_in_which_nobody_writes_is_told() -> None:
    (said,) = check(Plan(state=Path("/proc/self/x")))
    assert said.startswith("state: /proc/self/x cannot be made in /proc/self")


def test_the_folder_of_the_textfile_must_be_there(tmp_path: Path) -> None:
    plan = Plan(state=tmp_path, textfile=tmp_path / "f.prom")
    assert check(plan) == []
    (said,) = check(replace(plan, textfile=tmp_path / "no" / "f.prom"))
    assert said.startswith(f"textfile: {tmp_path}/no is not a folder")


@pytest.mark.parametrize(
    "address", ["9254", "x:y", "a b:1", "127.0.0.1:65536", ":1", "[x]:1", "1:2:3"]
)
def test_an_address_that_is_none_is_told(tmp_path: Path, address: str) -> None:
    (said,) = check(Plan(state=tmp_path, metrics=address))
    assert said.startswith(f"metrics: {address} is not an address")


@pytest.mark.parametrize("address", ["127.0.0.1:0", "[::1]:9254", "localhost:80"])
def test_an_address_may_be_written_in_several_ways(
    tmp_path: Path, address: str
) -> None:
    assert check(Plan(state=tmp_path, metrics=address)) == []
