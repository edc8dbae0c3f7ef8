"""Recording format: a service's responses over time, as lines of JSON.

1. The first line is the header. Each later line is a change.
2. Times are in seconds on the service's clock since the recording began and never
   decrease.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import TypeAlias, assert_never

from forewarn.errors import FaultyFile, Malformed
from forewarn.protocol.codec import decode, iso8601, parse_date, rfc1123
from forewarn.protocol.versions import NEWEST

#: The version of the format.
VERSION = 1

#: Keys in recordings from earlier versions and their current names.
_FORMERLY = {"tape": "recording", "trouble": "failure", "says": "message"}

_LONGEST = 100 * 365 * 86_400.0  # seconds; larger values overflow dates
_YEARS = range(1970, 9000)
_NOT_BEFORE = "NotBefore"


# --- lines -------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingHeader:
    """The origin of a recording."""

    began: datetime  # on the service's clock, in whole seconds
    api_version: str
    recorded_with: str = ""
    endpoint: str | None = None  # None if not recorded
    vm: str | None = None  # the VM that made the recording; None if unknown
    is_scrubbed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedDocument:
    """The service now returns this response."""

    after: float
    document: Mapping[str, object] | None  # None for an empty body
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedFailure:
    """Requests now fail, or a failure has ended and the last document applies again."""

    after: float
    what: str | None  # status, or cause of a missing response; None if it ended
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingResumed:
    """The recording resumed after an interruption."""

    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingEnd:
    """The recording ended."""

    after: float


Line: TypeAlias = RecordedDocument | RecordedFailure | RecordingResumed | RecordingEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A recording: its header and all other lines."""

    header: RecordingHeader
    lines: Sequence[Line] = ()
    is_cut: bool = False  # whether the last line is incomplete

    @property
    def documents(self) -> Sequence[RecordedDocument]:
        """All recorded responses; each differs from the one before it."""
        return [line for line in self.lines if isinstance(line, RecordedDocument)]

    @property
    def length(self) -> float:
        """The recording's duration in seconds on the service's clock."""
        return self.lines[-1].after if self.lines else 0.0


# --- writing -----------------------------------------------------------------


def write_header(header: RecordingHeader) -> str:
    """Return the first line."""
    plain = {
        "recording": VERSION,
        "recorded_with": header.recorded_with,
        "began": _format_time(header.began),
        "api_version": header.api_version,
        "endpoint": header.endpoint,
        "vm": header.vm,
        "scrubbed": header.is_scrubbed,
    }
    return _line({name: value for name, value in plain.items() if value is not None})


def write_line(line: Line, began: datetime) -> str:
    """Return one line of a recording that began at `began`."""
    date = began + timedelta(seconds=line.after)
    plain = {"after_seconds": round(line.after, 3), "date": _format_time(date)}
    return _line({**plain, **line_content(line)})


def line_content(line: Line) -> Mapping[str, object]:
    """Return a line's contents as JSON values, without its time."""
    match line:
        case RecordedDocument():
            return {
                "status": line.status,
                "headers": dict(line.headers),
                "document": line.document,
            }
        case RecordedFailure():
            details = {"message": line.message} if line.message else {}
            return {"failure": line.what, **details}
        case RecordingResumed():
            return {"resumed": True}
        case RecordingEnd():
            return {"end": True}
        case _:
            assert_never(line)


def _line(plain: Mapping[str, object]) -> str:
    # Escaped: a document may contain lone surrogates, which UTF-8 cannot encode.
    return json.dumps(plain, separators=(",", ":")) + "\n"


def _format_time(moment: datetime) -> str:
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace(".000", "").replace("+00:00", "Z")


# --- parsing -----------------------------------------------------------------


def parse_recording(text: str, name: str) -> Recording:
    """Parse a recording; `name` identifies it in error messages."""
    complete, _, rest = text.rpartition("\n")
    if rest and _is_json(rest):  # only its line end is missing
        complete, rest = text, ""
    others = _split_lines(complete)
    try:
        header = _parse_header(next(others))
    except Malformed as error:
        raise FaultyFile(f"{name}:1: {error}") from error
    lines: list[Line] = []
    for number, line_text in enumerate(others, 2):
        try:
            line = _parse_line(line_text, lines[-1].after if lines else 0.0)
        except Malformed as error:
            raise FaultyFile(f"{name}:{number}: {error}") from error
        if line is not None:
            lines.append(line)
    return Recording(header=header, lines=lines, is_cut=bool(rest))


def _split_lines(text: str) -> Iterator[str]:
    """Yield lines one by one; a list of all lines would use much more memory."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _parse_header(text: str) -> RecordingHeader:
    plain = _parse_object(text)
    if plain.get("recording") != VERSION:
        raise Malformed(
            f"the first line is not a header in recording format {VERSION}; either"
            " the file is not a recording, or a newer version of forewarn created"
            " it"
        )
    return RecordingHeader(
        began=_time(plain.get("began")),
        api_version=_text(plain, "api_version") or NEWEST.name,
        recorded_with=_text(plain, "recorded_with") or "",
        endpoint=_text(plain, "endpoint"),
        vm=_text(plain, "vm"),
        is_scrubbed=plain.get("scrubbed") is True,
    )


def _parse_line(text: str, before: float) -> Line | None:
    """Parse a line; `before` is the time of the previous line.

    Return None if the line is blank or of an unknown kind.
    """
    if not text.strip():
        return None
    plain = _parse_object(text)
    after = _seconds(plain.get("after_seconds"))
    if after < before:
        raise Malformed("after_seconds is lower than on the previous line")
    if "document" in plain:
        status = plain.get("status", 200)
        return RecordedDocument(
            after=after,
            document=_document(plain["document"]),
            status=status if isinstance(status, int) else 200,
            headers=_headers(plain.get("headers")),
        )
    if "failure" in plain:
        message = _text(plain, "message") or ""
        what = _text(plain, "failure")
        return RecordedFailure(after=after, what=what, message=message)
    if "resumed" in plain:
        return RecordingResumed(after=after)
    return RecordingEnd(after=after) if "end" in plain else None


def _parse_object(text: str) -> Mapping[str, object]:
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed("the line is not valid JSON") from error
    if not isinstance(plain, dict):
        raise Malformed("the line is not a JSON object")
    return {_FORMERLY.get(name, str(name)): value for name, value in plain.items()}


def _document(value: object) -> Mapping[str, object] | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Malformed("document must be an object or null")
    # Older versions recorded objects without Events as empty documents.
    document = value if value.get("Events") else {**value, "Events": []}
    decode(json.dumps(document).encode())  # raises if it is not a document
    return document


def _headers(value: object) -> Mapping[str, str]:
    pairs = value.items() if isinstance(value, dict) else ()
    return {str(name): str(text) for name, text in pairs}


def _seconds(value: object) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    number = float(str(value)) if is_number else -1.0
    if not (isfinite(number) and 0 <= number <= _LONGEST):
        raise Malformed("after_seconds must be a number of seconds")
    return number


def _time(value: object) -> datetime:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None or moment.year not in _YEARS:
        raise Malformed("`began` must be a time such as 2026-01-31T12:00:00Z")
    return moment.astimezone(UTC)


def _text(plain: Mapping[str, object], name: str) -> str | None:
    value = plain.get(name)
    if value is not None and not isinstance(value, str):
        raise Malformed(f"{name} must be a string")
    return value


# --- shifting in time --------------------------------------------------------


def shift_document(
    document: Mapping[str, object], by: timedelta
) -> Mapping[str, object]:
    """Shift every NotBefore in `document`; leave other values unchanged."""
    listed = document.get("Events")
    if not isinstance(listed, list):
        return document
    return {**document, "Events": [_shift_event(event, by) for event in listed]}


def _shift_event(event: object, by: timedelta) -> object:
    if not isinstance(event, dict):
        return event
    moved = shift_time(event.get(_NOT_BEFORE), by)
    return event if moved is None else {**event, _NOT_BEFORE: moved}


def shift_time(value: object, by: timedelta) -> str | None:
    """Shift a time in a document; return None if it is invalid or goes out of range."""
    moment = parse_date(value)
    if moment is None:
        return None
    try:
        moved = moment + by
    except OverflowError:
        return None
    is_iso = str(value).strip()[:1].isdigit()
    return iso8601(moved) if is_iso else rfc1123(moved)
