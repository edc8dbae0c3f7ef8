"""Which of the names in a document is this VM's.

Rules of this file:

1. A name is the one that was given, else compute.name of /metadata/instance, else the
   host name; the first that is known, and no other.
2. Names are compared whatever their case, and without one leading underscore, which
   the version 2017-03-01 puts before them.
3. The VM `web_18` of a scale set has the host name `web00000i`: six digits to the base
   of 36. The two are one name if what stands before is the same.
"""

import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from forewarn.protocol.types import Document

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_INSTANCE = re.compile(r"(.+)_(0|[1-9][0-9]{0,9})")
_MOST = 36**6 - 1  # the highest number that six digits have


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who this VM is."""

    name: str | None  # None: nothing is known, so no event is for it

    def is_me(self, resource: str) -> bool:
        """Whether an entry of Resources means this VM."""
        return self.name is not None and is_same(self.name, resource)

    def position(self, resources: Sequence[str]) -> int | None:
        """Say at which place this VM stands in `resources`; None: it does not."""
        places = (place for place, each in enumerate(resources) if self.is_me(each))
        return next(places, None)


def identify(
    *, explicit: str | None, compute_name: str | None, host_name: str | None
) -> Identity:
    """Choose the name to go by."""
    return Identity(name=explicit or compute_name or _first_label(host_name) or None)


def host_name() -> str:
    """Ask the machine what it is called."""
    return socket.gethostname()


def is_same(one: str, other: str) -> bool:
    """Whether two names mean the same VM."""
    return not _forms(one).isdisjoint(_forms(other))


def _forms(name: str) -> frozenset[str]:
    """Give a name as it is compared, and as the host name of a scale set's VM.

    Two numbers never have the same six digits, nor a name two numbers.
    """
    plain = name.strip().casefold().removeprefix("_")
    found = _INSTANCE.fullmatch(plain)
    if found is None or int(found[2]) > _MOST:
        return frozenset({plain})
    return frozenset({plain, found[1] + _base_36(int(found[2]))})


def _base_36(number: int) -> str:
    digits = ""
    for _ in range(6):
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits


def _first_label(host: str | None) -> str:
    return (host or "").partition(".")[0]


# --- what does not fit -------------------------------------------------------


def mismatch(
    *,
    explicit: str | None,
    compute_name: str | None,
    host_name: str | None,
    document: Document | None,
) -> str | None:
    """Say in a sentence why events may be missed; None: the names fit."""
    if explicit and compute_name and not is_same(explicit, compute_name):
        return (
            f"the name given is {explicit}, but /metadata/instance says that this VM is"
            f" {compute_name}; events of {compute_name} are not taken for its own"
        )
    name = explicit or compute_name
    if name is not None:
        return _named_by_host(name, _first_label(host_name), document)
    if not host_name:
        return "this VM has no name, so no event is taken for its own; give --name"
    return (
        "/metadata/instance does not tell what this VM is called, so it goes by the"
        f" host name {_first_label(host_name)}, which events need not use; give --name"
    )


def _named_by_host(name: str, host: str, document: Document | None) -> str | None:
    """Notice that events mean this machine by a name which is not taken for its own."""
    events = () if document is None else document.events
    named = [each for event in events for each in event.resources]
    if not host or any(is_same(each, name) for each in named):
        return None
    for each in named:
        if is_same(each, host):
            return (
                f"events name {each}, which is this machine's host name, but this VM"
                f" goes by {name}; they are not taken for its own"
            )
    return None
