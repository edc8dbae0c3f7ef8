"""Audit log: writing, rotating and reading entries."""

import errno
import json
import os
from pathlib import Path

import pytest

from forewarn.agent.audit.log import OLDER, AuditLog, AuditLogReader
from forewarn.agent.config.plan import HookPoint
from forewarn.agent.storage.store import Disk
from forewarn.errors import Unavailable


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


def numbers(path: Path) -> list[object]:
    return [line["n"] for line in AuditLogReader(path)]


def test_entries_are_read_in_the_order_written(path: Path) -> None:
    for n in range(3):
        AuditLog(path).write({"n": n})
    assert numbers(path) == [0, 1, 2]


def test_a_missing_log_has_no_entries(path: Path) -> None:
    assert numbers(path) == []


def test_an_entry_is_one_line_of_json_whatever_it_contains(path: Path) -> None:
    output = "two\nlines \u2028 \ud800"
    AuditLog(path).write({"output": output, "hooks": {HookPoint.PREPARE: ("drain",)}})
    text = path.read_bytes()
    assert text.count(b"\n") == 1
    assert json.loads(text) == {"output": output, "hooks": {"prepare": ["drain"]}}


def test_deeply_nested_values_are_omitted(path: Path) -> None:
    deep: object = []
    for _ in range(2_000):
        deep = [deep]
    AuditLog(path).write({"n": 1, "event_as_shown": deep})
    assert [*AuditLogReader(path)] == [{"n": 1}]


def test_only_the_owner_can_read_it(path: Path) -> None:
    AuditLog(path).write({"n": 0})
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("half", [b'{"n": 5, "wh', b"\0" * 512, b"{}x"])
def test_a_partial_line_affects_no_other_and_is_counted(
    path: Path, half: bytes
) -> None:
    audit = AuditLog(path)
    audit.write({"n": 0})
    with path.open("ab") as file:
        file.write(half)
    audit.write({"n": 1})
    record = AuditLogReader(path)
    assert [line["n"] for line in record] == [0, 1]
    assert record.broken == 1


@pytest.mark.parametrize("text", ["3", "[]", '"x"', "\xff", "9" * 5_000])
def test_a_line_that_is_not_an_object_is_counted_as_broken(
    path: Path, text: str
) -> None:
    path.write_text(f"{text}\n", encoding="latin-1")
    record = AuditLogReader(path)
    assert [*record] == []
    assert record.broken == 1


def test_a_full_file_is_rotated(path: Path) -> None:
    audit = AuditLog(path, size_limit=30)
    for n in range(4):
        audit.write({"n": n, "x": "......."})  # 23 bytes
    assert path.read_text().count("\n") == 1
    assert path.with_name("audit.jsonl.3").exists()
    assert numbers(path) == [0, 1, 2, 3]


def test_only_a_few_rotated_files_are_kept(path: Path) -> None:
    audit = AuditLog(path, size_limit=1)
    for n in range(OLDER + 5):
        audit.write({"n": n})
    assert len([*path.parent.iterdir()]) == OLDER + 1
    assert numbers(path) == [*range(4, OLDER + 5)]


def test_a_file_renamed_while_it_is_opened_is_read_once(
    path: Path,
) -> None:
    AuditLog(path).write({"n": 0})
    os.link(path, path.with_name("audit.jsonl.1"))
    assert numbers(path) == [0]


def test_entries_rotated_while_reading_are_not_lost(
    path: Path,
) -> None:
    audit = AuditLog(path, size_limit=1)
    for n in range(OLDER + 1):
        audit.write({"n": n})
    read_numbers = []
    for line in AuditLogReader(path):
        read_numbers.append(line["n"])
        audit.write({"n": "later"})
    assert read_numbers == [*range(OLDER + 1)]


def test_an_entry_is_on_disk_before_write_returns(path: Path) -> None:
    synced: list[str] = []

    def fsync(number: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{number}"))
        os.fsync(number)

    AuditLog(path, disk=Disk(fsync=fsync)).write({"n": 0})
    assert synced == [str(path), str(path.parent)]  # the folder entry is synced as well


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_a_disk_error_is_an_error_message(path: Path, code: int) -> None:
    def write(number: int, text: bytes) -> int:
        raise OSError(code, os.strerror(code))

    with pytest.raises(Unavailable, match=f"cannot write .*: {os.strerror(code)}"):
        AuditLog(path, disk=Disk(write=write)).write({"n": 0})


def test_a_partially_written_entry_is_written_again_in_full(
    path: Path,
) -> None:
    def write(number: int, text: bytes) -> int:
        return os.write(number, text[:4])

    with pytest.raises(Unavailable, match="only part of the line"):
        AuditLog(path, disk=Disk(write=write)).write({"n": 0})
    AuditLog(path).write({"n": 0})
    assert numbers(path) == [0]
