"""State storage: event states survive any damage to the disk."""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from tests.agent.support.stored_states import ID, a_state
from tests.patience import PATIENCE

from forewarn.agent.storage.store import (
    Disk,
    StateStore,
    lock_folder,
    unlock_folder,
)
from forewarn.errors import CannotStart, Unavailable

FIRST, SECOND = a_state(boot="first"), a_state(boot="second")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[StateStore]:
    store = StateStore(tmp_path / "state")
    store.open()
    yield store
    store.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "events" / f"{ID}.json"


# --- save, load and delete ---------------------------------------------------


def test_the_last_saved_state_is_loaded(store: StateStore) -> None:
    store.save(FIRST)
    store.save(SECOND)
    loaded = store.load()
    assert loaded.states == {ID: SECOND}
    assert loaded.problems == ()


def test_each_event_has_its_own_state(store: StateStore) -> None:
    store.save(FIRST)
    other = a_state(event_id="E1")
    store.save(other)
    assert store.load().states == {ID: FIRST, "E1": other}


def test_a_deleted_state_is_not_loaded_again(store: StateStore, file: Path) -> None:
    store.save(FIRST)
    store.save(SECOND)
    store.delete(ID)
    assert store.load().states == {}
    assert [*file.parent.iterdir()] == []


def test_deleting_an_unknown_event_is_not_an_error(store: StateStore) -> None:
    store.delete("E9")
    assert store.load().problems == ()


def test_ids_that_differ_only_in_case_are_the_same(store: StateStore) -> None:
    store.save(a_state(event_id="ab-1", boot="first"))
    store.save(a_state(event_id="AB-1", boot="second"))
    assert [state.boot for state in store.load().states.values()] == ["second"]
    store.delete("Ab-1")
    assert store.load().states == {}


@pytest.mark.parametrize(
    "event_id",
    ["../../etc/passwd", "a/b", ".", "", "x" * 5_000, "a\0b", "ä", "\ud800", "a b"],
    ids=range(9),
)
def test_an_id_that_is_not_a_file_name_is_stored_within_the_folder(
    store: StateStore, file: Path, event_id: str
) -> None:
    state = a_state(event_id=event_id)
    store.save(state)
    assert [*store.load().states.values()] == [state]
    assert len([*file.parent.iterdir()]) == 1
    store.delete(event_id)
    assert [*file.parent.iterdir()] == []


def test_only_the_owner_can_read_the_folder(store: StateStore, file: Path) -> None:
    store.save(FIRST)
    modes = [path.stat().st_mode & 0o777 for path in (file, *file.parents[:2])]
    assert modes == [0o600, 0o700, 0o700]


# --- one agent at a time -----------------------------------------------------


def test_a_second_agent_is_refused_with_the_process_id(
    store: StateStore, tmp_path: Path
) -> None:
    with pytest.raises(
        CannotStart, match=rf"in use by another agent \(process {os.getpid()}\)$"
    ):
        StateStore(tmp_path / "state", lock_timeout=0).open()


def test_a_closed_folder_can_be_opened_again(store: StateStore, tmp_path: Path) -> None:
    store.close()
    store.close()
    again = StateStore(tmp_path / "state")
    again.open()
    again.close()


def test_an_agent_whose_folder_was_replaced_writes_nothing(
    store: StateStore, tmp_path: Path
) -> None:
    store.save(FIRST)
    shutil.rmtree(tmp_path / "state")
    other = StateStore(tmp_path / "state")
    other.open()
    other.save(SECOND)
    with pytest.raises(Unavailable, match="restart this agent"):
        store.save(FIRST)
    with pytest.raises(Unavailable, match="restart this agent"):
        store.delete(ID)
    assert other.load().states == {ID: SECOND}
    other.close()


def test_a_child_process_does_not_hold_the_lock(
    store: StateStore, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", "input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, close_fds=False) as child:
        store.close()
        again = StateStore(tmp_path / "state", lock_timeout=0)
        again.open()
        again.close()
        child.communicate(b"\n", timeout=PATIENCE)


def test_the_lock_names_its_holder(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("a number that is longer than ours")
    held = lock_folder(tmp_path, timeout=0)
    assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"
    unlock_folder(held)


def test_an_agent_waits_for_a_lock_about_to_be_released(tmp_path: Path) -> None:
    first = lock_folder(tmp_path, timeout=0)
    second = lock_folder(tmp_path, 60, wait=lambda seconds: unlock_folder(first))
    unlock_folder(second)


def test_releasing_works_even_if_a_child_has_the_file_open(
    tmp_path: Path,
) -> None:
    held = lock_folder(tmp_path, timeout=0)
    childs = os.dup(held)  # as between fork and exec
    unlock_folder(held)
    unlock_folder(lock_folder(tmp_path, timeout=0))
    os.close(childs)


def test_a_folder_that_cannot_be_created_is_an_error_message(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        CannotStart, match=r"cannot use the state directory .*Not a directory"
    ):
        StateStore(tmp_path / "file" / "state").open()


# --- damaged files -----------------------------------------------------------

CUTS = [
    pytest.param(
        lambda text: text[: len(text) // 2], "its checksum is wrong", id="half"
    ),
    pytest.param(lambda text: text[:-1], "its checksum is wrong", id="but for a byte"),
    pytest.param(
        lambda text: text[:10], "its checksum is wrong", id="within the checksum"
    ),
    pytest.param(lambda text: b"", "it is empty", id="empty"),
    pytest.param(lambda text: b"\0" * len(text), "it is empty", id="zeros"),
    pytest.param(
        lambda text: text[:40] + b"\0" * 40 + text[80:],
        "its checksum is wrong",
        id="a hole",
    ),
    pytest.param(
        lambda text: text.replace(b"second", b"s3cond"),
        "its checksum is wrong",
        id="a byte",
    ),
    pytest.param(lambda text: text + text, "its checksum is wrong", id="twice"),
]


@pytest.mark.parametrize(("cut", "why"), CUTS)
def test_the_older_copy_replaces_a_damaged_file_with_a_warning(
    store: StateStore, file: Path, cut: Callable[[bytes], bytes], why: str
) -> None:
    store.save(FIRST)
    store.save(SECOND)
    file.write_bytes(cut(file.read_bytes()))
    loaded = store.load()
    assert loaded.states == {ID: FIRST}
    assert loaded.problems == (f"cannot use {file}: {why}; using the older copy",)


def test_the_warning_is_given_once(store: StateStore, file: Path) -> None:
    store.save(FIRST)
    store.save(SECOND)
    file.write_bytes(b"")
    store.load()
    loaded = store.load()
    assert loaded.states == {ID: FIRST}
    assert loaded.problems == ()


def test_saving_afterwards_keeps_the_copy_that_was_used(
    store: StateStore, file: Path
) -> None:
    store.save(FIRST)
    store.save(SECOND)
    file.write_bytes(b"")
    store.load()
    store.save(a_state(boot="third"))
    file.write_bytes(b"")
    assert store.load().states == {ID: FIRST}


def test_two_damaged_copies_are_moved_aside_with_a_warning(
    store: StateStore, file: Path
) -> None:
    store.save(FIRST)
    store.save(SECOND)
    file.write_bytes(b"first")
    file.with_name(f"{file.name}.old").write_bytes(b"second")
    loaded = store.load()
    assert loaded.states == {}
    assert loaded.problems == (
        f"cannot use {file}: its checksum is wrong; cannot use the older copy"
        " either: its checksum is wrong; moved both copies aside, so the event is"
        " treated as new",
    )
    assert {path.name: path.read_bytes() for path in file.parent.iterdir()} == {
        f"{file.name}.bad": b"first",
        f"{file.name}.bad.old": b"second",
    }
    assert store.load().problems == ()


def test_a_damaged_file_does_not_affect_others(store: StateStore, file: Path) -> None:
    store.save(FIRST)
    store.save(a_state(event_id="E1"))
    file.write_bytes(b"")
    assert [*store.load().states] == ["E1"]


def test_the_older_copy_replaces_a_file_of_a_later_version(
    store: StateStore, file: Path, tmp_path: Path
) -> None:
    store.save(FIRST)
    store.save(SECOND)
    later = file.read_bytes().partition(b"\n")[2].strip()
    file.write_bytes(with_checksum(later.replace(b'"version":1', b'"version":2')))
    loaded = store.load()
    assert loaded.states == {ID: FIRST}
    assert "it has version 2 instead of 1" in loaded.problems[0]


def with_checksum(text: bytes) -> bytes:
    summed = subprocess.run(["sha256sum"], input=text, capture_output=True, check=True)
    return b"sha256 " + summed.stdout.split()[0] + b"\n" + text + b"\n"


def test_a_file_copied_under_another_name_is_refused(
    store: StateStore, file: Path
) -> None:
    store.save(FIRST)
    (file.parent / "E1.json").write_bytes(file.read_bytes())
    loaded = store.load()
    assert loaded.states == {ID: FIRST}
    assert f"it contains the state of event {ID}" in loaded.problems[0]


def test_a_link_to_a_state_is_not_read(store: StateStore, file: Path) -> None:
    store.save(FIRST)
    elsewhere = file.parent.parent / "elsewhere"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    loaded = store.load()
    assert loaded.states == {}
    assert len(loaded.problems) == 1


def test_a_folder_instead_of_a_file_is_moved_aside(
    store: StateStore, file: Path
) -> None:
    file.mkdir()
    loaded = store.load()
    assert loaded.states == {}
    assert "Is a directory" in loaded.problems[0]
    store.save(FIRST)
    assert store.load().states == {ID: FIRST}


def test_unknown_files_are_left_alone(store: StateStore, file: Path) -> None:
    entries = file.parent / "README"
    entries.write_text("do not touch")
    assert store.load().problems == ()
    assert entries.exists()


def test_remains_of_an_interrupted_save_are_removed(
    store: StateStore, file: Path
) -> None:
    left = file.with_name(f"{file.name}.new")
    left.write_bytes(b"half")
    loaded = store.load()
    assert loaded.states == {}
    assert loaded.problems == ()
    assert not left.exists()


# --- disk errors -------------------------------------------------------------

CALLS = ["open", "write", "fsync", "close", "link", "replace", "unlink"]
TROUBLES = [errno.ENOSPC, errno.EROFS, errno.EIO]


@pytest.mark.parametrize("code", TROUBLES, ids=errno.errorcode.get)
@pytest.mark.parametrize("call", CALLS)
def test_a_disk_error_keeps_the_previous_state_and_is_reported(
    store: StateStore, tmp_path: Path, call: str, code: int
) -> None:
    def refuse(*args: object) -> NoReturn:
        raise OSError(code, os.strerror(code))

    store.save(FIRST)
    store.save(FIRST)
    refusing = StateStore(tmp_path / "state", replace(Disk(), **{call: refuse}))
    with pytest.raises(Unavailable, match=f"cannot write .*: {os.strerror(code)}"):
        refusing.save(SECOND)
    loaded = store.load()
    assert loaded.states == {ID: FIRST}
    assert loaded.problems == ()


def test_partial_writes_are_completed(tmp_path: Path, store: StateStore) -> None:
    def write(number: int, text: bytes) -> int:
        return os.write(number, text[:7])

    StateStore(tmp_path / "state", Disk(write=write)).save(FIRST)
    assert store.load().states == {ID: FIRST}


def test_a_disk_without_links_keeps_an_older_copy(
    tmp_path: Path, store: StateStore, file: Path
) -> None:
    def link(old: Path, new: Path) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    plain = StateStore(tmp_path / "state", Disk(link=link))
    store.save(FIRST)
    plain.save(SECOND)
    assert store.load().states == {ID: SECOND}
    file.write_bytes(b"")
    assert store.load().states == {ID: FIRST}
