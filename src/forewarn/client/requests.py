"""The client's requests, as values that include their timeout."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from forewarn import __version__
from forewarn.errors import InvalidInput
from forewarn.formats import is_utf8
from forewarn.protocol.codec import encode_start_requests
from forewarn.protocol.types import ScheduledEvent

DAY = 86_400.0  # seconds; the longest wait and the limit for sockets and locks

_EVENTS = "/metadata/scheduledevents"
_INSTANCE = "/metadata/instance"

_COMMON_HEADERS: Mapping[str, str] = {
    "Metadata": "true",
    "Accept": "application/json",
    "User-Agent": f"forewarn/{__version__}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRequest:
    """One HTTP request."""

    method: str
    path: str  # after the endpoint's prefix
    timeout: float  # seconds, from the first byte sent to the last byte received
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


def for_document(
    version: str, *, tag: str | None, wait: float | None, timeout: float
) -> ClientRequest:
    """Build a request for the document.

    With `tag`, the service responds with 304 if the document still has that tag. With
    `wait`, it may hold the request for up to that many seconds until something changes.
    """
    headers = dict(_COMMON_HEADERS)
    if tag is not None:
        if not (tag.isascii() and tag.isprintable()):
            raise InvalidInput(f"a tag must be printable ASCII, not {tag!r}")
        headers["If-None-Match"] = tag
    if wait is not None:
        if not 0 <= wait <= DAY:
            raise InvalidInput(f"wait must be from 0 to {DAY:.0f} seconds")
        headers["Prefer"] = f"wait={round(wait)}"
    return ClientRequest(
        method="GET",
        path=f"{_EVENTS}?api-version={checked_version(version)}",
        timeout=timeout + (wait or 0.0),
        headers=headers,
    )


def for_approval(
    version: str, events: Sequence[ScheduledEvent | str], *, timeout: float
) -> ClientRequest:
    """Build a request that approves `events`, given as events or as IDs."""
    ids = [event if isinstance(event, str) else event.id for event in events]
    if not ids or not all(ids):
        raise InvalidInput("no event to approve; pass at least one event ID")
    for event in ids:
        if not is_utf8(event):
            raise InvalidInput(f"invalid event ID: {event!r}")
    return ClientRequest(
        method="POST",
        path=f"{_EVENTS}?api-version={checked_version(version)}",
        timeout=timeout,
        headers={**_COMMON_HEADERS, "Content-Type": "application/json"},
        body=encode_start_requests(dict.fromkeys(ids)),
    )


def for_instance(version: str, *, timeout: float) -> ClientRequest:
    """Build a request for this VM's instance metadata."""
    return ClientRequest(
        method="GET",
        path=f"{_INSTANCE}?api-version={checked_version(version)}",
        timeout=timeout,
        headers=_COMMON_HEADERS,
    )


def checked_version(version: str) -> str:
    """Return `version` if it is safe in a query; otherwise raise `InvalidInput`."""
    plain = version.replace("-", "")
    if not (plain.isascii() and plain.isalnum()):
        raise InvalidInput(
            f"invalid api-version {version!r}; for example, use 2020-07-01"
        )
    return version
