"""A tape: what a metadata service has answered over time, as lines of JSON.

Rules of this file:

1. The first line is the header; each other says what is different from then on.
2. Times are seconds of the service's clock since the tape began. They never go back.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TypeAlias, assert_never

#: The version of the format.
VERSION = 1


# --- what is on it -----------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a tape is of."""

    began: datetime  # by the service's clock, a whole second
    api_version: str
    recorded_with: str = ""
    endpoint: str | None = None  # None: it is not told
    vm: str | None = None  # beside which VM it was; None: the service did not say
    is_scrubbed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """From now on this is answered."""

    after: float
    document: Mapping[str, object] | None  # None: a body without a byte
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """From now on there is no document to be had, or again the last one."""

    after: float
    what: str | None  # a status, or why there is no answer; None: it is over
    says: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """Nobody recorded until now."""

    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """Whoever recorded has ended."""

    after: float


Line: TypeAlias = Showing | Trouble | Resumed | End


@dataclass(frozen=True, slots=True, kw_only=True)
class Tape:
    """A header, and what has happened since."""

    header: Header
    lines: Sequence[Line] = ()
    is_cut: bool = False  # its last line breaks off

    @property
    def showings(self) -> Sequence[Showing]:
        """Every answer that was different from the one before."""
        return [each for each in self.lines if isinstance(each, Showing)]

    @property
    def length(self) -> float:
        """How many seconds of the service's clock it lasts."""
        return self.lines[-1].after if self.lines else 0.0


# --- writing -----------------------------------------------------------------


def write_header(header: Header) -> str:
    """Write the first line."""
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
    """Write one line of a tape that `began` then."""
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
            said = {"says": line.says} if line.says else {}
            return {"trouble": line.what, **said}
        case Resumed():
            return {"resumed": True}
        case End():
            return {"end": True}
        case _:
            assert_never(line)


def _line(plain: Mapping[str, object]) -> str:
    # Escaped: a document may have halves of characters, which no file can hold.
    return json.dumps(plain, separators=(",", ":")) + "\n"


def _written(moment: datetime) -> str:
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace(".000", "").replace("+00:00", "Z")
