"""Terminal output: lines, plain-text tables, times, durations and JSON."""

import argparse
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from forewarn.formats import clean, escape_controls
from forewarn.formats import format_duration as format_units

_GAP = "  "
_NARROWEST = 80  # columns; assumed to fit every terminal
_SLIMMEST = 8  # characters; narrowest width of a column whose words are broken
_HARD_SPACE = "\xa0"  # lines are never broken at these

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


# --- writing -----------------------------------------------------------------


def write(text: str) -> None:
    """Print `text`; escape control characters and characters that cannot be encoded."""
    text = escape_controls(text)
    shown = text if _can_show(text) else "".join(map(_escaped, text))
    sys.stdout.write(f"{shown}\n")


def _can_show(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _escaped(character: str) -> str:
    """Escape a character that cannot be encoded, using TOML's syntax."""
    if _can_show(character):
        return character
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def write_error(text: str) -> None:
    """Print a sentence to standard error."""
    sys.stderr.write(f"forewarn: {clean(text)}\n")
    sys.stderr.flush()


def drop_output() -> None:
    """Discard unwritten output, so that the interpreter does not flush it at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return  # not a file, so nothing is left to flush


def write_json(plain: object, *, indent: int | None = 2) -> None:
    """Print `plain` as indented JSON, or on one line if `indent` is None."""
    text = json.dumps(plain, indent=indent, ensure_ascii=False)
    # JSON has its own escapes, which differ from those in `write`.
    write(text if _can_show(text) else json.dumps(plain, indent=indent))


def write_response(
    args: argparse.Namespace, plain: object, lines: Iterable[str]
) -> int:
    """Print `plain` if --json is set, otherwise `lines`; return exit code 0.

    With --json, `lines` is not consumed.
    """
    if args.json:
        write_json(plain)
    else:
        for line in lines:
            write(line)
    return 0


def columns() -> int:
    """Return the maximum width of a line."""
    return max(_NARROWEST, shutil.get_terminal_size().columns)


# --- tables ------------------------------------------------------------------


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Format `rows` below `header`, no wider than the terminal.

    A column that is empty in every row is omitted.
    """
    cells = [[clean(cell) for cell in row] for row in (header, *rows)]
    by_column = [column for column in zip(*cells, strict=True) if any(column[1:])]
    widths = _widths(by_column)
    rows_left = zip(*by_column, strict=True)
    return "\n".join(line for row in rows_left for line in _lines(row, widths))


def _widths(by_column: Sequence[Sequence[str]]) -> list[int]:
    widths = [max(map(len, column)) for column in by_column]
    words = [max(map(_longest_word, column)) for column in by_column]
    words[:1] = [word + len(_GAP) for word in words[:1]]  # see `_lines`
    room = columns() - len(_GAP) * (len(widths) - 1)
    while sum(widths) > room:
        loose = [i for i, width in enumerate(widths) if width > words[i]]
        # Words are broken only if wrapping between words is not enough. IDs, which are
        # in the first column, are broken only as a last resort.
        tight = [i for i, width in enumerate(widths) if i > 0 and width > _SLIMMEST]
        widest = max(loose or tight or [0], key=lambda i: widths[i])
        widths[widest] -= 1
    return widths


def _longest_word(cell: str) -> int:
    return max(map(len, cell.split(" ")))


def _lines(row: Sequence[str], widths: Sequence[int]) -> Iterable[str]:
    # Continuation lines in the first column are indented, so that they do not look like
    # new rows.
    wrapped = [
        _wrap(cell, width, indent="" if column else _GAP) or [""]
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    for number in range(max(map(len, wrapped))):
        parts = [
            (lines[number] if number < len(lines) else "").ljust(width)
            for lines, width in zip(wrapped, widths, strict=True)
        ]
        yield _GAP.join(parts).rstrip()


def fields(pairs: Iterable[tuple[str, str | None]]) -> str:
    """Format names and values, one pair per line; omit values that are None."""
    present = [(name, clean(value)) for name, value in pairs if value is not None]
    margin = len(_GAP) * 2 + max((len(name) for name, _ in present), default=0)
    lines = []
    for name, value in present:
        first, *rest = _wrap(value, columns() - margin) or [""]
        lines.append(f"{_GAP}{name}".ljust(margin) + first)
        lines += [" " * margin + line for line in rest]
    return "\n".join(line.rstrip() for line in lines)


def paragraph(text: str, indent: int = 4) -> str:
    """Wrap `text` between words; indent all lines after the first."""
    filled = textwrap.fill(
        clean(text),
        columns(),
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return filled.replace(_HARD_SPACE, " ")


def _wrap(text: str, width: int, indent: str = "") -> list[str]:
    """Wrap `text` to `width`; lines after the first start with `indent`."""
    short = len(text) <= width
    lines = (
        [text]
        if short
        else textwrap.wrap(
            text, width, break_on_hyphens=False, subsequent_indent=indent
        )
    )
    return [line.replace(_HARD_SPACE, " ") for line in lines]


def unbroken(text: str) -> str:
    """Replace spaces in `text` so that it is never wrapped."""
    return text.replace(" ", _HARD_SPACE)


# --- times -------------------------------------------------------------------


def format_time(time: datetime | None) -> str | None:
    """Format a time in UTC."""
    if time is None:
        return None
    return f"{time.astimezone(UTC).replace(tzinfo=None).isoformat(' ', 'seconds')}Z"


def format_when(time: datetime | None, now: datetime) -> str | None:
    """Format a time, both in UTC and relative to `now`, the service's time."""
    if time is None:
        return None
    return f"{format_time(time)} ({unbroken(format_distance(time, now))})"


def format_distance(time: datetime, now: datetime) -> str:
    """Format `time` relative to `now`, for example "in 5 min" or "2 h ago"."""
    seconds = round((time - now).total_seconds())
    if seconds == 0:
        return "now"
    shown = format_duration(_rounded(abs(seconds)))
    return f"in {shown}" if seconds > 0 else f"{shown} ago"


def _rounded(seconds: int) -> int:
    """Round to minutes from ten minutes up, and to hours from one day up."""
    step = 1 if seconds < 10 * _MINUTE else _MINUTE if seconds < _DAY else _HOUR
    return (seconds + step // 2) // step * step


def format_duration(seconds: int) -> str:
    """Format a duration without rounding, for example "1 d 2 h 30 min 5 s"."""
    return format_units(timedelta(seconds=seconds), units=4)
