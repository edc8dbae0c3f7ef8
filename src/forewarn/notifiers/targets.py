"""Notification targets: where to send which facts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from forewarn.core.fleet import fold_name
from forewarn.errors import InvalidInput
from forewarn.formats import is_utf8
from forewarn.plugins import PluginKind

#: A target's default facts: what happens to VMs and what needs attention.
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

#: Built-in and installed kinds of notifiers.
NOTIFIERS = PluginKind(
    noun="notifier",
    group="forewarn.notifiers",
    method="notify",
    ours=("webhook", "log"),
)

#: The log notifier's logger.
NOTIFICATIONS = "forewarn.notifications"

#: The default timeout of a webhook, in seconds.
TIMEOUT = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The settings of one target."""

    name: str
    kind: str
    url: str | None = field(default=None, repr=False)  # None if not needed
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
        return None if self.url is None else url_without_secrets(self.url)


def url_without_secrets(url: str) -> str:
    """Return only scheme, host and port, because paths may contain secrets."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def with_secrets(
    targets: Iterable[Target], environment: Mapping[str, str]
) -> tuple[Target, ...]:
    """Add the secrets to `targets`; raise `InvalidInput` for duplicate names."""
    completed = tuple(_with_secrets(target, environment) for target in targets)
    names = [fold_name(target.name) for target in completed]
    for target in completed:
        if names.count(fold_name(target.name)) > 1:
            raise InvalidInput(
                f"duplicate target {target.name}; give each target its own name"
            )
    return completed


def _with_secrets(target: Target, environment: Mapping[str, str]) -> Target:
    secrets: Sequence[str] = [
        *target.secrets,
        *(_in_file(target, name) for name in target.secret_files),
        *(_in_variable(target, name, environment) for name in target.secret_variables),
    ]
    if not all(map(is_utf8, secrets)):
        raise InvalidInput(f"a secret for {target.name} is not valid text")
    return replace(target, secrets=tuple(dict.fromkeys(secrets)))


def _in_file(target: Target, name: str) -> str:
    try:
        secret = Path(name).read_text().strip()
    except OSError as error:
        raise InvalidInput(
            f"cannot read the secret for {target.name} in {name}: {error.strerror}"
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"the secret for {target.name} in {name} is not valid text"
        ) from error
    if not secret:
        raise InvalidInput(f"the secret for {target.name} is missing: {name} is empty")
    return secret


def _in_variable(target: Target, name: str, environment: Mapping[str, str]) -> str:
    secret = environment.get(name, "").strip()
    if not secret:
        raise InvalidInput(f"the secret for {target.name} is missing: set ${name}")
    return secret
