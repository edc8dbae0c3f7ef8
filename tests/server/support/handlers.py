"""The metadata plane without sockets: a desk, who is known there, and what it notes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tests.server.support.dialogs import Said, a_request, read

from forewarn.core.fleet import VM, Audience, Group, GroupKind, Listening
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

WEB = Group(name="web", kind=GroupKind.AVAILABILITY_SET, listening=Listening.ALWAYS)
#: Nobody of this group has ever asked.
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
    """What an audience sees; its counter is the number of events unless given."""
    count = len(events) if incarnation is None else incarnation
    name = group.name if vm is None else f"{group.name}/{vm}"
    audience = Audience(
        name=name, group=group.name, vm=vm, epoch=epoch, incarnation=count
    )
    return AudienceView(
        audience=audience,
        group=group,
        document=Document(incarnation=count, events=events),
    )


@dataclass(frozen=True, slots=True)
class Reception:
    """A desk that can be asked in few words."""

    desk: MetadataHandler
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
        """Ask from `address`; get the bytes, or what must be done before."""
        mark = ("Metadata: true",) if marked else ()
        request = parse_head(a_request(target, *mark, *headers, method=method))
        return self.desk.answer(request, body, address)

    def ask(
        self,
        target: str = EVENTS,
        *headers: str,
        method: str = "GET",
        marked: bool = True,
        body: bytes = b"",
        address: str = "10.0.0.1",
    ) -> Said:
        """Ask what is answered at once."""
        answer = self.send(
            target, *headers, method=method, marked=marked, body=body, address=address
        )
        assert isinstance(answer, bytes), answer
        (said,) = read(answer, [method])
        return said

    def show(self, *what: AudienceView) -> None:
        """Show this from now on."""
        self.desk.directory.update(DocumentUpdate(position=1, shown=what))

    def set_clock(self, now: datetime) -> None:
        self.desk.stamp = ResponseHead(now, "system")

    def asked(self) -> Mapping[str, datetime]:
        """Which groups were noted to have asked, since this was last looked at."""
        return self.notes.take().polls

    def seen(self) -> list[tuple[str, str]]:
        """Which VM was noted to have seen which event, since this was looked at."""
        return [(each.vm, each.event) for each in self.notes.take().sights]


def a_reception(
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
) -> Reception:
    """Open a reception for `vms`; what `documents` do not tell is empty."""
    notes = PendingObservations()
    directory = Directory(is_open=is_open, default_vm=default_vm)
    told = {each.group.name for each in documents}
    empty = [shown(group) for group in groups if group.name not in told]
    directory.update(
        DocumentUpdate(
            position=0,
            shown=[*documents, *empty],
            placed=vms,
            first_vm=vms[0].name if vms else None,
        )
    )
    stamp = ResponseHead(NOON, clock)
    desk = MetadataHandler(
        directory,
        notes,
        stamp,
        date_form=date_form,
        rate=rate,
        first_call_delay=first_call_delay,
        takes_latest=takes_latest,
    )
    return Reception(desk, notes)
