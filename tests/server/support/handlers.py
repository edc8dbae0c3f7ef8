"""Metadata handler without sockets: its fleet, documents and recorded requests."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tests.server.support.dialogs import ParsedResponse, a_request, read

from forewarn.core.fleet import VM, Audience, Enabling, Group, GroupKind
from forewarn.engine.observations import PendingObservations
from forewarn.engine.readers.documents import AudienceView, DocumentUpdate
from forewarn.protocol.types import (
    Document,
    EventSource,
    EventStatus,
    EventType,
    ScheduledEvent,
)
from forewarn.protocol.versions import DateForm
from forewarn.server.metadata.directory import Directory
from forewarn.server.metadata.handler import Deferred, MetadataHandler
from forewarn.server.metadata.limits import RateLimit
from forewarn.server.metadata.transport.requests import parse_head
from forewarn.server.metadata.transport.responses import ResponseHead

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)

EVENTS = "/metadata/scheduledevents?api-version=2020-07-01"

WEB = Group(name="web", kind=GroupKind.AVAILABILITY_SET, enabled=Enabling.ALWAYS)
#: A disabled group: none of its VMs has ever polled.
QUIET = Group(name="quiet", kind=GroupKind.AVAILABILITY_SET)

VMS = (
    VM(name="web-0", group="web", addresses=("10.0.0.1",)),
    VM(name="web-1", group="web", addresses=("10.0.0.2", "fd00::2")),
    VM(name="quiet-0", group="quiet", addresses=("10.0.0.3",)),
)


def an_event(
    id_: str = "E0",
    *,
    type_: EventType = EventType.REBOOT,
    status: EventStatus = EventStatus.SCHEDULED,
    resources: tuple[str, ...] = ("web-0",),
    paas: frozenset[str] = frozenset(),
) -> ScheduledEvent:
    started = status is EventStatus.STARTED
    return ScheduledEvent(
        id=id_,
        type=type_,
        status=status,
        resources=resources,
        not_before=None if started else NOON + timedelta(minutes=15),
        description="Host server is undergoing maintenance.",
        source=EventSource.PLATFORM,
        duration=9,
        paas=paas,
    )


def shown(
    group: Group = WEB,
    *events: ScheduledEvent,
    epoch: str = "e0",
    incarnation: int | None = None,
    vm: str | None = None,
) -> AudienceView:
    """Return an audience's view; the incarnation defaults to the number of events."""
    count = len(events) if incarnation is None else incarnation
    name = group.name if vm is None else f"{group.name}/{vm}"
    audience = Audience(
        name=name, group=group.name, vm=vm, epoch=epoch, incarnation=count
    )
    return AudienceView(
        audience=audience,
        group=group,
        document=Document(incarnation=count, events=events),
        tag=f"{epoch}.{count}",
    )


@dataclass(frozen=True, slots=True)
class HandlerHarness:
    """A handler that is easy to send requests to."""

    handler: MetadataHandler
    notes: PendingObservations

    def send(
        self,
        target: str = EVENTS,
        *headers: str,
        method: str = "GET",
        marked: bool = True,
        body: bytes = b"",
        address: str = "10.0.0.1",
    ) -> bytes | Deferred:
        """Send a request from `address`; return the response or what comes first."""
        mark = ("Metadata: true",) if marked else ()
        request = parse_head(a_request(target, *mark, *headers, method=method))
        return self.handler.handle(request, body, address)

    def request(
        self,
        target: str = EVENTS,
        *headers: str,
        method: str = "GET",
        marked: bool = True,
        body: bytes = b"",
        address: str = "10.0.0.1",
    ) -> ParsedResponse:
        """Send a request that gets an immediate response, and parse it."""
        answer = self.send(
            target, *headers, method=method, marked=marked, body=body, address=address
        )
        assert isinstance(answer, bytes), answer
        (response,) = read(answer, [method])
        return response

    def show(self, *what: AudienceView) -> None:
        """Replace the documents."""
        self.handler.directory.update(DocumentUpdate(position=1, shown=what))

    def set_clock(self, now: datetime) -> None:
        self.handler.head = ResponseHead(now, "system")

    def polled_groups(self) -> Mapping[str, datetime]:
        """Return the groups recorded as polling since the last call."""
        return self.notes.take().polls

    def seen(self) -> list[tuple[str, str]]:
        """Return the pairs of VM and seen event recorded since the last call."""
        return [(sighting.vm, sighting.event) for sighting in self.notes.take().sights]


def a_harness(
    *documents: AudienceView,
    is_open: bool = False,
    default_vm: str | None = None,
    vms: tuple[VM, ...] = VMS,
    groups: tuple[Group, ...] = (WEB, QUIET),
    date_form: DateForm | None = None,
    clock: str = "system",
    rate: RateLimit | None = None,
    first_call_delay: float = 0,
    takes_latest: bool = False,
    hosts: Set[str] = frozenset(),
) -> HandlerHarness:
    """Create a harness for `vms`; groups without `documents` have an empty one."""
    notes = PendingObservations()
    directory = Directory(is_open=is_open, default_vm=default_vm)
    documented = {view.group.name for view in documents}
    empty = [shown(group) for group in groups if group.name not in documented]
    directory.update(
        DocumentUpdate(
            position=0,
            shown=[*documents, *empty],
            placed=vms,
            first_vm=vms[0].name if vms else None,
        )
    )
    head = ResponseHead(NOON, clock)
    handler = MetadataHandler(
        directory,
        notes,
        head,
        date_form=date_form,
        rate=rate,
        first_call_delay=first_call_delay,
        takes_latest=takes_latest,
        hosts=hosts,
    )
    return HandlerHarness(handler, notes)
