"""Refused starts: one sentence, the right exit code, never a traceback."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.end_to_end.program import PORTS, FinishedCommand, check_sentence, run
from tests.end_to_end.small_disk import a_small_disk


def serve(
    folder: Path, *options: str, within: Sequence[str] = (), **environment: str | None
) -> FinishedCommand:
    """Start the service on free ports, which must fail."""
    return run(folder, "serve", *PORTS, *options, within=within, **environment)


# --- options -----------------------------------------------------------------


def test_an_invalid_option_value_is_a_usage_error(tmp_path: Path) -> None:
    check_sentence(serve(tmp_path, "--driver", "magic"), 2, "magic")


def test_an_unknown_option_is_a_usage_error(tmp_path: Path) -> None:
    ended = serve(tmp_path, "--colour", "red")
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
    ended = serve(tmp_path, "--config", "forewarn.toml")
    check_sentence(ended, 2, "forewarn.toml", word)


@pytest.mark.parametrize(
    "name", ["missing.toml", pytest.param(".", marks=pytest.mark.full)]
)
def test_an_unreadable_config_is_a_usage_error(tmp_path: Path, name: str) -> None:
    ended = serve(tmp_path, "--config", name)
    check_sentence(ended, 2, f"cannot read {name}")


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
    ended = serve(tmp_path, "--store", "memory", "--fleet", "fleet.toml")
    check_sentence(ended, 1, "fleet.toml", word)


def test_an_unreadable_fleet_is_refused(tmp_path: Path) -> None:
    ended = serve(tmp_path, "--store", "memory", "--fleet", "missing.toml")
    check_sentence(ended, 1, "missing.toml: ")


# --- stores ------------------------------------------------------------------


def test_a_file_that_is_not_a_database_is_refused(tmp_path: Path) -> None:
    notes = tmp_path / "notes.db"
    notes.write_bytes(b"Dear diary, " * 1000)
    check_sentence(serve(tmp_path, "--store", f"sqlite:///{notes}"), 1, "notes.db")
    assert notes.read_bytes().startswith(b"Dear diary, ")


def test_a_symlink_loop_is_refused(tmp_path: Path) -> None:
    loop = tmp_path / "loop.db"
    loop.symlink_to(loop)
    check_sentence(serve(tmp_path, "--store", f"sqlite:///{loop}"), 1, "loop.db")


def test_a_read_only_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    with a_small_disk(tmp_path / "state") as disk:
        disk.make_read_only()
        ended = serve(tmp_path, within=disk.within)
        check_sentence(ended, 1, "Read-only", "--store")
        without = serve(tmp_path, within=disk.within, FOREWARN_TOKEN=None)
        check_sentence(without, 1, "read-only", "token")


# --- the rest ----------------------------------------------------------------


@pytest.mark.parametrize("address", ["192.0.2.1:0", "no-such-host.invalid:0"])
def test_an_address_of_another_machine_is_refused(tmp_path: Path, address: str) -> None:
    ended = run(tmp_path, "serve", *PORTS[2:], "--metadata", address)
    check_sentence(ended, 1, address)


def test_a_state_directory_that_cannot_be_created_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    check_sentence(serve(tmp_path, FOREWARN_TOKEN=None), 1, "state")


@pytest.mark.parametrize(
    ("content", "word"),
    [(b"", "empty"), (b"\xff\xfe", "")],
    ids=["empty", "not text"],
)
def test_an_unusable_token_file_is_refused(
    tmp_path: Path, content: bytes, word: str
) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "token").write_bytes(content)
    ended = serve(tmp_path, FOREWARN_TOKEN=None)
    check_sentence(ended, 1, "state/token", word)
    assert "internal error" not in ended.err


# --- limits of the machine ---------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "word"),
    [
        ("--nofile=20", "the open-file limit is 20"),
        ("--nofile=63", "at least 64"),
        ("--as=104857600", "the memory limit is 100 MiB"),
    ],
)
def test_start_with_too_few_resources_is_refused(
    tmp_path: Path, limit: str, word: str
) -> None:
    check_sentence(serve(tmp_path, within=["prlimit", limit]), 1, word)
