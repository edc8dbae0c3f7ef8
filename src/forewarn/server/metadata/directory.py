"""VM identity on the metadata plane: which VM sends a request, and what it sees.

Only the metadata loop changes any of this, so a GET needs no lock.
"""

import copy
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from ipaddress import ip_address
from typing import Protocol

from forewarn.core.fleet import (
    VM,
    Group,
    Listening,
    audience_name,
    fold_name,
    is_silence,
)
from forewarn.core.outages import Outage
from forewarn.engine.readers.documents import AudienceView, DocumentUpdate
from forewarn.protocol.codec import encode
from forewarn.protocol.types import Document
from forewarn.protocol.versions import ApiVersion, DateForm
from forewarn.server.metadata.transport.responses import (
    ResponseHead,
    not_modified_tail,
    tail,
)


class EnabledState:
    """Whether Scheduled Events is enabled for one group, and its last request."""

    __slots__ = ("asked", "group", "is_beginning", "stamp")

    def __init__(self, group: Group) -> None:
        """Start with the stored state of `group`."""
        self.stamp: ResponseHead | None = (
            None  # of the last request; None before the first
        )
        self.asked: datetime | None = None  # last request; None if never
        # Enabled, but the delay of the first response is not over yet.
        self.is_beginning = False
        self.group: Group = group
        self.know(group)

    def know(self, group: Group) -> None:
        """Refresh from the stored state of `group`."""
        last = group.last_request
        if group.listening is Listening.ALWAYS:
            self.is_beginning = False
        elif group.listening_since not in (None, self.group.listening_since):
            self.is_beginning, self.stamp = True, None
        self.group = group
        if last is not None and (self.asked is None or last > self.asked):
            self.asked = last

    def is_silent(self, now: datetime, outages: Iterable[Outage] = ()) -> bool:
        """Whether the group must be enabled before it gets a response."""
        if self.group.listening is Listening.ALWAYS:
            return False
        return self.asked is None or is_silence(self.asked, now, outages)


class Waiter(Protocol):
    """A held request that waits for another document."""

    def wake(self) -> None:
        """Check again: the document may have changed."""


class CachedDocument:
    """The cached document of one audience, encoded in each requested version."""

    __slots__ = ("document", "hearing", "not_modified", "tag", "tails", "waiters")

    def __init__(self, shown: AudienceView, hearing: EnabledState) -> None:
        """Cache what is `shown` to an audience of the group of `hearing`."""
        self.hearing = hearing
        self.waiters: dict[Waiter, None] = {}  # in order of arrival
        self.show(shown)

    def show(self, shown: AudienceView) -> None:
        """Replace the cached document by the one in `shown`."""
        audience = shown.audience
        self.document: Document = shown.document
        self.tag: str = f"{audience.epoch}.{audience.incarnation}"
        self.not_modified: bytes = not_modified_tail(self.tag)
        self.tails: dict[str, bytes] = {
            version: tail(self.tag, body) for version, body in shown.bodies.items()
        }

    def still(self) -> "CachedDocument":
        """Return a frozen copy without waiters."""
        frozen = copy.copy(self)
        frozen.waiters = {}
        return frozen

    def tail(self, version: ApiVersion, date_form: DateForm | None) -> bytes:
        """Return the document's bytes in `version`, and cache them."""
        encoded = tail(self.tag, encode(self.document, version, date_form))
        self.tails[version.name] = encoded
        return encoded


class VmEntry:
    """One VM on the metadata plane, and what it was shown last."""

    __slots__ = ("asked", "seen", "seen_tag", "seen_version", "shelf", "vm")

    def __init__(self, vm: VM, shelf: CachedDocument) -> None:
        """Serve `vm` the document of `shelf`."""
        self.vm = vm
        self.shelf = shelf
        self.asked: datetime | None = None  # last request; None if not since the start
        self.seen: set[str] = set()  # ids of events in the current document
        self.seen_tag: str | None = None
        self.seen_version: ApiVersion | None = None


class Directory:
    """All VMs by name and by address."""

    def __init__(self, *, is_open: bool, default_vm: str | None = None) -> None:
        """Start empty; in an open directory, clients may choose their VM."""
        self.is_open = is_open
        self.outages: list[Outage] = []
        self._default_vm = default_vm
        self._first_vm = ""  # of the fleet file
        self._hearings: dict[str, EnabledState] = {}
        self._shelves: dict[str, CachedDocument] = {}
        self._by_name: dict[str, VmEntry] = {}
        self._by_address: dict[str, VmEntry] = {}
        self._woken: list[Waiter] = []  # by the current update

    def caller(self, address: str) -> str | None:
        """Return the caller that connections from `address` count for, if any."""
        seat = self._by_address.get(address)
        if seat is not None:
            return seat.vm.name
        return None if self.is_open else address

    def seat(self, address: str, named: str | None) -> VmEntry | None:
        """Return the VM called `named`, or the VM at `address` if `named` is None."""
        if named is not None:
            return self._by_name.get(fold_name(named))
        seat = self._by_address.get(address)
        if seat is None and self.is_open:
            return self._default()
        return seat

    def hearing(self, group: str) -> EnabledState | None:
        """Return the state of `group`; None if it has left the fleet."""
        return self._hearings.get(group)

    def seats(self) -> Sequence[VmEntry]:
        """Return a copy of the list of VMs; safe from any thread."""
        return [*self._by_name.values()]

    def hearings(self) -> Sequence[EnabledState]:
        """Return a copy of the list of groups; safe from any thread."""
        return [*self._hearings.values()]

    def _default(self) -> VmEntry | None:
        return self._by_name.get(fold_name(self._default_vm or self._first_vm))

    def update(self, update: DocumentUpdate) -> Sequence[Waiter]:
        """Apply `update`; return the waiters that must check again."""
        self._woken = []
        self.outages += update.outages
        for name in update.removed:
            gone = self._by_name.pop(fold_name(name), None)
            self._leave(gone)
            self._wake_of(gone)
        for name in update.ungrouped:
            self._hearings.pop(name, None)
        self._drop(update.regrouped, {view.audience.name for view in update.shown})
        for shown in update.shown:
            self._show(shown)
        groups = {shown.group.name: shown.group for shown in update.shown}
        for vm in update.placed:
            self._place(vm, groups[vm.group])
        if update.first_vm not in (None, self._first_vm):
            self._wake_of(self._default())
            self._first_vm = update.first_vm or ""
        return self._woken

    def _wake(self, shelf: CachedDocument) -> None:
        self._woken += shelf.waiters
        shelf.waiters.clear()

    def _wake_of(self, seat: VmEntry | None) -> None:
        if seat is not None:
            self._wake(seat.shelf)

    def _show(self, shown: AudienceView) -> None:
        hearing = self._hearings.get(shown.group.name)
        if hearing is None:
            hearing = self._hearings[shown.group.name] = EnabledState(shown.group)
        hearing.know(shown.group)
        shelf = self._shelves.get(shown.audience.name)
        if shelf is None:
            self._shelves[shown.audience.name] = CachedDocument(shown, hearing)
        else:
            shelf.hearing, earlier = hearing, shelf.tag
            shelf.show(shown)
            if shelf.tag != earlier:
                self._wake(shelf)

    def _drop(self, groups: Collection[str], but: set[str]) -> None:
        """Drop the audiences of `groups` that no longer exist."""
        for name, shelf in [*self._shelves.items()] if groups else ():
            if shelf.hearing.group.name in groups and name not in but:
                del self._shelves[name]  # its VMs are placed elsewhere, or gone

    def _place(self, vm: VM, group: Group) -> None:
        shelf = self._shelves[audience_name(group, vm.name)]
        seat = self._by_name.get(fold_name(vm.name))
        before: tuple[str, ...] = ()
        if seat is None:
            seat = self._by_name[fold_name(vm.name)] = VmEntry(vm, shelf)
        else:
            before = seat.vm.addresses
            self._leave(seat)
            if seat.shelf is not shelf or before != vm.addresses:
                self._wake(seat.shelf)
            seat.vm, seat.shelf, seat.seen_tag = vm, shelf, None
        for address in vm.addresses:
            if address not in before:  # requests from there belonged to another VM
                self._wake_of(self.seat(address, None))
            self._by_address[address] = seat

    def _leave(self, seat: VmEntry | None) -> None:
        if seat is not None:
            for address in seat.vm.addresses:
                if self._by_address.get(address) is seat:
                    del self._by_address[address]


def plain_address(host: str) -> str:
    """Normalize a peer's address to the form of the fleet file.

    IPv4-mapped IPv6 addresses become IPv4.
    """
    if ":" not in host:
        return host
    address = ip_address(host.partition("%")[0])
    return str(getattr(address, "ipv4_mapped", None) or address)
