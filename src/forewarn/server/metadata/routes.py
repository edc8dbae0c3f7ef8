"""Routes of the metadata plane, determined only by a request's head.

Errors are detected in this order: X-Forwarded-For, a page in a browser, Host, the
Metadata header, the path, the method, and the api-version.

A page can make its own name resolve to this service (DNS rebinding) to read and approve
events of the VM in which the browser runs. Browsers then send the page's name as Host
and send Origin with every POST. They may omit Origin and Sec-Fetch-Site from a GET.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import TypeAlias

from forewarn.protocol.versions import INSTANCE_VERSIONS, VERSIONS, ApiVersion
from forewarn.server.metadata import instance
from forewarn.server.metadata.instance import ReadInstance
from forewarn.server.metadata.stats import DocumentCount
from forewarn.server.metadata.transport.requests import Request
from forewarn.server.metadata.transport.responses import Response, error

#: The first version; also the meaning of `latest`, where that is accepted.
OLDEST = "2017-03-01"

_HEADER_MISSING = error(400, "Bad request: . Required metadata header not specified")
_FORWARDED = error(400, "Bad request. Requests must not be forwarded by a proxy")
_FROM_PAGE = error(400, "Bad request. Requests must not come from a web page")
_REPEATED = error(400, "Bad request. A query parameter is given more than once")
_NOT_FOUND = error(404, "Not found")
_MAX_WAIT = 60  # seconds

_EVENTS = "scheduledevents"
_METHODS: Mapping[str, tuple[str, ...]] = {
    _EVENTS: ("GET", "POST"),
    "instance": ("GET",),
    "versions": ("GET",),
}
_WITH_LATEST: Mapping[str, ApiVersion] = {**VERSIONS, "latest": VERSIONS[OLDEST]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """A response that depends only on the request."""

    response: Response


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDocument:
    """Read the document, unless its tag is in `tags`."""

    vm: str | None  # None for the VM at the caller's address
    version: ApiVersion
    counter: DocumentCount = field(compare=False)  # counts the responses
    tags: frozenset[str]
    any_tag: bool = False  # `If-None-Match: *`
    wait: int = 0  # seconds to hold while the tag is in `tags`
    preference: bytes = b""  # the Preference-Applied line
    lines: bytes = b""  # the Connection line, then `preference`


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproveEvents:
    """Approve the events listed in the body."""

    vm: str | None  # None for the VM at the caller's address


Route: TypeAlias = Fixed | ReadDocument | ApproveEvents | ReadInstance


def route(
    request: Request,
    counters: Mapping[str, DocumentCount],
    *,
    is_open: bool,
    takes_latest: bool = False,
    hosts: Set[str] = frozenset(),
) -> Route:
    """Return the route of `request`, determined only by the request's head.

    `counters`, keyed by version, count the responses that contain a document. `hosts`
    contains this service's names besides addresses and names without a dot; `*` means
    any name.
    """
    refused = _refused_sender(request, hosts)
    if refused is not None:
        return Fixed(response=refused)
    supported = _WITH_LATEST if takes_latest else VERSIONS
    vm, parts = _split_path(request.path, is_open=is_open)
    parts, versions = _requested_versions(request, parts, takes_latest=takes_latest)
    has_header = request.has_metadata_header
    if not has_header and not _is_exempt(request, parts, versions, supported):
        return Fixed(response=_HEADER_MISSING)
    if not parts or parts[0] not in _METHODS or (parts[1:] and parts[0] != "instance"):
        return Fixed(response=_NOT_FOUND)
    allowed = _METHODS[parts[0]]
    if request.method not in allowed:
        allow = ", ".join(allowed)
        text = f"Method not allowed: {request.method}; allowed are {allow}"
        return Fixed(response=error(405, text, Allow=allow))
    names = {name.lower() for name, _ in request.query}
    if len(names) < len(request.query) or len(versions) > 1:
        return Fixed(response=_REPEATED)
    if parts[0] == "versions":
        return Fixed(response=instance.versions())
    version = versions[0] if versions else ""
    if parts[0] == "instance":
        return _instance_route(request, vm, tuple(parts[1:]), version)
    return _events_route(request, vm, supported.get(version), counters)


def _refused_sender(request: Request, hosts: Set[str]) -> Response | None:
    """Return the refusal if a proxy or a web page may have sent `request`."""
    if request.is_forwarded:
        return _FORWARDED
    if request.is_from_page:
        return _FROM_PAGE
    host = request.host or ""
    last_label = host.rpartition(".")[2]
    if last_label == host or host.startswith("[") or last_label.isdecimal():
        return None  # a name that nobody can register, or an address
    if host in hosts or "*" in hosts:
        return None
    return error(
        400,
        f"Bad request. {host} is not a known name for this service; use the"
        " service's address, or start the service with --metadata-host NAME",
    )


def labels_of(
    request: Request, *, is_open: bool, takes_latest: bool
) -> tuple[str, str]:
    """Return the route and api-version labels for any `request`, valid or not.

    The number of distinct labels is bounded.
    """
    supported = _WITH_LATEST if takes_latest else VERSIONS
    _, parts = _split_path(request.path, is_open=is_open)
    parts, versions = _requested_versions(request, parts, takes_latest=takes_latest)
    route_label = parts[0] if parts and parts[0] in _METHODS else "other"
    version = supported.get(versions[0]) if versions else None
    if version is not None:
        return route_label, version.name
    return route_label, "other" if versions else "none"


def _split_path(path: str, *, is_open: bool) -> tuple[str | None, list[str]]:
    """Split the path into the VM it names and the part after /metadata."""
    parts = [part for part in path.split("/") if part]
    vm = None
    if is_open and len(parts) >= 2 and parts[0].lower() == "vm":
        vm, parts = parts[1], parts[2:]
    if not parts or parts[0].lower() != "metadata":
        return vm, []
    rest = parts[1:]
    return vm, [rest[0].lower(), *rest[1:]] if rest else []


def _requested_versions(
    request: Request, parts: list[str], *, takes_latest: bool
) -> tuple[list[str], list[str]]:
    """Return the path without a version, and all versions in the request."""
    versions = [value for name, value in request.query if name.lower() == "api-version"]
    has_version = takes_latest and len(parts) == 2 and parts[0] in _WITH_LATEST
    if has_version and parts[1].lower() == _EVENTS:  # the form before 2017-03-01
        return [_EVENTS], [parts[0], *versions]
    return parts, versions


def _is_exempt(
    request: Request,
    parts: list[str],
    versions: list[str],
    supported: Mapping[str, ApiVersion],
) -> bool:
    """Return whether the Metadata header may be missing."""
    if request.method != "POST" or parts != [_EVENTS] or len(versions) != 1:
        return False
    version = supported.get(versions[0])
    return version is not None and not version.header_on_post


def _instance_route(
    request: Request, vm: str | None, path: tuple[str, ...], version: str
) -> Route:
    if version not in INSTANCE_VERSIONS:
        return Fixed(response=_unknown_version(INSTANCE_VERSIONS))
    form = next((v for n, v in request.query if n.lower() == "format"), "json")
    return ReadInstance(vm=vm, path=path, version=version, form=form.lower())


def _events_route(
    request: Request,
    vm: str | None,
    version: ApiVersion | None,
    counters: Mapping[str, DocumentCount],
) -> Route:
    if version is None:
        return Fixed(response=_unknown_version(tuple(VERSIONS)))
    if request.method == "POST":
        return ApproveEvents(vm=vm)
    return _document_route(request, vm, version, counters[version.name])


def _document_route(
    request: Request, vm: str | None, version: ApiVersion, counter: DocumentCount
) -> ReadDocument:
    listed = [part.strip() for part in (request.if_none_match or "").split(",")]
    tags = frozenset(_parse_tag(tag) for tag in listed if tag)
    wait, preference = 0, b""
    if tags and request.wait is not None:  # without a tag, there is nothing to wait for
        wait = min(request.wait, _MAX_WAIT)
        preference = f"Preference-Applied: wait={wait}\r\n".encode()
    return ReadDocument(
        vm=vm,
        version=version,
        counter=counter,
        tags=tags,
        any_tag="*" in listed,
        wait=wait,
        preference=preference,
        lines=request.connection + preference,
    )


def _unknown_version(supported: tuple[str, ...]) -> Response:
    newest = ", ".join(f'"{name}"' for name in reversed(supported[-3:]))
    text = (
        '{ "error": "Bad request. api-version is invalid or was not specified in the'
        ' request. For more information refer to aka.ms/azureimds", '
        f'"newest-versions": [ {newest} ] }}'
    )
    return Response(400, text.encode())


def _parse_tag(text: str) -> str:
    """Parse an entity tag, which may be quoted, bare or weak."""
    return text.removeprefix("W/").strip('"')
