"""This VM's identity: its name and its position in an event's resources.

1. A VM's name is the configured name, or else compute.name from /metadata/instance, or
   else the hostname. Only the first known name counts.
2. Comparisons ignore case and one leading underscore, which api-version 2017-03-01 adds
   to names.
3. The scale-set VM `web_18` has the hostname `web00000i`, which ends with six digits in
   base 36. The two names match if the parts before the number match.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from forewarn.formats import base_36
from forewarn.protocol.types import Document

_INSTANCE = re.compile(r"(.+)_(0|[1-9][0-9]{0,9})")
_HIGHEST = 36**6 - 1  # the highest six-digit number


@dataclass(frozen=True, slots=True, kw_only=True)
class VmIdentity:
    """The known names of this VM."""

    explicit: str | None = None  # from the configuration; None if not set
    compute_name: str | None = None  # from /metadata/instance; None if unknown
    host_name: str  # may be empty

    @property
    def name(self) -> str | None:
        """The name that identifies this VM in events, or None if it has no name."""
        return self.explicit or self.compute_name or self._host_label or None

    @property
    def _host_label(self) -> str:
        return self.host_name.partition(".")[0]

    def position(self, resources: Sequence[str]) -> int | None:
        """Return this VM's index in `resources`, or None if it is not listed."""
        if self.name is None:
            return None
        for index, resource in enumerate(resources):
            if is_same(self.name, resource):
                return index
        return None

    def mismatch(self, document: Document | None) -> str | None:
        """Return why this VM's events may be missed, or None if its name matches."""
        explicit, compute_name = self.explicit, self.compute_name
        if explicit and compute_name and not is_same(explicit, compute_name):
            return (
                f"this VM is configured as {explicit}, but /metadata/instance reports"
                f" {compute_name}; the agent ignores events for {compute_name}: correct"
                " `name` or --name"
            )
        name = explicit or compute_name
        if name is not None:
            return _named_by_host(name, self._host_label, document)
        if not self.host_name:
            return (
                "the name of this VM is unknown, so no event can match it; set"
                " `name` or --name"
            )
        return (
            "/metadata/instance does not report the name of this VM, so the agent"
            f" uses the hostname {self._host_label}, which may differ from the name"
            " in events; set `name` or --name"
        )


def is_same(one: str, other: str) -> bool:
    """Return whether two names refer to the same VM."""
    return not _forms(one).isdisjoint(_forms(other))


def _named_by_host(name: str, host: str, document: Document | None) -> str | None:
    """Return a sentence if events list this machine's hostname, not its VM name."""
    events = () if document is None else document.events
    named = [entry for event in events for entry in event.resources]
    if not host or any(is_same(entry, name) for entry in named):
        return None
    for entry in named:
        if is_same(entry, host):
            return (
                f"events list {entry}, which is this machine's hostname, but the"
                f" agent uses {name} as its name; if {entry} is this VM, correct"
                " `name` or --name"
            )
    return None


def _forms(name: str) -> frozenset[str]:
    """Return a name in normal form and in the form of a scale-set hostname.

    Names of different VMs in a scale set have no form in common.
    """
    plain = name.strip().casefold().removeprefix("_")
    parts = _INSTANCE.fullmatch(plain)
    if parts is None or int(parts[2]) > _HIGHEST:
        return frozenset({plain})
    return frozenset({plain, parts[1] + base_36(int(parts[2]))})
