"""Rows of tables that describe causes: the actions, and the expected results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

SCHEDULED, STARTED = "SCHEDULED", "STARTED"
COMPLETED, CANCELED = "COMPLETED", "CANCELED"

MAINTENANCE = "Host server is undergoing maintenance."
REPAIR = "Host server is undergoing an emergency repair."
FAILURE = "Virtual machine has encountered a failure."
RESTART = "Virtual machine is going to be restarted as requested by authorized user."
REDEPLOY = "Virtual machine is going to be redeployed as requested by authorized user."

MINUTES = 60
DAYS = 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedMaintenance:
    """A maintenance that the row expects."""

    type: str
    source: str = "Platform"
    cause: str = "platform"
    host: str | None = None
    notice: int | None  # seconds; None if immediate, with a blank NotBefore
    duration: int = -1
    description: str = MAINTENANCE
    reason: str | None = None
    approved: str | None = None  # via, at the announcement; None if not approved
    #: Group and resources of each event.
    events: Sequence[tuple[str, Sequence[str]]]

    @property
    def vms(self) -> list[str]:
        """Return all affected VMs."""
        return [vm for _, resources in self.events for vm in resources]


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A control API request that returns `status` and the labels `concerned`."""

    path: str
    body: Mapping[str, object] | None = None
    status: int = 201
    #: Maintenance in the response to a request that creates none.
    concerned: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Approve:
    """An approval of event number `event` by `vm`, or by the operator if None."""

    act: str
    vm: str | None
    event: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """An advance of the clock."""

    seconds: int


Do = Post | Approve | Advance


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """An action, and the phases that it changes."""

    do: Do
    then: Mapping[str, str] = field(default_factory=dict)
    gone: Sequence[str] = ()  # VMs that are no longer in the fleet


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One cause, from the command to the end."""

    name: str
    acts: Mapping[str, ExpectedMaintenance]  # in the order of announcement
    steps: Sequence[Step]


def post(
    path: str,
    body: Mapping[str, object] | None = None,
    *,
    then: Mapping[str, str],
) -> Step:
    """Return a step that creates maintenance, at `path` below /v1."""
    return Step(do=Post(path=f"/v1/{path}", body=body), then=then)


def repost(
    path: str,
    body: Mapping[str, object] | None = None,
    *,
    concerned: Sequence[str],
    then: Mapping[str, str] | None = None,
) -> Step:
    """Return a step that creates none, but may change those `concerned`."""
    request = Post(path=f"/v1/{path}", body=body, status=200, concerned=concerned)
    return Step(do=request, then=then or {})


def wait_for_notice(act: str, notice: int) -> Sequence[Step]:
    """Return steps in which `act` starts exactly at the end of its notice."""
    return (
        Step(do=Advance(seconds=notice - 1)),
        Step(do=Advance(seconds=1), then={act: STARTED}),
    )


def last(act: str, seconds: int = 5, gone: Sequence[str] = ()) -> Sequence[Step]:
    """Return steps in which a started `act` completes after exactly `seconds`."""
    return (
        Step(do=Advance(seconds=seconds - 1)),
        Step(do=Advance(seconds=1), then={act: COMPLETED}, gone=gone),
    )


def planned(
    name: str,
    path: str,
    act: ExpectedMaintenance,
    body: Mapping[str, object] | None = None,
    *,
    lasts: int = 5,
    gone: Sequence[str] = (),
) -> Row:
    """Return a row in which nobody approves, and VMs `gone` leave at the end."""
    assert act.notice is not None
    steps = (
        post(path, body, then={"m": SCHEDULED}),
        *wait_for_notice("m", act.notice),
        *last("m", lasts, gone),
    )
    return Row(name=name, acts={"m": act}, steps=steps)


def immediate(
    name: str,
    path: str,
    act: ExpectedMaintenance,
    body: Mapping[str, object] | None = None,
    *,
    lasts: int = 5,
    gone: Sequence[str] = (),
) -> Row:
    """Return a row that starts at once, and in which VMs `gone` leave at the end."""
    steps = (post(path, body, then={"m": STARTED}), *last("m", lasts, gone))
    return Row(name=name, acts={"m": act}, steps=steps)
