"""Identity of this VM: its name, and its place in an event.

1. A VM's name is the configured one, else compute.name of /metadata/instance, else the
   host name. Only the first known one counts.
2. Comparison ignores case and one leading underscore, which api-version 2017-03-01 puts
   before names.
3. The VM `web_18` of a scale set has the host name `web00000i`: six digits in base 36.
   Both are the same name if the part before the number is the same.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from forewarn.formats import base_36
from forewarn.protocol.types import Document

_INSTANCE = re.compile(r"(.+)_(0|[1-9][0-9]{0,9})")
_HIGHEST = 36**6 - 1  # the highest number with six digits


@dataclass(frozen=True, slots=True, kw_only=True)
class VmIdentity:
    """The names of this VM, as far as they are known."""

    explicit: str | None = None  # from the configuration; None if it has none
    compute_name: str | None = None  # from /metadata/instance; None if unknown
    host_name: str  # may be empty

    @property
    def name(self) -> str | None:
        """The name that counts; None if there is none, so that no event matches."""
        return self.explicit or self.compute_name or self._host_label or None

    @property
    def _host_label(self) -> str:
        return self.host_name.partition(".")[0]

    def position(self, resources: Sequence[str]) -> int | None:
        """Return this VM's index in `resources`; None if it is not there."""
        if self.name is None:
            return None
        for index, resource in enumerate(resources):
            if is_same(self.name, resource):
                return index
        return None

    def mismatch(self, document: Document | None) -> str | None:
        """Explain why events of this VM may be missed; None if its names match."""
        explicit, compute_name = self.explicit, self.compute_name
        if explicit and compute_name and not is_same(explicit, compute_name):
            return (
                f"the name given is {explicit}, but /metadata/instance says that this"
                f" VM is {compute_name}; events of {compute_name} are not taken for"
                " its own"
            )
        name = explicit or compute_name
        if name is not None:
            return _named_by_host(name, self._host_label, document)
        if not self.host_name:
            return "this VM has no name, so no event is taken for its own; give --name"
        return (
            "/metadata/instance does not tell what this VM is called, so it goes by the"
            f" host name {self._host_label}, which events need not use; give --name"
        )


def is_same(one: str, other: str) -> bool:
    """Return whether two names are the same VM."""
    return not _forms(one).isdisjoint(_forms(other))


def _named_by_host(name: str, host: str, document: Document | None) -> str | None:
    """Detect events that use this machine's host name instead of its VM name."""
    events = () if document is None else document.events
    named = [entry for event in events for entry in event.resources]
    if not host or any(is_same(entry, name) for entry in named):
        return None
    for entry in named:
        if is_same(entry, host):
            return (
                f"events name {entry}, which is this machine's host name, but this VM"
                f" goes by {name}; they are not taken for its own"
            )
    return None


def _forms(name: str) -> frozenset[str]:
    """Return a name in normal form, and as the host name of a scale set's VM.

    No two numbers have the same six digits, and no name has two numbers.
    """
    plain = name.strip().casefold().removeprefix("_")
    parts = _INSTANCE.fullmatch(plain)
    if parts is None or int(parts[2]) > _HIGHEST:
        return frozenset({plain})
    return frozenset({plain, parts[1] + base_36(int(parts[2]))})
