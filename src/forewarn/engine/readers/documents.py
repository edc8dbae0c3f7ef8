"""Journal reader that keeps the documents on the metadata plane current."""

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock

from forewarn.core.fleet import VM, Audience, Group
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.document import views
from forewarn.core.lifecycle.model import Slice
from forewarn.core.outages import Outage
from forewarn.ports import Snapshot, Store
from forewarn.protocol.codec import encode
from forewarn.protocol.types import Document, ScheduledEvent
from forewarn.protocol.versions import NEWEST

#: The stored setting for the first VM in the fleet file.
FIRST_VM = "first-vm"

_BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class AudienceView:
    """The current document of one audience."""

    audience: Audience
    group: Group
    document: Document
    tag: str  # the ETag, without quotes
    #: Response bodies keyed by api-version, if not encoded from the document.
    bodies: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentUpdate:
    """The changes since the previous update of the metadata plane."""

    position: int
    shown: Sequence[AudienceView] = ()
    placed: Sequence[VM] = ()
    removed: Sequence[str] = ()  # VMs
    regrouped: frozenset[str] = frozenset()  # groups added, changed or removed
    ungrouped: frozenset[str] = frozenset()  # groups removed, perhaps added again
    first_vm: str | None = None  # the first VM of the fleet; None if unchanged
    outages: Sequence[Outage] = ()  # only new ones


class Documents:
    """Reads the journal and hands over updates, in order."""

    def __init__(
        self, store: Store, hand_over: Callable[[DocumentUpdate], None]
    ) -> None:
        """Create a reader that passes each update to `hand_over`.

        `hand_over` returns when VMs can see the update.
        """
        self._store = store
        self._hand_over = hand_over
        self._lock = Lock()
        self._wanted = 0  # the position that commits have requested
        self._behind_since = 0.0  # real time; used only while behind
        self.position = 0

    @property
    def behind_since(self) -> float | None:
        """When VMs fell behind the commits, in real time; None if they are current."""
        return None if self.position >= self._wanted else self._behind_since

    def open(self) -> None:
        """Hand over the entire current state."""
        with self._lock, self._store.snapshot() as snapshot:
            slice_ = snapshot.slice(None)
            vms = [*snapshot.fleet().vms.values()]
            position = snapshot.position()
            self._hand_over(
                DocumentUpdate(
                    position=position,
                    shown=_shown(slice_),
                    placed=vms,
                    first_vm=_first_vm(snapshot),
                    outages=slice_.outages,
                )
            )
            self.position = position

    def catch_up(self, to: int | None = None) -> None:
        """Read to the end of the journal, or at least to the position `to`."""
        if to is not None and to > self._wanted:
            if self.position >= self._wanted:
                self._behind_since = time.monotonic()
            self._wanted = to
        with self._lock:
            while to is None or self.position < to:
                entries = self._store.facts(self.position, _BATCH)
                if not entries:
                    return
                with self._store.snapshot() as snapshot:
                    update = _update(snapshot, entries)
                self._hand_over(update)
                self.position = update.position


def _update(snapshot: Snapshot, entries: Sequence[f.JournalEntry]) -> DocumentUpdate:
    facts = [entry.fact for entry in entries]
    groups = {group for fact in facts for group in _groups(fact)}
    slice_ = snapshot.slice(groups)
    fleet = [fact for fact in facts if isinstance(fact, f.FleetChanged)]
    names = {vm.name for fact in fleet for vm in fact.vms}
    settings = frozenset(group.name for fact in fleet for group in fact.groups)
    ungrouped = frozenset(name for fact in fleet for name in fact.removed_groups)
    part = snapshot.part_of_fleet(vms=names, groups=settings)
    removed = {name for fact in fleet for name in fact.removed_vms}
    return DocumentUpdate(
        position=entries[-1].position,
        shown=_shown(slice_),
        placed=[vm for vm in part.vms.values() if vm.group in slice_.groups],
        removed=[name for name in removed if name not in part.vms],
        regrouped=settings | ungrouped,
        ungrouped=ungrouped,
        first_vm=_first_vm(snapshot) if fleet else None,
        outages=[fact.outage for fact in facts if isinstance(fact, f.OutageEnded)],
    )


def _first_vm(snapshot: Snapshot) -> str | None:
    """Return the first VM in the fleet file, or else the first VM ever added."""
    first = snapshot.setting(FIRST_VM)
    if first is not None and snapshot.part_of_fleet(vms=[first]).vms:
        return first
    return next(iter(snapshot.fleet().vms), None)


def _shown(slice_: Slice) -> Sequence[AudienceView]:
    audiences = slice_.audiences.values()
    events = views(audiences, slice_.maintenances.values())
    return [_view(slice_, audience, events[audience.name]) for audience in audiences]


def _view(
    slice_: Slice, audience: Audience, events: tuple[ScheduledEvent, ...]
) -> AudienceView:
    shown = Document(incarnation=audience.incarnation, events=events)
    return AudienceView(
        audience=audience,
        group=slice_.groups[audience.group],
        document=shown,
        tag=_tag(audience, shown),
    )


def _tag(audience: Audience, shown: Document) -> str:
    """Return an ETag for the document `shown` that no other document ever has.

    Restoring a backup sets the incarnation back, and later announcements reuse its
    numbers. The ETag of a document with events therefore contains a digest of the
    document.
    """
    number = f"{audience.epoch}.{audience.incarnation}"
    if not shown.events:
        return number
    content = hashlib.blake2b(encode(shown, NEWEST), digest_size=8)
    return f"{number}.{content.hexdigest()}"


def _groups(fact: f.Fact) -> Iterable[str]:
    """Return the groups whose documents or members `fact` may have changed.

    Every change to a document is followed by a Published fact.
    """
    if isinstance(fact, f.FleetChanged):
        return {*(group.name for group in fact.groups), *(vm.group for vm in fact.vms)}
    if isinstance(fact, f.Published | f.Enabled):
        return (fact.group,)
    return ()
