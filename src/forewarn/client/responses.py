"""Parsed responses from the service: a document, an instance or an error."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC

from forewarn.client.service_clock import ClockEstimate
from forewarn.client.transport.http1 import HttpResponse
from forewarn.errors import Malformed, Misunderstood, Refused
from forewarn.protocol.codec import decode, parse_date, parse_json
from forewarn.protocol.types import Document

_NOT_MODIFIED = 304
_YEARS = range(1970, 9000)  # of a plausible clock; later dates could overflow

#: Hints for error statuses.
_ADVICE = {
    400: "bad request; retrying will not help",
    403: "a firewall or proxy in front of the service may have rejected the request;"
    " check that this VM is in the service's fleet",
    404: "the service does not know this VM, or is not a metadata service",
    405: "this is not a metadata service",
    410: "the service is being updated; retry in a minute",
    429: "this VM is sending too many requests; poll less often",
}
_REDIRECT = (
    "metadata services do not redirect; check the endpoint, and check whether a"
    " proxy responded instead"
)

#: The path of each field within `compute`.
_COMPUTE_PATHS: Mapping[str, tuple[str, ...]] = {
    "vm_id": ("vmId",),
    "computer_name": ("osProfile", "computerName"),
    "location": ("location",),
    "zone": ("zone",),
    "resource_group": ("resourceGroupName",),
    "subscription": ("subscriptionId",),
    "resource_id": ("resourceId",),
    "scale_set": ("vmScaleSetName",),
    "placement_group": ("placementGroupId",),
    "update_domain": ("platformUpdateDomain",),
    "fault_domain": ("platformFaultDomain",),
    "size": ("vmSize",),
    "priority": ("priority",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One response to a GET of the document."""

    document: Document | None  # None if unchanged since the tag that was sent
    tag: str | None  # for the next request; None if the service sends no ETag
    is_held: bool  # whether the service supports long polls
    is_blank: bool = False  # an empty body: no events or no change
    reckoning: ClockEstimate | None = None  # None if the response had no date
    # The raw status, headers and body; None if no request was sent.
    answer: HttpResponse | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """This VM's metadata; fields that the service does not report are empty.

    `raw` contains everything that was received.
    """

    name: str  # as in the resources of events
    vm_id: str = ""
    computer_name: str = ""  # its hostname
    location: str = ""
    zone: str = ""
    resource_group: str = ""
    subscription: str = ""
    resource_id: str = ""
    scale_set: str = ""
    placement_group: str = ""
    update_domain: str = ""
    fault_domain: str = ""
    size: str = ""
    priority: str = ""  # Spot, Regular
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)
    addresses: tuple[str, ...] = ()  # private addresses, IPv4 before IPv6
    raw: Mapping[str, object] = field(default_factory=dict, compare=False, repr=False)


# --- responses ---------------------------------------------------------------


def reading_of(response: HttpResponse, endpoint: str) -> Reading:
    """Parse the response to a request for the document."""
    is_same = response.status == _NOT_MODIFIED
    if not is_same:
        check_status(response, endpoint)
    is_blank = not is_same and not response.body.strip()
    try:
        document = None if is_same else decode(response.body)
    except Malformed as error:
        raise _misunderstood(response, endpoint, str(error)) from error
    return Reading(
        document=document,
        tag=_tag(response.headers.get("etag")),
        is_held="wait" in response.headers.get("preference-applied", "").lower(),
        is_blank=is_blank,
        reckoning=clock_estimate_of(response),
        answer=response,
    )


def instance_of(response: HttpResponse, endpoint: str) -> Instance:
    """Parse the response to a request for the instance metadata."""
    check_status(response, endpoint)
    try:
        return instance_from(parse_json(response.body))
    except Malformed as error:
        raise _misunderstood(response, endpoint, str(error)) from error


def check_status(response: HttpResponse, endpoint: str) -> None:
    """Raise `Refused` unless the status is 2xx."""
    if 200 <= response.status < 300:
        return
    advice = _ADVICE.get(response.status, "")
    if 300 <= response.status < 400:
        advice = _REDIRECT
    elif response.status >= 500:
        advice = "the service failed; retry later"
    message = _error_message(response.body)
    sentence = f"{endpoint} returned {response.status}" + (
        f" ({message})" if message else ""
    )
    raise Refused(
        f"{sentence}: {advice}" if advice else sentence,
        response.status,
        retry_after=_retry_after(response),
    )


def _misunderstood(response: HttpResponse, endpoint: str, why: str) -> Misunderstood:
    kind = response.headers.get("content-type", "").split(";")[0].strip()
    if kind == "text/html" or response.body.lstrip()[:1] == b"<":
        return Misunderstood(
            f"{endpoint} returned a web page instead of JSON; check the endpoint,"
            " and check whether a proxy responded instead"
        )
    message = _error_message(response.body)
    return Misunderstood(
        f"{endpoint} returned an invalid response: {why}"
        + (f" ({message})" if message else "")
    )


def _error_message(body: bytes) -> str | None:
    """Return the error message in the body of an error response."""
    try:
        plain = json.loads(body)
    except (ValueError, RecursionError):
        return None
    message = plain.get("error") if isinstance(plain, dict) else None
    return message[:500] if isinstance(message, str) else None


def _tag(text: str | None) -> str | None:
    is_fit = text and text.isascii() and text.isprintable()
    return text if is_fit else None


# --- time --------------------------------------------------------------------


def clock_estimate_of(response: HttpResponse) -> ClockEstimate | None:
    """Estimate the service's clock from the Date header; None if it is unusable."""
    date = parse_date(response.headers.get("date"))
    if date is None or date.year not in _YEARS:
        return None
    rate = _rate(response.headers.get("forewarn-clock", "").strip().lower())
    return ClockEstimate(date=date.astimezone(UTC), at=response.at, rate=rate)


def _rate(text: str) -> float:
    if text == "manual":
        return 0.0
    try:
        rate = float(text)
    except ValueError:
        return 1.0
    return rate if 0 < rate < 1e9 else 1.0


def _retry_after(response: HttpResponse) -> float | None:
    """Return the seconds until the Retry-After header allows another attempt."""
    text = response.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdecimal():
        return float(text[:9])
    moment, estimate = parse_date(text), clock_estimate_of(response)
    if moment is None or estimate is None:
        return None
    return estimate.wait_until(moment, response.at)


# --- instance metadata -------------------------------------------------------


def instance_from(plain: object) -> Instance:
    """Parse the response from /metadata/instance; only the name is required."""
    compute = _at(plain, "compute")
    name = _text(_at(compute, "name"))
    if not isinstance(plain, dict) or not name:
        raise Malformed("the name of this VM (compute.name) is missing")
    texts = {
        field: _text(_at(compute, *path)) for field, path in _COMPUTE_PATHS.items()
    }
    return Instance(
        name=name,
        tags=_tags(compute),
        addresses=tuple(_addresses(plain)),
        raw=plain,
        **texts,
    )


def _tags(compute: object) -> Mapping[str, str]:
    """Parse the list of tags; before api-version 2019-06-04, tags are a string."""
    listed = _at(compute, "tagsList")
    if isinstance(listed, list):
        pairs = [(_text(_at(tag, "name")), _at(tag, "value")) for tag in listed]
        return {name: _text(value) for name, value in pairs if name}
    line = _text(_at(compute, "tags"))
    split = [tag.partition(":") for tag in line.split(";") if tag]
    return {name: value for name, _, value in split}


def _addresses(plain: object) -> list[str]:
    cards = _list(_at(plain, "network", "interface"))
    addresses = [
        _text(_at(entry, "privateIpAddress"))
        for family in ("ipv4", "ipv6")
        for card in cards
        for entry in _list(_at(card, family, "ipAddress"))
    ]
    return [address for address in addresses if address]


def _at(plain: object, *path: str) -> object:
    for name in path:
        plain = plain.get(name) if isinstance(plain, dict) else None
    return plain


def _text(value: object) -> str:
    return "" if value is None or isinstance(value, dict | list) else str(value)


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
