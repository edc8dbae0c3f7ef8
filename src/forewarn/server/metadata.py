"""What /metadata/... answers; pure: a request, a caller and the present stamp in,
bytes or the name of what must be done first out.

Errors are found in this order: X-Forwarded-For, the Metadata header, the path, the
method, the api-version, the caller's identity, the body.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from forewarn.core.facts import Sight
from forewarn.engine.notes import Notes
from forewarn.errors import Malformed
from forewarn.protocol.codec import decode_start_requests
from forewarn.protocol.versions import INSTANCE_VERSIONS, VERSIONS, ApiVersion, DateForm
from forewarn.server import instance
from forewarn.server.identity import Directory, Hearing, Seat
from forewarn.server.requests import Request
from forewarn.server.responses import Response, Stamp, error

_MARK_MISSING = error(400, "Bad request: . Required metadata header not specified")
_FORWARDED = error(400, "Bad request. Requests must not be forwarded by a proxy")
_REPEATED = error(400, "Bad request. A query parameter is given more than once")
_NOT_FOUND = error(404, "Not found")
_EXEMPT = "2017-03-01"  # its POSTs need no Metadata header

EVENTS = "scheduledevents"
_METHODS: Mapping[str, tuple[str, ...]] = {
    EVENTS: ("GET", "POST"),
    "instance": ("GET",),
    "versions": ("GET",),
}
_KNOWN: Mapping[str, tuple[str, ...]] = {
    EVENTS: tuple(VERSIONS),
    "instance": INSTANCE_VERSIONS,
}


# --- what a request asks for -------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """An answer that depends on nothing but the request."""

    response: Response


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDocument:
    """Read the document, unless its tag is one of `tags`."""

    vm: str | None  # None: whoever asks
    version: ApiVersion
    tags: frozenset[str]
    any_tag: bool = False  # whatever its tag is


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


def route(request: Request, *, is_open: bool) -> Route:
    """Find out what `request` asks for; a pure function of its head."""
    versions = [value for name, value in request.query if name.lower() == "api-version"]
    if request.is_forwarded:
        return Fixed(response=_FORWARDED)
    vm, parts = _place(request.path, is_open=is_open)
    exempt = request.method == "POST" and parts == [EVENTS] and versions == [_EXEMPT]
    if not request.is_marked and not exempt:
        return Fixed(response=_MARK_MISSING)
    if not parts or parts[0] not in _METHODS or (parts[1:] and parts[0] != "instance"):
        return Fixed(response=_NOT_FOUND)
    allowed = _METHODS[parts[0]]
    if request.method not in allowed:
        allow = ", ".join(allowed)
        text = f"Method not allowed: {request.method}; allowed are {allow}"
        return Fixed(response=error(405, text, Allow=allow))
    if len({name.lower() for name, _ in request.query}) < len(request.query):
        return Fixed(response=_REPEATED)
    if parts[0] == "versions":
        return Fixed(response=instance.versions())
    return _versioned(request, vm, parts, versions)


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


def _versioned(
    request: Request, vm: str | None, parts: list[str], versions: list[str]
) -> Route:
    known = _KNOWN[parts[0]]
    if not versions or versions[0] not in known:
        return Fixed(response=_unknown_version(known))
    if parts[0] == "instance":
        form = next((v for n, v in request.query if n.lower() == "format"), "json")
        return ReadInstance(
            vm=vm, path=tuple(parts[1:]), version=versions[0], form=form.lower()
        )
    if request.method == "POST":
        return ApproveEvents(vm=vm)
    tags = [part.strip() for part in (request.if_none_match or "").split(",")]
    return ReadDocument(
        vm=vm,
        version=VERSIONS[versions[0]],
        tags=frozenset(_tag(tag) for tag in tags if tag),
        any_tag="*" in tags,
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


# --- what must be done before the answer -------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Listen:
    """The group is silent: it has to begin listening, then the request is answered."""

    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Approve:
    """The events have to be approved, then the answer is empty."""

    vm: str
    events: tuple[str, ...]


Deferred: TypeAlias = Listen | Approve


class Desk:
    """Answers the requests of all callers."""

    def __init__(
        self,
        directory: Directory,
        notes: Notes,
        stamp: Stamp,
        *,
        date_form: DateForm | None = None,
    ) -> None:
        """Answer from `directory`; `date_form` is the one of 2017-03-01."""
        self.directory = directory
        self.stamp = stamp
        self._notes = notes
        self._date_forms = {_EXEMPT: date_form}

    def answer(self, request: Request, body: bytes, address: str) -> bytes | Deferred:
        """Answer the caller at `address`, or name what must be done first."""
        asked = request.route
        if type(asked) is ReadDocument:
            seat = self.directory.seat(address, asked.vm)
            if seat is not None and seat.shelf.hearing.stamp is self.stamp:
                return self._document(request, asked, seat)  # the hot path
        return self._answer(request, body, address)

    def _answer(self, request: Request, body: bytes, address: str) -> bytes | Deferred:
        asked = request.route = route(request, is_open=self.directory.is_open)
        if isinstance(asked, Fixed):
            return self.write(request, asked.response)
        seat = self.directory.seat(address, asked.vm)
        if seat is None:
            return self.write(request, _unknown(address, asked.vm))
        hearing = seat.shelf.hearing
        if isinstance(asked, ReadInstance):
            return self.write(request, instance.read(seat.vm, hearing.group, asked))
        if hearing.stamp is not self.stamp:
            if hearing.is_silent(self.stamp.now):
                return Listen(group=hearing.group.name)
            self._note_request(hearing)
        if isinstance(asked, ReadDocument):
            return self._document(request, asked, seat)
        return self._approve(request, seat, body)

    def write(self, request: Request, response: Response) -> bytes:
        """Write `response` to `request`."""
        return self.stamp.render(response, request.connection, is_head=request.is_head)

    def _note_request(self, hearing: Hearing) -> None:
        hearing.stamp = self.stamp
        hearing.asked = self.stamp.now
        self._notes.ask(hearing.group.name, self.stamp.now)

    def _document(self, request: Request, asked: ReadDocument, seat: Seat) -> bytes:
        shelf, stamp = seat.shelf, self.stamp
        if seat.seen_tag is not shelf.tag or seat.seen_version is not asked.version:
            self._note_sights(seat, asked.version)
        if asked.tags and (asked.any_tag or shelf.tag in asked.tags):
            return stamp.not_modified + request.connection + shelf.not_modified
        tail = shelf.tails.get(asked.version.name)
        if tail is None:
            form = self._date_forms.get(asked.version.name)
            tail = shelf.tail(asked.version, form)
        return stamp.ok + request.connection + tail

    def _note_sights(self, seat: Seat, version: ApiVersion) -> None:
        shown = [e for e in seat.shelf.document.events if e.type in version.types]
        if seat.seen_tag is not seat.shelf.tag:
            seat.seen &= {event.id for event in seat.shelf.document.events}
        seat.seen_tag, seat.seen_version = seat.shelf.tag, version
        for event in shown:
            if event.id not in seat.seen:
                seat.seen.add(event.id)
                self._notes.see(
                    Sight(event=event.id, vm=seat.vm.name, at=self.stamp.now)
                )

    def _approve(self, request: Request, seat: Seat, body: bytes) -> bytes | Deferred:
        try:
            events = decode_start_requests(body)
        except Malformed as problem:
            return self.write(request, error(400, f"Bad request. {problem}"))
        return Approve(vm=seat.vm.name, events=events)


def _unknown(address: str, vm: str | None) -> Response:
    if vm is not None:
        return error(404, f"Not found. There is no VM {vm}")
    return error(404, f"Not found. No VM of this fleet has the address {address}")
