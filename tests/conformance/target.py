"""The service under test: named by the options, or a forewarn started for the suite."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from tests.conformance.control import ControlClient
from tests.conformance.raw_connection import RequestPacer
from tests.conformance.temporary_fleet import TemporaryFleet
from tests.end_to_end.program import serving
from tests.patience import PATIENCE

_POLITE = 0.21  # seconds between requests: fewer than 5 a second
_PATIENCE = 130.0  # seconds: a first request may take two minutes (10.1b)
_OWN_PATIENCE = PATIENCE

NEEDS_EVENT = (
    "needs an event: pass --control and --token, or run it while one is scheduled"
)
NEEDS_CONTROL = "needs a control plane that creates events: pass --control and --token"
NEEDS_CLOCK = "needs a manual clock: forewarn serve --clock manual"
NEEDS_START = "needs a service with {}: omit --endpoint"
NEEDS_METHODS = (
    "needs permission to send methods other than GET and POST: pass --control"
)
NEEDS_FAST_POLLS = (
    "needs permission to poll fast: pass --control on loopback, and not --polite"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of forewarn that differ from their defaults; None means the default."""

    requests_per_second: str | None = None
    not_before_2017_03_01: str | None = None
    latest: str | None = None
    first_call_delay: str | None = None

    def __str__(self) -> str:
        return ", ".join(f"{n} = {v}" for n, v in asdict(self).items() if v)


#: Sets up a fleet on a service with these settings.
Serve = Callable[[Settings], TemporaryFleet]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A service under test."""

    endpoint: str
    control: ControlClient | None  # None if nothing may be changed
    pace: RequestPacer
    is_own: bool = False  # started by the suite

    @property
    def patience(self) -> float:
        """Return how many seconds a response may take."""
        return _OWN_PATIENCE if self.is_own else _PATIENCE


def named(
    endpoint: str, control: str | None, token: str | None, *, polite: bool
) -> Target:
    """Return the service named by the options; requests are slow unless it is local."""
    slowly = polite or not _is_near(endpoint)
    return Target(
        endpoint=endpoint.rstrip("/"),
        control=None
        if control is None
        else ControlClient(url=control, token=token or ""),
        pace=RequestPacer(interval=_POLITE if slowly else 0.0),
    )


def _is_near(endpoint: str) -> bool:
    host = urlsplit(endpoint).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def own(folder: Path, settings: Settings) -> Iterator[Target]:
    """Serve the demo fleet with a forewarn whose clock is manual."""
    serve = serving(
        folder,
        *("--clock", "manual", "--store", "memory"),
        FOREWARN_REQUESTS_PER_SECOND=settings.requests_per_second,
        FOREWARN_NOT_BEFORE_2017_03_01=settings.not_before_2017_03_01,
        FOREWARN_LATEST=settings.latest,
        FOREWARN_FIRST_CALL_DELAY=settings.first_call_delay,
    )
    with serve as program:
        service = program.service
        yield Target(
            endpoint=f"{service.metadata}/vm/web-0",
            control=ControlClient(url=service.control, token=service.token),
            pace=RequestPacer(),
            is_own=True,
        )
