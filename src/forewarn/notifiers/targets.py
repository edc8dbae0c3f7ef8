"""A target: who is told, of what, and how."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

#: Of what a target is told if nothing else is set: what happens to VMs, and what
#: somebody should look after.
USUAL = frozenset(
    {
        "Announced",
        "Approved",
        "Withdrawn",
        "Started",
        "WorkFailed",
        "Completed",
        "Canceled",
        "Closed",
        "OutageEnded",
    }
)

#: The logger that the log as a notifier writes to.
NOTIFICATIONS = "forewarn.notifications"

#: How many seconds a webhook may take if nothing else is set.
TIMEOUT = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is set for one target."""

    name: str
    kind: str
    url: str | None = field(default=None, repr=False)  # None: it needs none
    secrets: tuple[str, ...] = field(default=(), repr=False)  # newest first
    secret_files: tuple[str, ...] = ()
    secret_variables: tuple[str, ...] = ()
    groups: frozenset[str] | None = None  # in lower case; None: all of them
    facts: frozenset[str] = USUAL
    timeout: float = TIMEOUT  # seconds
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    options: Mapping[str, object] = field(default_factory=dict, repr=False)

    @property
    def shown_url(self) -> str | None:
        """Its URL without what may be a secret."""
        return None if self.url is None else shown(self.url)


def shown(url: str) -> str:
    """Leave out of `url` what may be a secret: user, password and query."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=host, query="", fragment="").geturl()
