"""Directory of VMs: which VM sent a request (VM identity), and what each VM sees.

Only the metadata loop changes this data, so a GET needs no lock.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from ipaddress import ip_address
from typing import Protocol

from forewarn.core.fleet import (
    VM,
    Enabling,
    Group,
    audience_name,
    fold_name,
    is_silence,
)
from forewarn.core.outages import Outage
from forewarn.engine.readers.documents import AudienceView, DocumentUpdate
from forewarn.protocol.codec import encode
from forewarn.protocol.types import Document
from forewarn.protocol.versions import ApiVersion, DateForm
from forewarn.server.metadata.limits import Stranger
from forewarn.server.metadata.transport.responses import (
    ResponseHead,
    not_modified_tail,
    tail,
)


class Waiter(Protocol):
    """A held request that waits for the document to change."""

    def wake(self) -> None:
        """Check again, because the document may have changed."""

    def stop_waiting(self) -> None:
        """Send the response now."""


class EnabledState:
    """Whether Scheduled Events is enabled for a group, and the group's last request."""

    __slots__ = ("group", "head", "is_newly_enabled", "last_request")

    def __init__(self, group: Group) -> None:
        """Initialize from the stored state of `group`."""
        self.group = group
        self.last_request: datetime | None = None  # None if never
        # Used for the last request; None before the first request.
        self.head: ResponseHead | None = None
        # True if enabled while the delay of the first response has not ended yet.
        self.is_newly_enabled = False
        self.refresh(group)

    def refresh(self, group: Group) -> None:
        """Refresh from the stored state of `group`."""
        last = group.last_request
        if group.enabled is Enabling.ALWAYS:
            self.is_newly_enabled = False
        elif group.enabled_since not in (None, self.group.enabled_since):
            self.is_newly_enabled, self.head = True, None
        self.group = group
        if last is not None and (self.last_request is None or last > self.last_request):
            self.last_request = last

    def is_disabled(self, now: datetime, outages: Iterable[Outage] = ()) -> bool:
        """Return whether the group must be enabled before it gets a response."""
        if self.group.enabled is Enabling.ALWAYS:
            return False
        return self.last_request is None or is_silence(self.last_request, now, outages)


class CachedDocument:
    """One audience's cached document, encoded in each requested version."""

    __slots__ = ("document", "group_state", "not_modified", "tag", "tails", "waiters")

    def __init__(self, view: AudienceView, group_state: EnabledState) -> None:
        """Create a cache with the document in `view` for an audience of the group."""
        self.group_state = group_state
        self.waiters: dict[Waiter, None] = {}  # in order of arrival
        self.update(view)

    def update(self, view: AudienceView) -> None:
        """Replace the cached document with the one in `view`."""
        self.document: Document = view.document
        self.tag: str = view.tag
        self.not_modified: bytes = not_modified_tail(self.tag)
        self.tails: dict[str, bytes] = {
            version: tail(self.tag, body) for version, body in view.bodies.items()
        }

    def tail(self, version: ApiVersion, date_form: DateForm | None) -> bytes:
        """Return the document's bytes in `version`, which are cached."""
        encoded = tail(self.tag, encode(self.document, version, date_form))
        self.tails[version.name] = encoded
        return encoded


class VmEntry:
    """A VM on the metadata plane, with the document that it was last shown."""

    __slots__ = ("cached", "last_request", "seen", "seen_tag", "seen_version", "vm")

    def __init__(self, vm: VM, cached: CachedDocument) -> None:
        """Create an entry for `vm`, which sees the document in `cached`."""
        self.vm = vm
        self.cached = cached
        self.last_request: datetime | None = None  # None if not since startup
        self.seen: set[str] = set()  # IDs of events in the current document
        self.seen_tag: str | None = None
        self.seen_version: ApiVersion | None = None


class Directory:
    """All VMs by name and by address."""

    def __init__(self, *, is_open: bool, default_vm: str | None = None) -> None:
        """Create an empty directory; if `is_open`, clients may choose their VM."""
        self.is_open = is_open
        self.outages: list[Outage] = []
        self._default_vm = default_vm
        self._first_vm = ""  # the first VM in the fleet file
        self._group_states: dict[str, EnabledState] = {}
        self._documents: dict[str, CachedDocument] = {}  # keyed by audience
        self._by_name: dict[str, VmEntry] = {}
        self._by_address: dict[str, VmEntry] = {}
        self._woken: list[Waiter] = []  # woken by the current update

    def find(self, address: str, name: str | None) -> VmEntry | None:
        """Return the VM `name`, or the VM at `address` if `name` is None."""
        if name is not None:
            return self._by_name.get(fold_name(name))
        entry = self._by_address.get(address)
        if entry is None and self.is_open:
            return self._default()
        return entry

    def caller(self, address: str) -> str | None:
        """Return the caller to which connections from `address` belong, if any."""
        entry = self._by_address.get(address)
        if entry is not None:
            return entry.vm.name
        return None if self.is_open else Stranger.at(address)

    def group_state(self, group: str) -> EnabledState | None:
        """Return the state of `group`, or None if it has left the fleet."""
        return self._group_states.get(group)

    def entries(self) -> Sequence[VmEntry]:
        """Return a copy of the list of VMs; safe to call from any thread."""
        return [*self._by_name.values()]

    def group_states(self) -> Sequence[EnabledState]:
        """Return a copy of the list of groups; safe to call from any thread."""
        return [*self._group_states.values()]

    def update(self, update: DocumentUpdate) -> Sequence[Waiter]:
        """Apply `update`; return the waiters that must check again."""
        self._woken = []
        self.outages += update.outages
        for name in update.removed:
            gone = self._by_name.pop(fold_name(name), None)
            self._remove_addresses(gone)
            self._wake_waiters_of(gone)
            self._drop_own_document(gone)
        for name in update.ungrouped:
            self._group_states.pop(name, None)
        audiences = {view.audience.name for view in update.shown}
        self._drop_documents(update.regrouped, audiences)
        for view in update.shown:
            self._show(view)
        groups = {view.group.name: view.group for view in update.shown}
        for vm in update.placed:
            self._place(vm, groups[vm.group])
        if update.first_vm not in (None, self._first_vm):
            self._wake_waiters_of(self._default())
            self._first_vm = update.first_vm or ""
        return self._woken

    def _default(self) -> VmEntry | None:
        return self._by_name.get(fold_name(self._default_vm or self._first_vm))

    def _drop_documents(self, groups: Collection[str], audiences: set[str]) -> None:
        """Drop the documents of `groups`, except those of `audiences`."""
        for name, cached in [*self._documents.items()] if groups else ():
            if cached.group_state.group.name in groups and name not in audiences:
                del self._documents[name]  # its VMs have moved or are gone

    def _drop_own_document(self, entry: VmEntry | None) -> None:
        """Drop a leaving VM's own document, unless other VMs share the document."""
        if entry is None or not entry.cached.group_state.group.isolated:
            return
        name = audience_name(entry.cached.group_state.group, entry.vm.name)
        if self._documents.get(name) is entry.cached:
            del self._documents[name]

    def _show(self, view: AudienceView) -> None:
        group_state = self._group_states.get(view.group.name)
        if group_state is None:
            group_state = self._group_states[view.group.name] = EnabledState(view.group)
        group_state.refresh(view.group)
        cached = self._documents.get(view.audience.name)
        if cached is None:
            self._documents[view.audience.name] = CachedDocument(view, group_state)
        else:
            cached.group_state, earlier = group_state, cached.tag
            cached.update(view)
            if cached.tag != earlier:
                self._wake_waiters(cached)

    def _place(self, vm: VM, group: Group) -> None:
        cached = self._documents[audience_name(group, vm.name)]
        entry = self._by_name.get(fold_name(vm.name))
        before: tuple[str, ...] = ()
        if entry is None:
            entry = self._by_name[fold_name(vm.name)] = VmEntry(vm, cached)
        else:
            before = entry.vm.addresses
            self._remove_addresses(entry)
            if entry.cached is not cached or before != vm.addresses:
                self._wake_waiters(entry.cached)
            if entry.cached is not cached:
                self._drop_own_document(entry)
            entry.vm, entry.cached, entry.seen_tag = vm, cached, None
        for address in vm.addresses:
            if address not in before:  # requests from there belonged to another VM
                self._wake_waiters_of(self.find(address, None))
            self._by_address[address] = entry

    def _remove_addresses(self, entry: VmEntry | None) -> None:
        if entry is not None:
            for address in entry.vm.addresses:
                if self._by_address.get(address) is entry:
                    del self._by_address[address]

    def _wake_waiters_of(self, entry: VmEntry | None) -> None:
        if entry is not None:
            self._wake_waiters(entry.cached)

    def _wake_waiters(self, cached: CachedDocument) -> None:
        self._woken += cached.waiters
        cached.waiters.clear()


def normalize_address(host: str) -> str:
    """Normalize a peer's address to the form used in the fleet file.

    IPv4-mapped IPv6 addresses become IPv4.
    """
    if ":" not in host:
        return host
    address = ip_address(host.partition("%")[0])
    return str(getattr(address, "ipv4_mapped", None) or address)
