"""The seams: what the engine needs of the world around it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from threading import Event as Bell
from typing import Protocol

from forewarn.core.facts import Entry, Fact, Sight
from forewarn.core.fleet import VM, Fleet, Group, Host
from forewarn.core.maintenance import Cause, Maintenance, Phase, Slice
from forewarn.core.outages import Outage
from forewarn.core.settling import Step
from forewarn.core.tokens import Token
from forewarn.protocol.types import EventSource, EventType


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The answer that was given to a request with an idempotency key."""

    key: str
    digest: str
    answer: str
    at: datetime


class Snapshot(Protocol):
    """The store as it was at one moment."""

    def position(self) -> int:
        """How far the journal goes."""

    def last_at(self) -> datetime | None:
        """When the last fact happened."""

    def position_before(self, moment: datetime) -> int:
        """How far the journal went before `moment`; its times never go back."""

    def facts(
        self,
        *,
        after: int,
        until: int,
        limit: int,
        kinds: Collection[type[Fact]] = (),
        maintenances: Collection[str] = (),
    ) -> Sequence[Entry]:
        """Read the journal behind `after`, up to `until`: facts of these kinds, of
        these maintenances; where both are named, of these maintenances.
        """

    def told_of(
        self, *, after: int, until: int, limit: int, kinds: Collection[type[Fact]]
    ) -> Sequence[tuple[int, str]]:
        """Which maintenances facts of these kinds tell of, with the positions."""

    def fleet(self) -> Fleet:
        """The whole fleet."""

    def part_of_fleet(
        self,
        *,
        vms: Iterable[str] = (),
        groups: Iterable[str] = (),
        hosts: Iterable[str] = (),
        addresses: Iterable[str] = (),
    ) -> Fleet:
        """What is known of these names in any case, with the members of `groups` and
        `hosts`, and with the groups and hosts of every VM in it.
        """

    def hosts(self, *, after: str, limit: int) -> Sequence[Host]:
        """Hosts by name, those after the name `after`."""

    def groups(self, *, after: str, limit: int) -> Sequence[Group]:
        """Groups by name, those after the name `after`."""

    def vms(self, *, after: str, limit: int) -> Sequence[VM]:
        """VMs by name, those after the name `after`."""

    def slice(self, groups: Iterable[str] | None) -> Slice:
        """These groups with all that is live in them; None: all groups."""

    def maintenance(self, any_id: str) -> Maintenance | None:
        """The maintenance with this id, or with an event of this id."""

    def maintenances(
        self,
        *,
        phases: Sequence[Phase],
        after: int,
        limit: int,
        group: str | None = None,
    ) -> Sequence[tuple[int, Maintenance]]:
        """Maintenances in the order of announcement, with a cursor each; those that
        were announced to `group`, if it is given.
        """

    def seen(self, *events: str) -> Sequence[Sight]:
        """Who was shown these events, and when, in the order of time."""

    def facts_of(self, maintenance: str) -> Sequence[Entry]:
        """What the journal tells of one maintenance."""

    def outages(self, after: datetime) -> Sequence[Outage]:
        """The outages that ended after `after`."""

    def next_moment(self) -> datetime | None:
        """When time alone moves something next."""

    def due(self, now: datetime) -> Sequence[Maintenance]:
        """What time alone moves at `now`, oldest moment first."""

    def setting(self, name: str) -> str | None:
        """What was kept under `name`."""

    def receipt(self, key: str) -> Receipt | None:
        """The receipt for an idempotency key."""

    def tokens(self) -> Sequence[Token]:
        """All tokens, revoked ones too, in the order in which they were made."""


class Transaction(Snapshot, Protocol):
    """A snapshot that can be written; nothing is kept unless the block succeeds."""

    def save(
        self, before: Slice, step: Step, moments: Mapping[str, datetime | None]
    ) -> int:
        """Keep what `step` changed since `before`; answer the journal's position."""

    def note(
        self, asked: Mapping[str, datetime], sights: Sequence[Sight], at: datetime
    ) -> None:
        """Keep when groups last asked, and who was shown what."""

    def keep(self, name: str, value: str) -> None:
        """Keep `value` under `name`."""

    def keep_receipt(self, receipt: Receipt, *, forget_before: datetime) -> None:
        """Keep `receipt`; drop those older than `forget_before`."""

    def keep_token(self, token: Token) -> None:
        """Keep `token`, in the place of its earlier self."""

    def note_uses(self, used: Mapping[str, datetime]) -> None:
        """Keep when tokens, by id, were last used."""


class Store(Protocol):
    """Where state and journal are kept."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Begin to write; writers are serial."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Look at one moment."""

    def facts(self, after: int, limit: int) -> Sequence[Entry]:
        """Read the journal."""

    def close(self) -> None:
        """Let go of everything."""


class Clock(Protocol):
    """What time it is for every promise that forewarn makes."""

    name: str
    rate: float

    def now(self) -> datetime:
        """The time."""

    def wait(self, bell: Bell, until: datetime | None) -> None:
        """Return on the bell, at `until`, or after a while; look again then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a driver is asked to do."""

    maintenance: str
    type: EventType
    source: EventSource
    cause: Cause
    host: str | None  # None: announced for VMs or a group
    vms: tuple[VM, ...]  # those that are still to do
    duration: int  # seconds; -1: unknown
    description: str = ""
    reason: str | None = None
    attempt: int  # above 1: it may have been begun before
    #: Rings when nobody wants the work any more, or the service stops.
    halt: Bell = field(default_factory=Bell, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a driver did on one VM."""

    vm: str
    failed: bool = False
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """What a driver leaves to read about one call."""

    text: str


class Driver(Protocol):
    """What acts on real VMs."""

    def carry_out(self, work: Work) -> Iterable[Report | Printed | Sequence[Report]]:
        """Do `work` and report; what is not reported stays open.

        What is told one by one is written down one by one, as it comes; reports in a
        sequence are written down together.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A fact that somebody is to be told, and what it is about."""

    position: int
    fact: Fact
    maintenance: Maintenance | None = None  # as it is now; None: about none
    sights: tuple[Sight, ...] = ()  # who has seen its events by now
    attempt: int = 1  # above 1: it was offered before, in vain


class Notifier(Protocol):
    """What tells others."""

    def notify(self, notice: Notice) -> None:
        """Tell `notice`; whoever raises is offered it again, after a while."""


__all__ = [
    "Bell",
    "Clock",
    "Driver",
    "Notice",
    "Notifier",
    "Printed",
    "Receipt",
    "Report",
    "Snapshot",
    "Store",
    "Transaction",
    "Work",
]
