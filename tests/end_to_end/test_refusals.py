"""Refused starts: one sentence, the right exit code, never a traceback."""

import sqlite3
from pathlib import Path

import pytest
from tests.end_to_end.program import FinishedCommand, run, run_within
from tests.end_to_end.small_disk import a_small_disk

PORTS = ("--metadata", "127.0.0.1:0", "--control", "127.0.0.1:0")


def check_sentence(ended: FinishedCommand, code: int, *words: str) -> None:
    """Check for the exit code `code` and a one-line error that contains `words`."""
    assert ended.out == ""
    assert ended.err.startswith("forewarn: ")
    assert ended.err.count("\n") == 1
    assert ended.err.endswith("\n")
    for word in words:
        assert word in ended.err
    assert ended.code == code


# --- options -----------------------------------------------------------------

WRONG_OPTIONS = {
    "--clock": "sundial",
    "--store": "oracle://db",
    "--driver": "magic",
    "--metadata": "nowhere",
    "--log-level": "loud",
}


@pytest.mark.parametrize(
    "option",
    [
        "--driver",
        *(
            pytest.param(option, marks=pytest.mark.full)
            for option in WRONG_OPTIONS
            if option != "--driver"
        ),
    ],
)
def test_an_invalid_option_value_is_a_usage_error(tmp_path: Path, option: str) -> None:
    value = WRONG_OPTIONS[option]
    ended = run(tmp_path, "serve", *PORTS, option, value)
    check_sentence(ended, 2, value)


def test_an_invalid_value_in_the_environment_names_the_variable(tmp_path: Path) -> None:
    ended = run(tmp_path, "serve", *PORTS, FOREWARN_SHOWN_REBOOT="soon")
    check_sentence(ended, 2, "FOREWARN_SHOWN_REBOOT", "soon")


def test_an_unknown_option_is_a_usage_error(tmp_path: Path) -> None:
    ended = run(tmp_path, "serve", "--colour", "red")
    assert (ended.code, ended.out) == (2, "")
    assert "--colour" in ended.err
    assert "Traceback" not in ended.err


# --- files -------------------------------------------------------------------

WRONG_CONFIGS = {
    "no TOML": (b"[clock", "line 1: not valid TOML"),
    "no text": (b"\xff\xfe", "line 1: not valid UTF-8"),
    "an unknown key": (b"[clock]\nname = 1\n", "name"),
}


@pytest.mark.parametrize("wrong", WRONG_CONFIGS)
def test_an_invalid_config_is_a_usage_error(tmp_path: Path, wrong: str) -> None:
    content, word = WRONG_CONFIGS[wrong]
    (tmp_path / "forewarn.toml").write_bytes(content)
    ended = run(tmp_path, "serve", *PORTS, "--config", "forewarn.toml")
    check_sentence(ended, 2, "forewarn.toml", word)


@pytest.mark.parametrize(
    "name", ["missing.toml", pytest.param(".", marks=pytest.mark.full)]
)
def test_an_unreadable_config_is_a_usage_error(tmp_path: Path, name: str) -> None:
    ended = run(tmp_path, "serve", *PORTS, "--config", name)
    check_sentence(ended, 2, f"{name} cannot be read")


WRONG_FLEETS = {
    "no TOML": (b"[[vms", "not valid TOML"),
    "no text": (b"\xff\xfe", "line 1: not valid UTF-8"),
    "an undeclared group": (b"[[vms]]\nname = 'a'\ngroup = 'b'\n", "group b"),
}


@pytest.mark.parametrize("wrong", WRONG_FLEETS)
def test_an_invalid_fleet_is_refused_with_file_and_location(
    tmp_path: Path, wrong: str
) -> None:
    content, word = WRONG_FLEETS[wrong]
    (tmp_path / "fleet.toml").write_bytes(content)
    ended = run(tmp_path, "serve", *PORTS, "--store", "memory", "--fleet", "fleet.toml")
    check_sentence(ended, 1, "fleet.toml", word)


@pytest.mark.parametrize("name", ["missing.toml"])
def test_an_unreadable_fleet_is_refused(tmp_path: Path, name: str) -> None:
    ended = run(tmp_path, "serve", *PORTS, "--store", "memory", "--fleet", name)
    check_sentence(ended, 1, f"{name} cannot be read")


# --- stores ------------------------------------------------------------------


def serve_from(folder: Path, name: str) -> FinishedCommand:
    return run(folder, "serve", *PORTS, "--store", f"sqlite:///{folder / name}")


def test_a_file_that_is_not_a_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_bytes(b"Dear diary, " * 1000)
    check_sentence(serve_from(tmp_path, "notes.db"), 1, "notes.db")
    assert (tmp_path / "notes.db").read_bytes().startswith(b"Dear diary, ")


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE notes (text)")
    other.close()
    check_sentence(serve_from(tmp_path, "other.db"), 1, "other.db", "another program")


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    run(tmp_path, "serve", *PORTS, "--fleet", "missing.toml")
    path = tmp_path / "state" / "forewarn.db"
    with sqlite3.connect(path) as newer:
        newer.execute("UPDATE alembic_version SET version_num = '9999'")
    newer.close()
    ended = run(tmp_path, "serve", *PORTS)
    check_sentence(ended, 1, "forewarn.db", "newer forewarn", "9999")


def test_a_folder_instead_of_the_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.db").mkdir()
    check_sentence(serve_from(tmp_path, "folder.db"), 1, "folder.db")


def test_a_database_path_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    check_sentence(serve_from(tmp_path, "file/forewarn.db"), 1, "file")


def test_a_symlink_loop_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop.db").symlink_to(tmp_path / "loop.db")
    check_sentence(serve_from(tmp_path, "loop.db"), 1, "loop.db")


def test_a_read_only_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    with a_small_disk(tmp_path / "state") as disk:
        disk.make_read_only()
        ended = run_within(disk.within, tmp_path, "serve", *PORTS)
        check_sentence(ended, 1, "Read-only", "--store")
        without = run_within(
            disk.within, tmp_path, "serve", *PORTS, FOREWARN_TOKEN=None
        )
        check_sentence(without, 1, "Read-only", "token")


# --- the rest ----------------------------------------------------------------


@pytest.mark.parametrize("address", ["192.0.2.1:0", "no-such-host.invalid:0"])
def test_an_address_of_another_machine_is_refused(tmp_path: Path, address: str) -> None:
    ended = run(tmp_path, "serve", *PORTS[2:], "--metadata", address)
    check_sentence(ended, 1, address)


def test_a_state_directory_that_cannot_be_created_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    ended = run(tmp_path, "serve", *PORTS, FOREWARN_TOKEN=None)
    check_sentence(ended, 1, "state")


def test_a_token_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "token").write_bytes(b"\xff\xfe")
    ended = run(tmp_path, "serve", *PORTS, FOREWARN_TOKEN=None)
    check_sentence(ended, 1, "state/token")
    assert "should not have happened" not in ended.err


def test_an_empty_token_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "token").touch()
    ended = run(tmp_path, "serve", *PORTS, FOREWARN_TOKEN=None)
    check_sentence(ended, 1, "token", "empty")
