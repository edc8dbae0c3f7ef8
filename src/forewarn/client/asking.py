"""What a client asks: each question as a value that says how long it may take."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from forewarn import __version__
from forewarn.errors import InvalidInput
from forewarn.protocol.codec import encode_start_requests
from forewarn.protocol.types import ScheduledEvent

DAY = 86_400.0  # seconds; nobody waits longer, and sockets and locks cannot

_EVENTS = "/metadata/scheduledevents"
_INSTANCE = "/metadata/instance"

_ALWAYS: Mapping[str, str] = {
    "Metadata": "true",
    "Accept": "application/json",
    "User-Agent": f"forewarn/{__version__}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request."""

    method: str
    path: str  # behind the endpoint's prefix
    timeout: float  # seconds, from the first byte sent to the last one received
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


def for_document(
    version: str, *, tag: str | None, wait: float | None, timeout: float
) -> Ask:
    """Ask for the document, or to be told when it is another than that of `tag`."""
    headers = dict(_ALWAYS)
    if tag is not None:
        headers["If-None-Match"] = _printable(tag, "a tag")
    if wait is not None:
        if not 0 <= wait <= DAY:
            raise InvalidInput("wait is a number of seconds, a day at most")
        headers["Prefer"] = f"wait={round(wait)}"
    return Ask(
        method="GET",
        path=f"{_EVENTS}?api-version={checked_version(version)}",
        timeout=timeout + (wait or 0.0),
        headers=headers,
    )


def for_approval(
    version: str, events: Sequence[ScheduledEvent | str], *, timeout: float
) -> Ask:
    """Ask that `events` may start; each is one of a document, or an id."""
    ids = [each if isinstance(each, str) else each.id for each in events]
    if not ids or not all(ids):
        raise InvalidInput("name at least one event to approve, by its id")
    for each in ids:
        if not _can_be_sent(each):
            raise InvalidInput(f"{each!r} is not the id of an event")
    return Ask(
        method="POST",
        path=f"{_EVENTS}?api-version={checked_version(version)}",
        timeout=timeout,
        headers={**_ALWAYS, "Content-Type": "application/json"},
        body=encode_start_requests(dict.fromkeys(ids)),
    )


def for_instance(version: str, *, timeout: float) -> Ask:
    """Ask what the service knows of this VM."""
    return Ask(
        method="GET",
        path=f"{_INSTANCE}?api-version={checked_version(version)}",
        timeout=timeout,
        headers=_ALWAYS,
    )


def checked_version(version: str) -> str:
    """Let nothing through that would not stay one value of the query."""
    plain = version.replace("-", "")
    if not (plain.isascii() and plain.isalnum()):
        raise InvalidInput(f"{version!r} is not an api-version; one is 2020-07-01")
    return version


def _printable(text: str, what: str) -> str:
    if not (text.isascii() and text.isprintable()):
        raise InvalidInput(f"{what} has characters that no header has: {text!r}")
    return text


def _can_be_sent(text: str) -> bool:
    """Whether it is text; what a shell hands on may be other bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
