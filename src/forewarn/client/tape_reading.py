"""Parser for recordings.

1. An incomplete last line is ignored: its writer was killed.
2. Unknown keys and unknown kinds of lines are ignored.
3. Everything else that is invalid is rejected with its line number.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from math import isfinite

from forewarn.client.tapes import (
    VERSION,
    End,
    Header,
    Line,
    Resumed,
    Showing,
    Tape,
    Trouble,
)
from forewarn.errors import FaultyFile, Malformed
from forewarn.protocol.codec import decode
from forewarn.protocol.versions import NEWEST

_LONGEST = 100 * 365 * 86_400.0  # seconds; beyond that, dates overflow
_YEARS = range(1970, 9000)


def read(text: str, name: str) -> Tape:
    """Parse a recording; `name` appears in errors."""
    written, _, rest = text.rpartition("\n")
    if rest and _is_json(rest):  # only its line end is missing
        written, rest = text, ""
    first, *others = written.split("\n")
    try:
        header = _header(_parse(first))
    except Malformed as error:
        raise FaultyFile(f"{name}:1: {error}") from error
    lines: list[Line] = []
    for number, line in enumerate(others, 2):
        try:
            lines += _some(line, lines[-1].after if lines else 0.0)
        except Malformed as error:
            raise FaultyFile(f"{name}:{number}: {error}") from error
    return Tape(header=header, lines=lines, is_cut=bool(rest))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _parse(text: str) -> Mapping[str, object]:
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed("this is not a line of JSON") from error
    if not isinstance(plain, dict):
        raise Malformed("this is not a JSON object")
    return plain


def _header(plain: Mapping[str, object]) -> Header:
    if plain.get("tape") != VERSION:
        raise Malformed(
            f'a tape begins with {{"tape": {VERSION}}}; is this one, and of a version'
            " that this forewarn knows?"
        )
    return Header(
        began=_moment(plain.get("began")),
        api_version=_text(plain, "api_version") or NEWEST.name,
        recorded_with=_text(plain, "recorded_with") or "",
        endpoint=_text(plain, "endpoint"),
        vm=_text(plain, "vm"),
        is_scrubbed=plain.get("scrubbed") is True,
    )


def _some(text: str, before: float) -> Iterator[Line]:
    """Parse a line that follows one at `before`; yield nothing for unknown kinds."""
    if not text.strip():
        return
    plain = _parse(text)
    after = _seconds(plain.get("after_seconds"))
    if after < before:
        raise Malformed("it goes back in time: after_seconds is less than before")
    if "document" in plain:
        status = plain.get("status", 200)
        yield Showing(
            after=after,
            document=_document(plain["document"]),
            status=status if isinstance(status, int) else 200,
            headers=_headers(plain.get("headers")),
        )
    elif "trouble" in plain:
        says = _text(plain, "says") or ""
        yield Trouble(after=after, what=_text(plain, "trouble"), says=says)
    elif "resumed" in plain:
        yield Resumed(after=after)
    elif "end" in plain:
        yield End(after=after)


def _document(value: object) -> Mapping[str, object] | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Malformed("document is neither an object nor null")
    decode(json.dumps(value).encode())  # raises if it is not a document
    return value


def _headers(value: object) -> Mapping[str, str]:
    pairs = value.items() if isinstance(value, dict) else ()
    return {str(name): str(text) for name, text in pairs}


def _seconds(value: object) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    number = float(str(value)) if is_number else -1.0
    if not (isfinite(number) and 0 <= number <= _LONGEST):
        raise Malformed("after_seconds is not a number of seconds")
    return number


def _moment(value: object) -> datetime:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None or moment.year not in _YEARS:
        raise Malformed("began is not a time such as 2026-01-31T12:00:00Z")
    return moment.astimezone(UTC)


def _text(plain: Mapping[str, object], name: str) -> str | None:
    value = plain.get(name)
    if value is not None and not isinstance(value, str):
        raise Malformed(f"{name} is not text")
    return value
