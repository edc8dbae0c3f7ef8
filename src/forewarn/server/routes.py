"""What a request asks for; a pure function of its head.

Errors are found in this order: X-Forwarded-For, the Metadata header, the path, the
method, the api-version.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from forewarn.protocol.versions import INSTANCE_VERSIONS, VERSIONS, ApiVersion
from forewarn.server import instance
from forewarn.server.counts import Cell
from forewarn.server.requests import Request
from forewarn.server.responses import Response, error

#: The first version; what `latest` means, where that is taken.
OLDEST = "2017-03-01"

_MARK_MISSING = error(400, "Bad request: . Required metadata header not specified")
_FORWARDED = error(400, "Bad request. Requests must not be forwarded by a proxy")
_REPEATED = error(400, "Bad request. A query parameter is given more than once")
_NOT_FOUND = error(404, "Not found")
_LONGEST_WAIT = 60  # seconds

_EVENTS = "scheduledevents"
_METHODS: Mapping[str, tuple[str, ...]] = {
    _EVENTS: ("GET", "POST"),
    "instance": ("GET",),
    "versions": ("GET",),
}
_WITH_LATEST: Mapping[str, ApiVersion] = {**VERSIONS, "latest": VERSIONS[OLDEST]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """An answer that depends on nothing but the request."""

    response: Response


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDocument:
    """Read the document, unless its tag is one of `tags`."""

    vm: str | None  # None: whoever asks
    version: ApiVersion
    cell: Cell = field(compare=False)  # where it is counted
    tags: frozenset[str]
    any_tag: bool = False  # whatever its tag is
    wait: int = 0  # seconds that it may be held while its tag is one of `tags`
    preference: bytes = b""  # the line that says so
    lines: bytes = b""  # that, after the one about the connection


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproveEvents:
    """Approve the events named in the body."""

    vm: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadInstance:
    """Read instance metadata at `path`."""

    vm: str | None
    path: tuple[str, ...]
    version: str
    form: str


Route: TypeAlias = Fixed | ReadDocument | ApproveEvents | ReadInstance


def route(
    request: Request,
    cells: Mapping[str, Cell],
    *,
    is_open: bool,
    takes_latest: bool = False,
) -> Route:
    """Find out what `request` asks for; a pure function of its head.

    Documents are counted in `cells`, by version.
    """
    if request.is_forwarded:
        return Fixed(response=_FORWARDED)
    known = _WITH_LATEST if takes_latest else VERSIONS
    vm, parts = _place(request.path, is_open=is_open)
    parts, versions = _given(request, parts, takes_latest=takes_latest)
    if not request.is_marked and not _is_exempt(request, parts, versions, known):
        return Fixed(response=_MARK_MISSING)
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
        return _instance(request, vm, tuple(parts[1:]), version)
    return _events(request, vm, known.get(version), cells)


def counted_as(
    request: Request, *, is_open: bool, takes_latest: bool
) -> tuple[str, str]:
    """Name route and api-version of `request`, out of few; it may be a bad one."""
    known = _WITH_LATEST if takes_latest else VERSIONS
    _, parts = _place(request.path, is_open=is_open)
    parts, versions = _given(request, parts, takes_latest=takes_latest)
    asked = parts[0] if parts and parts[0] in _METHODS else "other"
    version = known.get(versions[0]) if versions else None
    if version is not None:
        return asked, version.name
    return asked, "other" if versions else "none"


def _place(path: str, *, is_open: bool) -> tuple[str | None, list[str]]:
    """Split the path into the VM it speaks for and what follows /metadata."""
    parts = [part for part in path.split("/") if part]
    vm = None
    if is_open and len(parts) >= 2 and parts[0].lower() == "vm":
        vm, parts = parts[1], parts[2:]
    if not parts or parts[0].lower() != "metadata":
        return vm, []
    rest = parts[1:]
    return vm, [rest[0].lower(), *rest[1:]] if rest else []


def _given(
    request: Request, parts: list[str], *, takes_latest: bool
) -> tuple[list[str], list[str]]:
    """Find the versions, and what of the path is not one of them."""
    versions = [value for name, value in request.query if name.lower() == "api-version"]
    is_old = takes_latest and len(parts) == 2 and parts[0] in _WITH_LATEST
    if is_old and parts[1].lower() == _EVENTS:  # as it was before 2017-03-01
        return [_EVENTS], [parts[0], *versions]
    return parts, versions


def _is_exempt(
    request: Request,
    parts: list[str],
    versions: list[str],
    known: Mapping[str, ApiVersion],
) -> bool:
    """Whether the Metadata header is not needed."""
    if request.method != "POST" or parts != [_EVENTS] or len(versions) != 1:
        return False
    version = known.get(versions[0])
    return version is not None and not version.header_on_post


def _instance(
    request: Request, vm: str | None, path: tuple[str, ...], version: str
) -> Route:
    if version not in INSTANCE_VERSIONS:
        return Fixed(response=_unknown_version(INSTANCE_VERSIONS))
    form = next((v for n, v in request.query if n.lower() == "format"), "json")
    return ReadInstance(vm=vm, path=path, version=version, form=form.lower())


def _events(
    request: Request,
    vm: str | None,
    version: ApiVersion | None,
    cells: Mapping[str, Cell],
) -> Route:
    if version is None:
        return Fixed(response=_unknown_version(tuple(VERSIONS)))
    if request.method == "POST":
        return ApproveEvents(vm=vm)
    return _reading(request, vm, version, cells[version.name])


def _reading(
    request: Request, vm: str | None, version: ApiVersion, cell: Cell
) -> ReadDocument:
    given = [part.strip() for part in (request.if_none_match or "").split(",")]
    tags = frozenset(_tag(tag) for tag in given if tag)
    wait, preference = 0, b""
    if tags and request.wait is not None:  # without a tag there is no change to await
        wait = min(request.wait, _LONGEST_WAIT)
        preference = f"Preference-Applied: wait={wait}\r\n".encode()
    return ReadDocument(
        vm=vm,
        version=version,
        cell=cell,
        tags=tags,
        any_tag="*" in given,
        wait=wait,
        preference=preference,
        lines=request.connection + preference,
    )


def _unknown_version(known: tuple[str, ...]) -> Response:
    newest = ", ".join(f'"{name}"' for name in reversed(known[-3:]))
    text = (
        '{ "error": "Bad request. api-version is invalid or was not specified in the'
        ' request. For more information refer to aka.ms/azureimds", '
        f'"newest-versions": [ {newest} ] }}'
    )
    return Response(400, text.encode())


def _tag(text: str) -> str:
    """Read a tag: quoted, bare or weak."""
    return text.removeprefix("W/").strip('"')
