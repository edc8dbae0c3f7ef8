"""Format of a recording: a service's responses over time, as lines of JSON.

1. The first line is the header; each further line is a change from then on.
2. Times are seconds of the service's clock since the recording began. They never go
   back.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TypeAlias, assert_never

#: The version of the format.
VERSION = 1


# --- lines -------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The origin of a recording."""

    began: datetime  # by the service's clock, a whole second
    api_version: str
    recorded_with: str = ""
    endpoint: str | None = None  # None if it is not recorded
    vm: str | None = None  # where it was recorded; None if it is not known
    is_scrubbed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """The response from now on."""

    after: float
    document: Mapping[str, object] | None  # None for an empty body
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """A failure from now on, or its end: the last document is available again."""

    after: float
    what: str | None  # a status, or why there is no response; None if it is over
    says: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """Recording was interrupted until now."""

    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The recording ended."""

    after: float


Line: TypeAlias = Showing | Trouble | Resumed | End


@dataclass(frozen=True, slots=True, kw_only=True)
class Tape:
    """A recording: its header and all lines since."""

    header: Header
    lines: Sequence[Line] = ()
    is_cut: bool = False  # its last line is incomplete

    @property
    def showings(self) -> Sequence[Showing]:
        """Every response that differs from the one before."""
        return [line for line in self.lines if isinstance(line, Showing)]

    @property
    def length(self) -> float:
        """Its duration in seconds of the service's clock."""
        return self.lines[-1].after if self.lines else 0.0


# --- writing -----------------------------------------------------------------


def write_header(header: Header) -> str:
    """Return the first line."""
    plain = {
        "tape": VERSION,
        "recorded_with": header.recorded_with,
        "began": _written(header.began),
        "api_version": header.api_version,
        "endpoint": header.endpoint,
        "vm": header.vm,
        "scrubbed": header.is_scrubbed,
    }
    return _line({name: value for name, value in plain.items() if value is not None})


def write_line(line: Line, began: datetime) -> str:
    """Return one line of a recording that `began` then."""
    date = began + timedelta(seconds=line.after)
    plain = {"after_seconds": round(line.after, 3), "date": _written(date)}
    return _line({**plain, **_content(line)})


def _content(line: Line) -> Mapping[str, object]:
    match line:
        case Showing():
            return {
                "status": line.status,
                "headers": dict(line.headers),
                "document": line.document,
            }
        case Trouble():
            details = {"says": line.says} if line.says else {}
            return {"trouble": line.what, **details}
        case Resumed():
            return {"resumed": True}
        case End():
            return {"end": True}
        case _:
            assert_never(line)


def _line(plain: Mapping[str, object]) -> str:
    # Escaped: a document may contain lone surrogates, which UTF-8 cannot encode.
    return json.dumps(plain, separators=(",", ":")) + "\n"


def _written(moment: datetime) -> str:
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace(".000", "").replace("+00:00", "Z")
