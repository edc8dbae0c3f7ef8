"""Table of all settings of the service.

The command line, the environment, the configuration file and the reference page are all
generated from `SETTINGS`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address

from forewarn.clocks import rate_of
from forewarn.configfile.values import (
    Reader,
    a_number,
    invalid_value,
    one_of,
    read_connections,
    read_flag,
    read_names,
    read_seconds,
    read_text,
)
from forewarn.drivers.registry import DRIVERS, read_command, read_options
from forewarn.errors import InvalidInput
from forewarn.notifiers.settings import (
    read_secrets,
    read_source,
    read_targets,
    read_webhooks,
)
from forewarn.protocol.types import EventType

#: Prefix of a SQLite store URL.
SQLITE = "sqlite:///"

#: Prefixes of a PostgreSQL store URL.
POSTGRES = ("postgresql://", "postgres://")


@dataclass(frozen=True, slots=True)
class Address:
    """A host and port to listen on."""

    host: str
    port: int

    def __str__(self) -> str:
        """Format as HOST:PORT, with brackets around an IPv6 address."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect to this address."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def read_clock(value: object, place: str) -> str:
    """Parse the name of a clock."""
    text = read_text(value, place)
    try:
        rate_of(text)
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from None
    return text


def read_store(value: object, place: str) -> str:
    """Parse a store URL, or `memory`."""
    text = read_text(value, place)
    is_file = text.startswith(SQLITE) and len(text) > len(SQLITE)
    if is_file or text == "memory" or text.startswith(POSTGRES):
        return text
    expected = f"{SQLITE}PATH, postgresql://USER@HOST/DATABASE or memory"
    if "@" in text or "=" in text:  # may contain a password
        raise InvalidInput(f"{place}: expected {expected}")
    raise invalid_value(expected, value, place)


def read_address(value: object, place: str) -> Address:
    """Parse an address to listen on."""
    host, colon, port = str(value).rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    number = int(port) if port.isascii() and port.isdigit() else -1
    is_host = bool(host) and "/" not in host  # a URL is not an address
    if isinstance(value, str) and colon and is_host and 0 <= number <= 65535:
        return Address(host, number)
    raise invalid_value("an address such as 127.0.0.1:8254", value, place)


def _read_addresses(value: object, place: str) -> tuple[Address, ...]:
    """Parse one or more addresses: a list, or text separated by commas."""
    several = value.split(",") if isinstance(value, str) else value
    if not isinstance(several, list | tuple) or not several:
        raise invalid_value("one or more addresses", value, place)
    return tuple(
        read_address(item.strip() if isinstance(item, str) else item, place)
        for item in several
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting, and every way to set it."""

    name: str  # of the `Config` field; the flag has dashes
    key: str  # section.name in the configuration file
    default: object
    read: Reader
    help: str
    metavar: str = ""
    flag: bool = True  # whether there is a command-line flag
    shown_default: str = ""

    @property
    def variable(self) -> str:
        """The name of its environment variable."""
        return f"FOREWARN_{self.name.upper()}"

    @property
    def option(self) -> str:
        """The name of its command-line flag."""
        return f"--{self.name.replace('_', '-')}"


def _shown_settings() -> Iterator[Setting]:
    for kind in EventType:
        yield Setting(
            name=f"shown_{kind.lower()}",
            key=f"shown.{kind.lower()}",
            default=5,
            read=read_seconds,
            flag=False,
            help=f"How many seconds a {kind} is shown as Started at least.",
        )


_DRIVER: tuple[tuple[str, object, Reader, str], ...] = (
    (
        "parallel",
        4,
        a_number("calls", 1, 1000, is_whole=True),
        "How many maintenances the driver works on at once.",
    ),
    (
        "retries",
        0,
        a_number("retries", 0, 1000, is_whole=True),
        "How often the driver is called again by itself after it has failed.",
    ),
    (
        "backoff",
        5,
        read_seconds,
        "How many seconds before that; doubled each time, up to 300.",
    ),
    (
        "timeout",
        3600,
        a_number("seconds", 0, 30 * 86_400),
        "How many seconds a script may take; 0: as long as it likes.",
    ),
    ("grace", 5, read_seconds, "How many seconds a script has between TERM and KILL."),
    ("options", {}, read_options, "What a driver that is installed is made with."),
)


def _driver_settings() -> Iterator[Setting]:
    for name, default, read, text in _DRIVER:
        yield Setting(
            name=f"driver_{name}",
            key=f"driver.{name}",
            default=default,
            read=read,
            flag=False,
            help=text,
        )


_NOTIFY: tuple[Setting, ...] = (
    Setting(
        name="webhook_secret",
        key="notify.webhook_secret",
        default=None,
        read=read_secrets,
        flag=False,
        help="What messages to those of `--webhook` are signed with; several while it"
        " is changed.",
        shown_default="they are not signed",
    ),
    Setting(
        name="notify_targets",
        key="notify.targets",
        default=[],
        read=read_targets,
        flag=False,
        help="Who else is told, as tables; see how to receive webhooks.",
        shown_default="nobody",
    ),
    Setting(
        name="notify_source",
        key="notify.source",
        default="/forewarn",
        read=read_source,
        flag=False,
        help="Where messages say that they come from: a URI.",
    ),
    Setting(
        name="notify_longest_backoff",
        key="notify.longest_backoff",
        default=300,
        read=a_number("seconds", 1, 86_400),
        flag=False,
        help="How many seconds at the most until a message is sent again.",
    ),
)


_CONTROL: tuple[Setting, ...] = (
    Setting(
        name="tls_cert",
        key="control.tls_cert",
        default=None,
        read=read_text,
        metavar="FILE",
        help="The certificate of the API, in PEM, with those that lead to its"
        " authority; the API then speaks HTTPS only.",
        shown_default="none",
    ),
    Setting(
        name="tls_key",
        key="control.tls_key",
        default=None,
        read=read_text,
        metavar="FILE",
        help="The private key of that certificate, in PEM, without a passphrase.",
        shown_default="none",
    ),
    Setting(
        name="insecure_control",
        key="control.insecure",
        default=False,
        read=read_flag,
        help="Let others than this machine reach the API without TLS.",
        shown_default="only with TLS",
    ),
    Setting(
        name="control_host",
        key="control.hosts",
        default=[],
        read=read_names,
        metavar="NAME",
        help="A name by which the API is asked for; may be repeated. *: any name.",
        shown_default="its addresses, and the names of this machine",
    ),
)

SETTINGS: tuple[Setting, ...] = (
    Setting(
        name="metadata",
        key="metadata.listen",
        default=["127.0.0.1:8254"],
        read=_read_addresses,
        metavar="HOST:PORT",
        help="Where VMs ask for their events; may be repeated. Port 0: any free one.",
        shown_default="127.0.0.1:8254",
    ),
    Setting(
        name="control",
        key="control.listen",
        default="127.0.0.1:8255",
        read=read_address,
        metavar="HOST:PORT",
        help="Where operators reach the API.",
    ),
    *_CONTROL,
    Setting(
        name="store",
        key="store.url",
        default=None,
        read=read_store,
        metavar="URL",
        help="Where state is kept: sqlite:///PATH, postgresql://USER@HOST/DATABASE,"
        " or memory.",
        shown_default="a file in the state directory",
    ),
    Setting(
        name="fleet",
        key="fleet.file",
        default=None,
        read=read_text,
        metavar="FILE",
        help="A fleet file to apply at the start if it has changed; demo: the fleet"
        " that comes with forewarn.",
        shown_default="the fleet in the store",
    ),
    Setting(
        name="clock",
        key="clock.mode",
        default="system",
        read=read_clock,
        metavar="system|xN|manual",
        help="The clock that notice and durations run on.",
    ),
    Setting(
        name="driver",
        key="driver.name",
        default="nothing",
        read=DRIVERS.read_name,
        metavar="nothing|operator|script|NAME",
        help="What acts on VMs when a maintenance starts; NAME: one that is installed.",
    ),
    Setting(
        name="driver_command",
        key="driver.command",
        default=None,
        read=read_command,
        metavar="COMMAND",
        help="What the driver script runs: text, or in the file a list of words.",
        shown_default="none",
    ),
    Setting(
        name="webhook",
        key="notify.webhook",
        default=[],
        read=read_webhooks,
        metavar="URL",
        help="Who is told of what happens; may be repeated. In the environment: with"
        " spaces between them.",
        shown_default="nobody",
    ),
    Setting(
        name="default_vm",
        key="metadata.default_vm",
        default=None,
        read=read_text,
        metavar="NAME",
        help="The VM that unknown callers speak for, where the plane is open.",
        shown_default="the first VM of the fleet",
    ),
    Setting(
        name="open",
        key="metadata.open",
        default=False,
        read=read_flag,
        help="Let callers say which VM they speak for although others can connect.",
        shown_default="only on loopback",
    ),
    Setting(
        name="requests_per_second",
        key="metadata.requests_per_second",
        default=0,
        read=a_number("requests", 0, 1_000_000),
        flag=False,
        help="How many requests a second each VM may send; more are answered 429.",
        shown_default="0: as many as it likes",
    ),
    Setting(
        name="connections_per_vm",
        key="metadata.connections_per_vm",
        default=256,
        read=read_connections,
        flag=False,
        help="How many connections each VM may have; more are answered 503.",
    ),
    Setting(
        name="connections",
        key="metadata.connections",
        default=None,
        read=read_connections,
        flag=False,
        help="How many connections there may be; more are closed at once.",
        shown_default="what the limit on open files leaves",
    ),
    Setting(
        name="log_format",
        key="log.format",
        default="text",
        read=one_of("text", "json"),
        metavar="text|json",
        help="How the log on stderr is written.",
    ),
    Setting(
        name="log_level",
        key="log.level",
        default="info",
        read=one_of("debug", "info", "warning", "error"),
        metavar="LEVEL",
        help="How much is logged: debug, info, warning or error.",
    ),
    Setting(
        name="lead",
        key="driver.lead",
        default=None,
        read=read_seconds,
        flag=False,
        help="How many seconds after Started the driver acts.",
        shown_default="2; 0 where the driver does nothing",
    ),
    *_driver_settings(),
    *_NOTIFY,
    *_shown_settings(),
    Setting(
        name="user_operations_limit",
        key="user_operations.limit",
        default=0,
        read=a_number("user operations", 0, 1_000_000, is_whole=True),
        flag=False,
        help="How many user operations may be scheduled at once; the next is refused.",
        shown_default="0: any number",
    ),
    Setting(
        name="host_failure_type",
        key="host_failure.type",
        default="reboot",
        read=one_of("reboot", "redeploy"),
        flag=False,
        help="What VMs are told when their host has failed.",
    ),
    Setting(
        name="not_before_2017_03_01",
        key="protocol.not_before_2017_03_01",
        default="iso8601",
        read=one_of("iso8601", "rfc1123"),
        flag=False,
        help="How api-version 2017-03-01 writes NotBefore.",
    ),
    Setting(
        name="latest",
        key="protocol.latest",
        default=False,
        read=read_flag,
        flag=False,
        help="Take api-version latest for 2017-03-01, and versions in the path.",
    ),
    Setting(
        name="first_call_delay",
        key="listening.first_call_delay",
        default=0,
        read=a_number("seconds", 0, 120),
        flag=False,
        help="How many seconds late the first request of a silent group is answered,"
        " 120 at most.",
        shown_default="0: at once",
    ),
    Setting(
        name="seed",
        key="rehearsal.seed",
        default=None,
        read=a_number("a seed", 0, 2**53, is_whole=True),
        metavar="NUMBER",
        help="Make the same ids, jitter and faults every time; with --store memory.",
        shown_default="others every time",
    ),
)
