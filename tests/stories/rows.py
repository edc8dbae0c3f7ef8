"""How a row of a table tells a cause: what is done, and what comes of it."""

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
class Act:
    """A maintenance that the row expects."""

    type: str
    source: str = "Platform"
    cause: str = "platform"
    host: str | None = None
    notice: int | None  # seconds; None: at once, and blank on the wire
    duration: int = -1
    description: str = MAINTENANCE
    reason: str | None = None
    approved: str | None = None  # how, at the announcement; None: not
    #: Groups with the resources of each event.
    events: Sequence[tuple[str, Sequence[str]]]

    @property
    def vms(self) -> list[str]:
        """All VMs that are touched."""
        return [vm for _, resources in self.events for vm in resources]


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """Ask the control API; answered with `status`, and those `concerned`."""

    path: str
    body: Mapping[str, object] | None = None
    status: int = 201
    #: What a command that makes nothing answers with.
    concerned: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tell:
    """Tell something of the maintenance `act`, such as that it is complete."""

    act: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Approve:
    """Let `vm` approve event number `event` of `act`; None: the operator does."""

    act: str
    vm: str | None
    event: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """Let time pass."""

    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Let `vm` ask for its events."""

    vm: str


Do = Post | Tell | Approve | Advance | Ask


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What is done, and the phases that are different afterwards."""

    do: Do
    then: Mapping[str, str] = field(default_factory=dict)
    gone: Sequence[str] = ()  # VMs that are no longer in the fleet


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One cause, from the command to the end."""

    name: str
    acts: Mapping[str, Act]  # in the order of announcement
    steps: Sequence[Step]


def post(
    path: str,
    body: Mapping[str, object] | None = None,
    *,
    then: Mapping[str, str],
    gone: Sequence[str] = (),
) -> Step:
    """Ask for what makes maintenances, at `path` below /v1."""
    return Step(do=Post(path=f"/v1/{path}", body=body), then=then, gone=gone)


def repost(
    path: str,
    body: Mapping[str, object] | None = None,
    *,
    concerned: Sequence[str],
    then: Mapping[str, str] | None = None,
) -> Step:
    """Ask for what makes none, but may change those `concerned`."""
    asked = Post(path=f"/v1/{path}", body=body, status=200, concerned=concerned)
    return Step(do=asked, then=then or {})


def lapse(act: str, notice: int) -> Sequence[Step]:
    """Let the notice run out: not a second too early, not one too late."""
    return (
        Step(do=Advance(seconds=notice - 1)),
        Step(do=Advance(seconds=1), then={act: STARTED}),
    )


def last(act: str, seconds: int = 5, gone: Sequence[str] = ()) -> Sequence[Step]:
    """Let a started one last: not a second more, not one less."""
    return (
        Step(do=Advance(seconds=seconds - 1)),
        Step(do=Advance(seconds=1), then={act: COMPLETED}, gone=gone),
    )
