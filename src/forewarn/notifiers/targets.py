"""Notification targets: where to send which facts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

#: The default facts of a target: what happens to VMs, and what needs attention.
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

#: The logger of the log notifier.
NOTIFICATIONS = "forewarn.notifications"

#: The default timeout of a webhook, in seconds.
TIMEOUT = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The settings of one target."""

    name: str
    kind: str
    url: str | None = field(default=None, repr=False)  # None if it needs none
    secrets: tuple[str, ...] = field(default=(), repr=False)  # newest first
    secret_files: tuple[str, ...] = ()
    secret_variables: tuple[str, ...] = ()
    groups: frozenset[str] | None = None  # in lower case; None for all groups
    facts: frozenset[str] = USUAL
    timeout: float = TIMEOUT  # seconds
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    options: Mapping[str, object] = field(default_factory=dict, repr=False)

    @property
    def shown_url(self) -> str | None:
        """The URL without possible secrets."""
        return None if self.url is None else shown(self.url)


def shown(url: str) -> str:
    """Remove possible secrets from `url`: user, password and query."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=host, query="", fragment="").geturl()
