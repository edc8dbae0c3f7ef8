"""Identity of this VM: its name, its place in an event, and its rule for it.

1. A VM's name is the configured one, else compute.name of /metadata/instance, else the
   host name. Only the first known one counts.
2. Comparison ignores case and one leading underscore, which api-version 2017-03-01 puts
   before names.
3. The VM `web_18` of a scale set has the host name `web00000i`: six digits in base 36.
   Both are the same name if the part before the number is the same.
"""

import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from forewarn.agent.config.plan import Plan, Rule
from forewarn.agent.events.observation import RuleDecision
from forewarn.agent.events.state import ResponsePlan
from forewarn.agent.rules import Situation, match_rule
from forewarn.client.service_clock import ServiceClock
from forewarn.protocol.types import Document, ScheduledEvent

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_INSTANCE = re.compile(r"(.+)_(0|[1-9][0-9]{0,9})")
_HIGHEST = 36**6 - 1  # the highest number with six digits


@dataclass(frozen=True, slots=True, kw_only=True)
class VmIdentity:
    """The name of this VM."""

    name: str | None  # None if unknown, so that no event matches

    def is_me(self, resource: str) -> bool:
        """Return whether an entry of Resources is this VM."""
        return self.name is not None and is_same(self.name, resource)

    def position(self, resources: Sequence[str]) -> int | None:
        """Return this VM's index in `resources`; None if it is not there."""
        indexes = (
            index for index, resource in enumerate(resources) if self.is_me(resource)
        )
        return next(indexes, None)


class LocalVm:
    """This VM's name, as far as it is known, and its rules."""

    def __init__(self, plan: Plan, clock: ServiceClock, host_name: str) -> None:
        """Use the plan's name, else the service's name, else `host_name`."""
        self._plan = plan
        self._clock = clock
        self._host_name = host_name
        self._compute_name: str | None = None
        self._identity = self._identify()

    @property
    def name(self) -> str:
        """The name of this VM; empty if it is unknown."""
        return self._identity.name or ""

    def learn(self, compute_name: str | None) -> str:
        """Store the name from /metadata/instance; return the name that is used."""
        self._compute_name = compute_name or self._compute_name
        self._identity = self._identify()
        return self.name

    def position(self, resources: Sequence[str]) -> int | None:
        """Return this VM's index in `resources`; None if it is not there."""
        return self._identity.position(resources)

    def decide(
        self, event: ScheduledEvent, is_mine: bool, notice: float | None
    ) -> RuleDecision:
        """Find the rule for an event."""
        situation = Situation(is_mine=is_mine, notice=notice, now=self._clock.now())
        match = match_rule(self._plan.rules, event, situation)
        plan = None if match.rule is None else _response_plan(match.rule)
        return RuleDecision(plan=plan, why=match.why)

    def mismatch(self, document: Document | None) -> str | None:
        """Explain why events of this VM may be missed; None if its names match."""
        return mismatch(
            explicit=self._plan.name,
            compute_name=self._compute_name,
            host_name=self._host_name,
            document=document,
        )

    def _identify(self) -> VmIdentity:
        return identify(
            explicit=self._plan.name,
            compute_name=self._compute_name,
            host_name=self._host_name,
        )


def identify(
    *, explicit: str | None, compute_name: str | None, host_name: str | None
) -> VmIdentity:
    """Choose the name of this VM."""
    return VmIdentity(name=explicit or compute_name or _first_label(host_name) or None)


def host_name() -> str:
    """Return the host name of this machine."""
    return socket.gethostname()


def mismatch(
    *,
    explicit: str | None,
    compute_name: str | None,
    host_name: str | None,
    document: Document | None,
) -> str | None:
    """Explain in a sentence why events may be missed; None if the names match."""
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


def is_same(one: str, other: str) -> bool:
    """Return whether two names are the same VM."""
    return not _forms(one).isdisjoint(_forms(other))


def _response_plan(rule: Rule) -> ResponsePlan:
    return ResponsePlan(
        rule=rule.name,
        hooks=rule.hooks,
        parallel=rule.parallel,
        approve=rule.approve,
        together=rule.together,
        ready=rule.ready,
    )


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
    return frozenset({plain, parts[1] + _base_36(int(parts[2]))})


def _base_36(number: int) -> str:
    digits = ""
    for _ in range(6):
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits


def _first_label(host: str | None) -> str:
    return (host or "").partition(".")[0]
