"""The journal stream: server-sent events, resumed after a lost connection."""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from urllib.parse import urlencode

from forewarn.cli.api import ControlApi
from forewarn.cli.output import write_error
from forewarn.errors import Misunderstood, Refused, Unreachable

#: Seconds between attempts; the last value is repeated.
BACKOFF = (0, 1, 2, 5, 10, 30)

_TOO_MANY = 429
_SILENCE = 90.0  # seconds without data; the service sends a comment more often


def follow(
    api: ControlApi,
    after: int,
    pause: Callable[[float], None] = time.sleep,
    query: Sequence[tuple[str, str]] = (),
) -> Iterator[object]:
    """Yield all entries after position `after` that match `query`; never end."""
    path = f"/v1/stream?{urlencode(query)}" if query else "/v1/stream"
    attempt, has_followed = 0, False
    while True:
        try:
            with api.stream(path, after=after, timeout=_SILENCE) as lines:
                has_followed = True
                for id_, data in read(lines):
                    position = int(id_) if id_ and id_.isdecimal() else 0
                    if position > after:
                        after, attempt = position, 0
                        if data:
                            yield _entry(data)
        except Refused as refusal:
            # The service may not have noticed yet that the last stream ended.
            is_temporary = has_followed and refusal.status == _TOO_MANY
            if refusal.status < 500 and not is_temporary:
                raise
        except Unreachable:
            pass
        wait = BACKOFF[min(attempt, len(BACKOFF) - 1)]
        attempt += 1
        later = f" in {wait} s" if wait else ""
        write_error(f"connection lost after position {after}; retrying{later}")
        pause(wait)


def read(lines: Iterable[bytes]) -> Iterator[tuple[str | None, str]]:
    """Yield the ID and data of each server-sent event; drop an incomplete last one.

    The ID is None until an event has had one. An event without data only reports the
    journal position.
    """
    last: str | None = None
    has_id: bool = False  # whether `last` belongs to this event
    data: list[str] = []
    for raw in lines:
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if not line:
            if data or has_id:
                yield last, "\n".join(data)
            data, has_id = [], False
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "id":
            last, has_id = value, True
        elif name == "data":
            data.append(value)


def _entry(data: str) -> object:
    try:
        return json.loads(data)
    except ValueError as error:
        raise Misunderstood("the stream sent an entry that is not JSON") from error
