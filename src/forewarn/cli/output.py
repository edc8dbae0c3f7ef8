"""Output: lines, tables, colors, times, durations, JSON and YAML."""

import argparse
import json
import os
import re
import select
import shutil
import stat
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import StringIO
from itertools import count
from threading import Thread
from typing import IO, Literal, TextIO, TypeAlias

from forewarn.errors import Unreachable
from forewarn.formats import clean, escape_controls
from forewarn.formats import format_duration as format_units

_GAP = "  "
_NARROWEST = 80  # columns; assumed to fit every terminal
_SLIMMEST = 6  # characters; narrowest width of a shortened column
_HARD_SPACE = "\xa0"  # lines are never broken at these
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_REFRESH = 2.0  # seconds between two updates with --watch
_CLEAR = "\x1b[H\x1b[2J"

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


# --- writing -----------------------------------------------------------------


def write(text: str) -> None:
    """Print `text` in its style, if it has one.

    Escape control characters and characters that cannot be encoded.
    """
    text = escape_controls(painted(text, text))
    if has_color(sys.stdout):
        text = text.translate(_PAINT)
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


def end_with_reader(stream: TextIO) -> None:
    """End the process with code 141 as soon as nothing can read the pipe `stream`.

    A command that waits would otherwise notice this only when it prints something.
    """
    try:
        pipe = stream.fileno()
        is_pipe = stat.S_ISFIFO(os.fstat(pipe).st_mode)
    except (OSError, ValueError):
        return  # not a file
    if is_pipe and hasattr(select, "poll"):  # not on Windows
        Thread(target=_end_with_reader, args=(pipe,), daemon=True).start()


def _end_with_reader(pipe: int) -> None:
    poll = select.poll()
    poll.register(pipe, 0)  # errors are always reported
    poll.poll()
    os._exit(141)


def write_json(plain: object, *, indent: int | None = 2) -> None:
    """Print `plain` as indented JSON, or on one line if `indent` is None."""
    text = json.dumps(plain, indent=indent, ensure_ascii=False)
    # JSON has its own escapes, which differ from those in `write`.
    write(text if _can_show(text) else json.dumps(plain, indent=indent))


def write_response(
    args: argparse.Namespace,
    plain: object,
    lines: Iterable[str],
    names: Iterable[str | None] = (),
) -> int:
    """Print a response in the chosen format; return exit code 0.

    `lines` are for people, and are consumed only if they are printed; `names` are for
    `-o name`.
    """
    output = getattr(args, "output", None)
    if output == "name":
        for name in filter(None, names):
            write(name)
    elif output == "yaml":
        write(yaml_text(plain))
    elif args.json:
        write_json(plain)
    else:
        for line in lines:
            write(line)
    return 0


def yaml_text(plain: object, indent: int = 0) -> str:
    """Format JSON values as YAML. All strings are quoted, as YAML reads some as other
    types.
    """
    margin = "  " * indent
    if isinstance(plain, Mapping) and plain:
        parts = [(f"{_yaml_key(name)}:", value) for name, value in plain.items()]
        return "\n".join(
            f"{margin}{key}{_nested(value, indent)}" for key, value in parts
        )
    if isinstance(plain, list) and plain:
        items = (yaml_text(item, indent + 1) for item in plain)
        return "\n".join(f"{margin}- {item.lstrip(' ')}" for item in items)
    return margin + json.dumps(plain, ensure_ascii=False).replace("\x7f", "\\u007f")


def _nested(value: object, indent: int) -> str:
    is_block = bool(value) and isinstance(value, Mapping | list)
    text = yaml_text(value, indent + 1 if is_block else 0)
    return f"\n{text}" if is_block else f" {text}"


def _yaml_key(name: str) -> str:
    return name if _PLAIN_KEY.fullmatch(name) else json.dumps(name)


# --- color and screens -------------------------------------------------------

Style: TypeAlias = Literal["red", "yellow", "green", "bold", "dim"]

_CODES: Mapping[Style, str] = {
    "red": "31",
    "yellow": "33",
    "green": "32",
    "bold": "1",
    "dim": "2",
}


#: Noncharacters that stand for styles until control characters have been escaped.
_RESET = "\ufdd0"
_MARKS: Mapping[Style, str] = {
    style: chr(0xFDD1 + number) for number, style in enumerate(_CODES)
}
_PAINT: Mapping[int, str] = {
    ord(_RESET): "\x1b[0m",
    **{ord(_MARKS[style]): f"\x1b[{code}m" for style, code in _CODES.items()},
}


class Styled(str):
    """Text of a table cell or a line, printed in a style on terminals with color."""

    __slots__ = ("style",)
    style: Style

    def __new__(cls, text: str, style: Style) -> "Styled":
        """Create a text that is printed in `style`."""
        styled = super().__new__(cls, text)
        styled.style = style
        return styled


def has_color(stream: TextIO) -> bool:
    """Return whether `stream` is a terminal with color, and NO_COLOR is not set."""
    return is_screen(stream) and not os.environ.get("NO_COLOR")


def is_screen(stream: IO[str]) -> bool:
    """Return whether `stream` is a terminal that understands control sequences."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def paint(text: str, style: Style, stream: TextIO) -> str:
    """Return `text` in `style` if `stream` is a terminal with color."""
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if has_color(stream) else text


def painted(text: str, source: str) -> str:
    """Apply the style of `source`, if there is one, to `text`."""
    if not isinstance(source, Styled) or not text.strip() or not has_color(sys.stdout):
        return text
    return f"{_MARKS[source.style]}{text}{_RESET}"


def watch_output(
    show: Callable[[], int], pause: Callable[[float], None] = time.sleep
) -> int:
    """Call `show` again and again, and print what it prints whenever that changes.

    Once something has been printed, continue even if the service restarts.
    """
    stream, shown = sys.stdout, None
    while True:
        capture = _Capture(stream)
        try:
            with redirect_stdout(capture):
                code = show()
        except Unreachable as error:
            if shown is None:
                raise
            if shown:
                write_error(f"{error}; retrying")
            shown = ""  # so that the output is printed again
            pause(_REFRESH)
            continue
        text = capture.getvalue()
        if text != shown:
            stream.write(f"{_CLEAR if is_screen(stream) else ''}{text}")
            stream.flush()
            shown = text
        if code:
            return code
        pause(_REFRESH)


class _Capture(StringIO):
    """Collects output as if it went to `stream`."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream

    def isatty(self) -> bool:
        return self._stream.isatty()

    @property
    def encoding(self) -> str:  # type: ignore[override]  # the stream's own
        return self._stream.encoding


def line_width() -> int:
    """Return the maximum width of a line."""
    return max(_NARROWEST, shutil.get_terminal_size().columns)


# --- tables ------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table."""

    title: str
    is_wide: bool = False  # shown only with -o wide
    is_fixed: bool = False  # never shortened


def table(
    columns: Sequence[Column | str],
    rows: Iterable[Sequence[str]],
    args: argparse.Namespace | None = None,
) -> str:
    """Format `rows`, each on one line.

    On a terminal, long cells are shortened to fit its width, unless `args` chooses
    the wide format. If the first column is only a title, it is never shortened. A
    column that is empty in every row is omitted.
    """
    is_wide = getattr(args, "output", None) == "wide"
    cells = [[_cleaned(cell) for cell in row] for row in rows]
    shown = [
        (column, [row[number] for row in cells])
        for number, column in enumerate(map(_column, columns, count()))
        if (is_wide or not column.is_wide) and any(row[number] for row in cells)
    ]
    room = None if is_wide or not _is_limited() else line_width()
    widths = _widths(shown, room)
    heads = [] if getattr(args, "no_headers", None) else [[c.title for c, _ in shown]]
    lines = [*heads, *zip(*(texts for _, texts in shown), strict=True)]
    return "\n".join(_line(line, widths) for line in lines)


def _column(column: Column | str, number: int) -> Column:
    return (
        Column(title=column, is_fixed=number == 0)
        if isinstance(column, str)
        else column
    )


def _cleaned(cell: str) -> str:
    return Styled(clean(cell), cell.style) if isinstance(cell, Styled) else clean(cell)


def _is_limited() -> bool:
    """Return whether lines must fit the width of a terminal."""
    return sys.stdout.isatty() or bool(os.environ.get("COLUMNS"))


def _widths(
    shown: Sequence[tuple[Column, Sequence[str]]], room: int | None
) -> Sequence[int]:
    """Return the width of each column; the widest columns are shortened first."""
    widths = [max(len(c.title), *map(len, texts)) for c, texts in shown]
    if room is None:
        return widths
    loose = [number for number, (column, _) in enumerate(shown) if not column.is_fixed]
    while sum(widths) + len(_GAP) * (len(widths) - 1) > room:
        widest = max(loose, key=lambda number: widths[number], default=None)
        if widest is None or widths[widest] <= _SLIMMEST:
            break
        widths[widest] -= 1
    return widths


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    parts = [
        painted(_shortened(cell, width).ljust(width), cell)
        for cell, width in zip(cells, widths, strict=True)
    ]
    return _GAP.join(parts).rstrip()


def _shortened(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    dots = "…" if _can_show("…") else "..."
    return text[: width - len(dots)] + dots


def fields(pairs: Iterable[tuple[str, str | None]]) -> str:
    """Format names and values, one pair per line; omit values that are None."""
    present = [(name, clean(value)) for name, value in pairs if value is not None]
    margin = len(_GAP) * 2 + max((len(name) for name, _ in present), default=0)
    lines = []
    for name, value in present:
        first, *rest = _wrap(value, line_width() - margin) or [""]
        lines.append(f"{_GAP}{name}".ljust(margin) + first)
        lines += [" " * margin + line for line in rest]
    return "\n".join(line.rstrip() for line in lines)


def paragraph(text: str, indent: int = 4) -> str:
    """Wrap `text` between words; indent all lines after the first."""
    filled = textwrap.fill(
        clean(text),
        line_width(),
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
