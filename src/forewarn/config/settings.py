"""All settings of the service, each a field of `Config` with every way to set it.

The command line, the environment, the configuration file and the reference page are all
generated from `SETTINGS`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from ipaddress import ip_network
from pathlib import Path
from typing import Any, TypeVar

from forewarn.clocks import rate_of
from forewarn.configfile.values import (
    Address,
    Reader,
    invalid_value,
    list_of,
    matching,
    number,
    one_of,
    read_address,
    read_switch,
    read_text,
    whole_number,
)
from forewarn.drivers.registry import DRIVERS, read_command
from forewarn.errors import InvalidInput
from forewarn.logs import FORMATS, LEVELS
from forewarn.notifiers.settings import (
    read_secrets,
    read_source,
    read_targets,
    read_webhooks,
)
from forewarn.notifiers.targets import Target
from forewarn.plugins import read_options
from forewarn.protocol.types import EventType
from forewarn.protocol.versions import DateForm

_T = TypeVar("_T")

#: The prefix of SQLite store URLs.
SQLITE = "sqlite:///"

#: The prefixes of PostgreSQL store URLs.
POSTGRES = ("postgresql://", "postgres://")


_LOOPBACK = ("127.0.0.1", "::1")
_HOST_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*|\*")


def _read_clock(value: object) -> str:
    """Parse a clock's name."""
    text = read_text(value)
    rate_of(text)
    return text


def read_store(value: object) -> str:
    """Parse a store URL, or `memory`."""
    text = read_text(value)
    is_file = text.startswith(SQLITE) and len(text) > len(SQLITE)
    if is_file or text == "memory" or text.startswith(POSTGRES):
        return text
    expected = f"{SQLITE}PATH, postgresql://USER@HOST/DATABASE or memory"
    if "@" in text or "=" in text:  # may contain a password
        raise InvalidInput(f"expected {expected}")
    raise invalid_value(expected, value)


def _read_host_name(value: object) -> str:
    name = value.strip().lower().removesuffix(".") if isinstance(value, str) else value
    return _host_name(name)


def _read_proxy(value: object) -> str:
    try:
        return str(ip_network(read_text(value).strip(), strict=False))
    except ValueError:
        raise invalid_value(
            "an address or network such as 10.0.0.0/24", value
        ) from None


def _read_proxies(value: object) -> tuple[str, ...]:
    """Parse a list of addresses; `none` means an empty list."""
    return () if value in ("none", ["none"]) else _proxies(value)


def _at_commas(text: str) -> list[str]:
    return text.split(",")


_host_name = matching(_HOST_NAME, "a name such as forewarn.example.org, without a port")
_read_host_names = list_of(_read_host_name, "one or more names", split=_at_commas)
_proxies = list_of(_read_proxy, "one or more addresses", split=_at_commas)
_read_addresses = list_of(
    read_address, "one or more addresses", least=1, split=_at_commas
)
_read_seconds = number("seconds", 0, 86_400, is_text=True)
_read_connections = whole_number(1, 10_000_000, unit="connections", is_text=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting and every way to set it."""

    name: str  # the `Config` field's name; the flag has dashes
    key: str  # section.name in the configuration file
    default: object
    read: Reader[Any]
    help: str
    metavar: str | None  # empty for a switch; None without a flag
    shown_default: str

    @property
    def variable(self) -> str:
        """The name of the environment variable."""
        return f"FOREWARN_{self.name.upper()}"

    @property
    def option(self) -> str:
        """The name of the command-line flag."""
        return f"--{self.name.replace('_', '-')}"


def _setting(
    key: str,
    read: Reader[_T],
    help_text: str,
    *,
    default: object = None,
    metavar: str | None = None,
    shown_default: str = "",
    is_secret: bool = False,
) -> _T:
    """Return a field of `Config` with everything in its `Setting` except the name."""
    metadata = {
        "key": key,
        "default": default,
        "read": read,
        "help": help_text,
        "metavar": metavar,
        "shown_default": shown_default,
    }
    made: _T = field(repr=not is_secret, metadata=metadata)
    return made


def _shown(kind: EventType) -> float:
    text = f"minimum number of seconds that a {kind} is shown as Started"
    made: float = _setting(f"shown.{kind.lower()}", _read_seconds, text, default=5)
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The merged value of every setting."""

    metadata: tuple[Address, ...] = _setting(
        "metadata.listen",
        _read_addresses,
        "address to listen on for the metadata service; repeatable; port 0 selects a"
        " free port",
        default=["127.0.0.1:8254"],
        metavar="HOST:PORT",
        shown_default="127.0.0.1:8254",
    )
    control: Address = _setting(
        "control.listen",
        read_address,
        "address to listen on for the control API and the portal",
        default="127.0.0.1:8255",
        metavar="HOST:PORT",
    )
    tls_cert: str | None = _setting(  # None if the control plane uses plain HTTP
        "control.tls_cert",
        read_text,
        "TLS certificate for the control API (PEM), including intermediate"
        " certificates; if set, the API accepts only HTTPS",
        metavar="FILE",
        shown_default="none",
    )
    tls_key: str | None = _setting(  # None if the control plane uses plain HTTP
        "control.tls_key",
        read_text,
        "private key for the TLS certificate (PEM), without a passphrase",
        metavar="FILE",
        shown_default="none",
    )
    insecure_control: bool = _setting(
        "control.insecure",
        read_switch,
        "allow the control API to listen on a non-loopback address without TLS",
        default=False,
        metavar="",
        shown_default="TLS is required",
    )
    control_host: tuple[str, ...] = _setting(
        "control.hosts",
        _read_host_names,
        "hostname that clients use for the control API; repeatable; * allows any name",
        default=[],
        metavar="NAME",
        shown_default="the API's addresses and this machine's names",
    )
    control_proxy: tuple[str, ...] | None = _setting(  # None for `trusted_proxies`
        "control.proxies",
        _read_proxies,
        "address or network of a proxy whose X-Forwarded-For header is trusted;"
        " repeatable; `none` means that no proxy is trusted",
        metavar="ADDRESS",
        shown_default="loopback with --control-host, otherwise none",
    )
    store: str = _setting(
        "store.url",
        read_store,
        "database that stores the service's state: sqlite:///PATH,"
        " postgresql://USER@HOST/DATABASE or memory",
        metavar="URL",
        shown_default="a file in the state directory",
        is_secret=True,  # may contain a password
    )
    fleet: str | None = _setting(
        "fleet.file",
        read_text,
        "fleet file to apply at startup if it has changed; `demo` is a bundled example",
        metavar="FILE",
        shown_default="the fleet in the store",
    )
    clock: str = _setting(
        "clock.mode",
        _read_clock,
        "clock for notice periods and durations: the system clock, a clock that runs N"
        " times as fast, or one that you advance manually",
        default="system",
        metavar="system|xN|manual",
    )
    driver: str = _setting(
        "driver.name",
        DRIVERS.read_name,
        "driver that acts on VMs when maintenance starts; NAME is the name of an"
        " installed plug-in",
        default="nothing",
        metavar="nothing|operator|script|NAME",
    )
    driver_command: tuple[str, ...] | None = _setting(  # None: runs no command
        "driver.command",
        read_command,
        "command that the `script` driver runs; in the file, a string or a list of"
        " words",
        metavar="COMMAND",
        shown_default="none",
    )
    webhook: tuple[str, ...] = _setting(  # part of `notify_targets`
        "notify.webhook",
        read_webhooks,
        "URL of a webhook that receives notifications; repeatable; in the environment"
        " variable, separate URLs with spaces",
        default=[],
        metavar="URL",
        shown_default="none",
        is_secret=True,  # may contain a password
    )
    default_vm: str | None = _setting(
        "metadata.default_vm",
        read_text,
        "VM that unidentified clients act as; applies only on loopback or with --open",
        metavar="NAME",
        shown_default="the first VM in the fleet",
    )
    open: bool = _setting(
        "metadata.open",
        read_switch,
        "allow clients to choose a VM via /vm/NAME even on a non-loopback address",
        default=False,
        metavar="",
        shown_default="allowed only on loopback",
    )
    metadata_host: tuple[str, ...] = _setting(
        "metadata.hosts",
        _read_host_names,
        "hostname that clients use for the metadata service; repeatable; * allows any"
        " name",
        default=[],
        metavar="NAME",
        shown_default="addresses, names without a dot, and this machine's name",
    )
    requests_per_second: float = _setting(  # per VM; 0 means no limit
        "metadata.requests_per_second",
        number("requests", 0, 1_000_000, is_text=True),
        "maximum requests per second from each VM; further ones receive a 429 response",
        default=0,
        shown_default="0 (no limit)",
    )
    connections_per_vm: int = _setting(
        "metadata.connections_per_vm",
        _read_connections,
        "maximum number of connections from each VM; further ones receive a 503"
        " response",
        default=256,
    )
    connections: int | None = _setting(  # None to derive it from the open file limit
        "metadata.connections",
        _read_connections,
        "maximum number of connections in total; further ones are closed immediately",
        shown_default="derived from the open-file limit",
    )
    log_format: str = _setting(
        "log.format",
        one_of(*FORMATS),
        "log format; the log is written to standard error",
        default="text",
        metavar="text|json",
    )
    log_level: str = _setting(
        "log.level",
        one_of(*LEVELS),
        "minimum log level: debug, info, warning or error",
        default="info",
        metavar="LEVEL",
    )
    lead: float | None = _setting(  # seconds; None for 2, or 0 if the driver is nothing
        "driver.lead",
        _read_seconds,
        "seconds between the Started status and the driver call",
        shown_default="2, or 0 for the `nothing` driver",
    )
    driver_parallel: int = _setting(
        "driver.parallel",
        whole_number(1, 1000, unit="calls", is_text=True),
        "maximum number of maintenance operations that the driver handles in parallel",
        default=4,
    )
    driver_retries: int = _setting(
        "driver.retries",
        whole_number(0, 1000, unit="retries", is_text=True),
        "number of automatic retries after the driver fails",
        default=0,
    )
    driver_backoff: float = _setting(  # seconds
        "driver.backoff",
        _read_seconds,
        "seconds before the first retry; the delay doubles with each further retry, up"
        " to 300 seconds",
        default=5,
    )
    driver_timeout: float = _setting(  # seconds; 0 means no limit
        "driver.timeout",
        number("seconds", 0, 30 * 86_400, is_text=True),
        "maximum number of seconds that a script may run; 0 means no limit",
        default=3600,
    )
    driver_grace: float = _setting(  # seconds
        "driver.grace",
        _read_seconds,
        "seconds between SIGTERM and SIGKILL when a script is stopped",
        default=5,
    )
    driver_options: Mapping[str, object] = _setting(
        "driver.options",
        read_options,
        "options for an installed driver plug-in",
        default={},
        is_secret=True,
    )
    webhook_secret: tuple[str, ...] | None = _setting(  # part of `notify_targets`
        "notify.webhook_secret",
        read_secrets,
        "signing secret for messages to `--webhook` targets; specify several while you"
        " rotate secrets",
        shown_default="messages are not signed",
        is_secret=True,
    )
    notify_targets: tuple[Target, ...] = _setting(  # targets from `webhook` come first
        "notify.targets",
        read_targets,
        "additional notification targets, as tables; see"
        " [Receive webhooks](../how-to/receive-webhooks.md)",
        default=[],
        shown_default="none",
    )
    notify_source: str = _setting(
        "notify.source",
        read_source,
        "URI for the `source` field in messages",
        default="/forewarn",
    )
    notify_longest_backoff: float = _setting(  # seconds
        "notify.longest_backoff",
        number("seconds", 1, 86_400, is_text=True),
        "maximum number of seconds between delivery attempts",
        default=300,
    )
    shown_freeze: float = _shown(EventType.FREEZE)  # seconds
    shown_reboot: float = _shown(EventType.REBOOT)
    shown_redeploy: float = _shown(EventType.REDEPLOY)
    shown_preempt: float = _shown(EventType.PREEMPT)
    shown_terminate: float = _shown(EventType.TERMINATE)
    user_operations_limit: int = _setting(  # 0 means no limit
        "user_operations.limit",
        whole_number(0, 1_000_000, unit="user operations", is_text=True),
        "maximum number of user operations that a group's tokens may have scheduled at"
        " once; 0 means no limit",
        default=500,
    )
    user_operations_max_duration: int = _setting(  # seconds
        "user_operations.max_duration",
        whole_number(0, 315_360_000, unit="seconds", is_text=True),
        "longest duration, in seconds, that a group's token may set",
        default=900,
    )
    user_operations_max_notice: int = _setting(  # seconds
        "user_operations.max_notice",
        whole_number(900, 315_360_000, unit="seconds", is_text=True),
        "how far ahead, in seconds, a group's token may schedule an operation",
        default=604_800,
    )
    host_failure_type: EventType = _setting(
        "host_failure.type",
        one_of(EventType.REBOOT, EventType.REDEPLOY),
        "event type that VMs see when their host fails",
        default="reboot",
    )
    not_before_2017_03_01: DateForm = _setting(
        "protocol.not_before_2017_03_01",
        one_of(DateForm.ISO8601, DateForm.RFC1123),
        "NotBefore format in api-version 2017-03-01",
        default="iso8601",
    )
    latest: bool = _setting(
        "protocol.latest",
        read_switch,
        "treat api-version `latest` as 2017-03-01, and accept versions in the URL path",
        default=False,
    )
    first_call_delay: float = _setting(  # seconds
        "enabling.first_call_delay",
        number("seconds", 0, 120, is_text=True),
        "seconds to delay the first response to a disabled group, at most 120",
        default=0,
        shown_default="0 (no delay)",
    )
    seed: int | None = _setting(  # None if IDs and jitter are random
        "rehearsal.seed",
        whole_number(0, 2**53, is_text=True),
        "make IDs, jitter and faults reproducible; requires --store memory",
        metavar="NUMBER",
        shown_default="random",
    )
    state_directory: Path

    @property
    def shown(self) -> Mapping[EventType, float]:
        """The minimum seconds that events of each type are shown as Started."""
        return {kind: getattr(self, f"shown_{kind.lower()}") for kind in EventType}

    @property
    def trusted_proxies(self) -> Sequence[str]:
        """The proxies that are trusted to report their clients."""
        if self.control_proxy is not None:
            return self.control_proxy
        return _LOOPBACK if self.control_host else ()

    @property
    def is_open(self) -> bool:
        """Return whether clients may choose the VM that they act as."""
        return self.open or all(address.is_loopback for address in self.metadata)


SETTINGS: tuple[Setting, ...] = tuple(
    Setting(name=own.name, **own.metadata) for own in fields(Config) if own.metadata
)
