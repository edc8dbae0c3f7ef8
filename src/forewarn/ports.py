"""Ports: the store, clock, driver and notifier interfaces that the engine uses."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from threading import Event as Bell
from typing import Protocol

from forewarn.core.fleet import VM, Fleet, Group, Host
from forewarn.core.lifecycle.facts import Fact, JournalEntry, Sight
from forewarn.core.lifecycle.model import Cause, Maintenance, Phase, Slice
from forewarn.core.lifecycle.settlement import Step
from forewarn.core.outages import Outage
from forewarn.core.tokens import Token
from forewarn.protocol.types import EventSource, EventType


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The stored response to a request with an idempotency key."""

    key: str
    digest: str
    answer: str
    at: datetime


class Snapshot(Protocol):
    """A consistent view of the store at one moment."""

    def position(self) -> int:
        """Return the position of the last journal entry."""

    def last_at(self) -> datetime | None:
        """Return the time of the last fact."""

    def last_number(self) -> int:
        """Return the highest number of a maintenance operation, or 0."""

    def position_before(self, moment: datetime) -> int:
        """Return the last position before `moment`, as journal times never decrease."""

    def facts(
        self,
        *,
        after: int,
        until: int,
        limit: int,
        kinds: Collection[type[Fact]] = (),
        maintenances: Collection[str] = (),
    ) -> Sequence[JournalEntry]:
        """Return journal entries after `after`, up to and including `until`.

        Filter by `kinds` or by `maintenances`; if both are given, `maintenances`
        decides.
        """

    def maintenances_in(
        self, *, after: int, until: int, limit: int, kinds: Collection[type[Fact]]
    ) -> Sequence[tuple[int, str]]:
        """Return the maintenance IDs in facts of these kinds, with their positions."""

    def fleet(self) -> Fleet:
        """Return the whole fleet."""

    def part_of_fleet(
        self,
        *,
        vms: Iterable[str] = (),
        groups: Iterable[str] = (),
        hosts: Iterable[str] = (),
        addresses: Iterable[str] = (),
    ) -> Fleet:
        """Return the part of the fleet with these names and addresses, ignoring case.

        The part includes the members of `groups` and `hosts`, and the group and host of
        every included VM.
        """

    def hosts(self, *, after: str, limit: int) -> Sequence[Host]:
        """Return hosts sorted by name, starting after the name `after`."""

    def groups(self, *, after: str, limit: int) -> Sequence[Group]:
        """Return groups sorted by name, starting after the name `after`."""

    def vms(self, *, after: str, limit: int) -> Sequence[VM]:
        """Return VMs sorted by name, starting after the name `after`."""

    def slice(self, groups: Iterable[str] | None) -> Slice:
        """Return these groups, or all if None, with all their live maintenance."""

    def maintenance(self, any_id: str) -> Maintenance | None:
        """Return the maintenance operation with this ID or with an event of this ID."""

    def maintenance_number(self, number: int) -> Maintenance | None:
        """Return the maintenance operation with this number."""

    def maintenances_like(
        self, prefix: str, group: str | None = None
    ) -> Sequence[Maintenance]:
        """Return at most three maintenance operations whose ID, or the ID of one of
        whose events, starts with `prefix`; if `group` is given, only those announced
        to that group.
        """

    def labels(self, *maintenances: str) -> Mapping[str, str]:
        """Return labels of maintenance operations, keyed by ID; omit unknown IDs."""

    def maintenances_of(self, *events: str) -> Mapping[str, Maintenance]:
        """Return the maintenance of each event, keyed by event ID; omit unknown IDs."""

    def maintenances(
        self,
        *,
        phases: Sequence[Phase],
        after: int,
        limit: int,
        group: str | None = None,
    ) -> Sequence[tuple[int, Maintenance]]:
        """Return maintenance operations in order of announcement, each with its cursor.

        If `group` is given, return only maintenance announced to it.
        """

    def seen(self, *events: str) -> Sequence[Sight]:
        """Return which VMs were shown these events and when, in chronological order."""

    def facts_of(self, maintenance: str) -> Sequence[JournalEntry]:
        """Return the journal entries of one maintenance operation."""

    def outages(self, after: datetime) -> Sequence[Outage]:
        """Return the outages that ended after `after`."""

    def next_moment(self) -> datetime | None:
        """Return the next time at which a timer fires."""

    def due(self, now: datetime) -> Sequence[Maintenance]:
        """Return maintenance whose timers have fired by `now`, oldest first."""

    def setting(self, name: str) -> str | None:
        """Return the value stored under `name`."""

    def receipt(self, key: str) -> Receipt | None:
        """Return the receipt for an idempotency key."""

    def tokens(self) -> Sequence[Token]:
        """Return all tokens, including revoked ones, in order of creation."""


class Transaction(Snapshot, Protocol):
    """A writable snapshot, committed only if its block succeeds."""

    def save(
        self, before: Slice, step: Step, moments: Mapping[str, datetime | None]
    ) -> int:
        """Save what `step` changed since `before` and return the new position."""

    def save_observations(
        self, polled: Mapping[str, datetime], sights: Sequence[Sight], at: datetime
    ) -> None:
        """Save when groups were last polled and which VMs were shown which events."""

    def keep(self, name: str, value: str) -> None:
        """Store `value` under `name`."""

    def keep_receipt(self, receipt: Receipt, *, forget_before: datetime) -> None:
        """Save `receipt` and delete some receipts older than `forget_before`.

        An old receipt with the same key is always deleted.
        """

    def keep_token(self, token: Token) -> None:
        """Save `token`, replacing its earlier version."""

    def save_token_uses(self, used: Mapping[str, datetime]) -> None:
        """Save the time each token was last used, keyed by token ID."""

    def probe(self) -> None:
        """Insert, update and delete a row in each table to test whether writes work."""


class Store(Protocol):
    """Storage for the state and the journal."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Begin a write transaction; only one runs at a time."""

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Begin a read-only view of one moment."""

    def facts(self, after: int, limit: int) -> Sequence[JournalEntry]:
        """Return journal entries after position `after`."""

    def close(self) -> None:
        """Release all resources."""


class Clock(Protocol):
    """The clock for notice and durations."""

    name: str
    rate: float

    def now(self) -> datetime:
        """Return the current time."""

    def wait(self, bell: Bell, until: datetime | None) -> None:
        """Wait for the bell or for `until`.

        The method may return early, so check the condition again.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One unit of work for a driver."""

    maintenance: str
    type: EventType
    source: EventSource
    cause: Cause
    host: str | None  # None if announced for VMs or a group
    vms: tuple[VM, ...]  # VMs not yet done
    duration: int  # seconds; -1 if unknown
    description: str = ""
    reason: str | None = None
    removes: bool = False  # whether its VMs leave the fleet when it ends
    attempt: int  # above 1 if an earlier call may have begun the work
    #: Set when the work is no longer wanted or the service stops.
    halt: Bell = field(default_factory=Bell, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of a driver's work on one VM."""

    vm: str
    failed: bool = False
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """The output of one driver call."""

    text: str


class Driver(Protocol):
    """The interface to real VMs."""

    def carry_out(self, work: Work) -> Iterable[Report | Printed | Sequence[Report]]:
        """Carry out `work` and yield reports; VMs without a report remain to be done.

        A single report is saved as soon as it arrives; reports in a sequence are saved
        together.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A fact for a notification target, with its context."""

    position: int
    fact: Fact
    maintenance: Maintenance | None = None  # current state; None if the fact has none
    sights: tuple[Sight, ...] = ()  # which VMs have seen its events so far
    attempt: int = 1  # above 1 if an earlier delivery failed


class Notifier(Protocol):
    """The interface to one notification target."""

    def notify(self, notice: Notice) -> None:
        """Deliver `notice`; raise an error to have it delivered again later."""


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
