"""Output reader: separates reports from everything else that a script prints."""

import json
import tracemalloc

import pytest

from forewarn.drivers.script_supervisor import (
    LONGEST_DETAIL,
    LONGEST_LINE,
    MOST_OUTPUT,
    OutputReader,
)

DONE = b'{"vm": "web-0", "status": "done"}\n'
FAILED = b'{"vm": "web-0", "status": "failed", "detail": "no disk"}\n'


def a_reader() -> OutputReader:
    return OutputReader(["web-0", "web-1"])


def read_reports(*chunks: bytes) -> list[dict[str, object]]:
    reader = a_reader()
    reported = [report for chunk in chunks for report in reader.feed(chunk)]
    return [*reported, *reader.end()]


def read_output(*chunks: bytes) -> str:
    reader = a_reader()
    for chunk in chunks:
        assert not [*reader.feed(chunk)]
    assert not [*reader.end()]
    return reader.output


# --- reports -----------------------------------------------------------------


def test_json_line_about_a_vm_is_a_report() -> None:
    assert read_reports(DONE) == [{"vm": "web-0", "failed": False, "detail": ""}]
    assert read_reports(FAILED) == [
        {"vm": "web-0", "failed": True, "detail": "no disk"}
    ]


def test_report_is_not_kept_as_output() -> None:
    reader = a_reader()
    assert [*reader.feed(b"before\n" + DONE + b"after\n")]
    assert reader.output == "before\nafter\n"


def test_name_in_another_case_is_that_vm() -> None:
    (report,) = read_reports(b'{"vm": "WEB-1", "status": "done"}\n')
    assert report["vm"] == "web-1"


@pytest.mark.parametrize("status", ["FAILED", "Failed"])
def test_status_in_another_case_is_that_status(status: str) -> None:
    line = json.dumps({"vm": "web-0", "status": status}).encode()
    (report,) = read_reports(line + b"\n")
    assert report["failed"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"\xef\xbb\xbf", b""),
        (b"\x1b[0m", b""),
        (b" \x1b[1;31m ", b"\x1b[0m\r"),
        (b"\x1b[?25l\x1b[2K", b" \x1b[K "),
    ],
)
def test_invisible_bytes_around_a_report_are_ignored(
    before: bytes, after: bytes
) -> None:
    (report,) = read_reports(before + FAILED.rstrip() + after + b"\n")
    assert report == {"vm": "web-0", "failed": True, "detail": "no disk"}


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_reports_are_found_however_the_bytes_arrive(size: int) -> None:
    text = b"one\n" + DONE + b"two\n{" + b'\n  {"vm":"web-1","status":"failed"}  \r\n'
    chunks = [text[i : i + size] for i in range(0, len(text), size)]
    reader = a_reader()
    reported = [report["vm"] for chunk in chunks for report in reader.feed(chunk)]
    assert reported == ["web-0", "web-1"]
    assert reader.output == "one\ntwo\n{\n"


def test_last_line_needs_no_newline() -> None:
    assert len(read_reports(DONE.rstrip())) == 1


@pytest.mark.parametrize(
    "line",
    [
        b'{"vm": "web-9", "status": "done"}',
        b'{"vm": "web-0", "status": "perhaps"}',
        b'{"vm": "web-0"}',
        b'{"status": "done"}',
        b'{"vm": 1, "status": "done"}',
        b'{"vm": "web-0", "status": ["done"]}',
        b'{"vm": "web-0", "status": "done"',
        b'[{"vm": "web-0", "status": "done"}]',
        b'x {"vm": "web-0", "status": "done"}',
        b"{" * 30_000,
        b'{"a":' * 10_000,
        b'{"vm": ' + b"9" * 10_000 + b"}",
        b"{\xff\xfe}",
        b"{}",
        b"",
    ],
)
def test_line_that_is_not_a_report_about_a_vm_of_the_work_is_output(
    line: bytes,
) -> None:
    assert read_output(line + b"\n") == line.decode(errors="replace") + "\n"


LIMIT = b"x" * LONGEST_LINE


@pytest.mark.parametrize(
    ("chunks", "why"),
    [
        ([b'{"vm": "web-0", "detail": "', LIMIT, b'"}\n'], "is longer than 64 KiB"),
        ([b'{"vm": "web-0", "detail": "' + LIMIT + b'"}\n'], "is longer than 64 KiB"),
        ([b' { "status":"failed","detail":"', LIMIT, LIMIT], "is longer than 64 KiB"),
        ([b'{"vm": "web-0", "status": "fai'], "is not a complete JSON object"),
        ([b'{"vm": "web-0", "status": "failed"\nx\n'], "is not a complete JSON"),
        ([b'{"detail": \'no disk\', "vm": "web-0"}\n'], "is not a complete JSON"),
        ([b'\xef\xbb\xbf{"vm": "web-0", "status"\n'], "is not a complete JSON"),
        ([b'\x1b[0m{"vm": "web-0", "x": "', LIMIT], "is longer than 64 KiB"),
        ([b'{"vm": "web-9", "status": "failed"}\n'], "names an unknown VM"),
        ([b'{"t": 1, "vm": "web-9", "status": "done"}\n'], "names an unknown VM"),
        ([b'{"status": "failed"}\n'], "names an unknown VM"),
        ([b'{"vm": 1, "status": "done"}\n'], "names an unknown VM"),
        ([b'{"vm": "web-0", "status": "error"}\n'], "has a status other than"),
        ([b'{"vm": "web-0", "status": ["done"]}\n'], "has a status other than"),
        ([b'{"vm": "web-0", "state": "failed"}\n'], "has a status other than"),
        (
            [b'{"vm":\x1b[2J"web-0"}\n'],
            'is not a complete JSON object: {"vm":\ufffd[2J',
        ),
    ],
)
def test_report_that_cannot_be_read_is_noted(chunks: list[bytes], why: str) -> None:
    reader = a_reader()
    assert not [report for chunk in chunks for report in reader.feed(chunk)]
    assert not [*reader.end()]
    assert reader.unreadable.startswith(f"a report from the script {why}")
    assert len(reader.unreadable) < 200


@pytest.mark.parametrize(
    "line",
    [
        b"{" + LIMIT,
        LIMIT + b'{"vm": "web-0"',
        b'{"level": "info", "vm"',
        b'{"level": "info", "vm": "web-0", "message": "failed"}',
        b'{"message": "GET /", "status": 200}',
        b'x {"vm": "web-0", "status": "fai',
    ],
)
def test_other_output_is_not_an_unreadable_report(line: bytes) -> None:
    reader = a_reader()
    for chunk in (line[:70_000], line[70_000:], b"\n", *[LIMIT] * 3):
        assert not [*reader.feed(chunk)]
    assert not [*reader.end()]
    assert not reader.unreadable


def test_a_vm_that_is_done_stays_done() -> None:
    reader = a_reader()
    assert len([*reader.feed(DONE + FAILED + DONE)]) == 1
    assert reader.output == (FAILED + DONE).decode()


def test_failed_vm_may_still_become_done() -> None:
    assert [report["failed"] for report in read_reports(FAILED + FAILED + DONE)] == [
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("detail", "text"),
    [
        (None, ""),
        (3, "3"),
        ("  two\nlines ", "two\nlines"),
        ("a\x1b[2J\0b", "a\ufffd[2J\ufffdb"),
        ("\ud800", "?"),
        ("x" * 5000, "x" * LONGEST_DETAIL),
    ],
)
def test_detail_is_plain_and_short(detail: object, text: str) -> None:
    line = json.dumps({"vm": "web-0", "status": "failed", "detail": detail})
    (report,) = read_reports(line.encode() + b"\n")
    assert report["detail"] == text


# --- output ------------------------------------------------------------------


def test_only_the_end_of_the_output_is_kept() -> None:
    lines = b"".join(b"line %d\n" % number for number in range(100_000))
    assert read_output(lines) == lines[-MOST_OUTPUT:].decode()


def test_stderr_is_kept_in_the_order_it_arrived() -> None:
    reader = a_reader()
    assert not [*reader.feed(b"one\n")]
    reader.keep(b"two\n" + DONE)
    assert not [*reader.feed(b"three\n")]
    assert reader.output == "one\ntwo\n" + DONE.decode() + "three\n"


def test_binary_output_becomes_text() -> None:
    text = read_output(bytes(range(256)) * 300)
    assert text.isprintable() or set(text) - {"\n", "\t"}
    assert "\0" not in text
    assert "\x1b" not in text


def test_line_that_is_too_long_is_not_a_report() -> None:
    long = b'{"vm": "web-0", "status": "done", "detail": "%s"}\n' % (
        b"x" * LONGEST_LINE
    )
    chunks = [long[i : i + 10_000] for i in range(0, len(long), 10_000)]
    reader = a_reader()
    assert not [report for chunk in chunks for report in reader.feed(chunk)]
    assert len([*reader.feed(DONE)]) == 1


def test_end_of_a_line_that_is_too_long_is_not_a_report() -> None:
    reader = a_reader()
    assert not [*reader.feed(b"x" * (LONGEST_LINE + 1))]
    assert not [*reader.feed(DONE)]
    assert len([*reader.feed(DONE)]) == 1


@pytest.mark.parametrize(
    "chunk",
    [b"x" * 65536, b"y\n" * 32768, (b"{" + b"x" * 1022 + b"\n") * 64, b"\0" * 65536],
    ids=["one line", "many lines", "nearly reports", "zeros"],
)
def test_memory_is_bounded_whatever_is_printed(chunk: bytes) -> None:
    reader = a_reader()
    tracemalloc.start()
    for _ in range(100):
        assert not [*reader.feed(chunk)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
    assert len(reader.output) <= MOST_OUTPUT
