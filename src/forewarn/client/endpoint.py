"""The endpoint of the metadata service, parsed from a URL."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from forewarn.errors import InvalidInput

#: The address in Azure's documentation.
DEFAULT = "http://169.254.169.254"
#: The environment variable for the endpoint if no argument sets it.
VARIABLE = "FOREWARN_ENDPOINT"

#: Paths that may follow the base URL and are removed, longest first.
_ENDINGS = ("/metadata/scheduledevents", "/metadata/instance", "/metadata")
_EXAMPLE = f"for example, {DEFAULT}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The host, port and path prefix of a metadata service."""

    host: str
    port: int = 80
    prefix: str = ""  # begins with a slash or is empty

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == 80 else f"{host}:{self.port}"

    def __str__(self) -> str:
        """Format the endpoint as a base URL."""
        return f"http://{self.authority}{self.prefix}"


def find(given: str | None, environment: Mapping[str, str]) -> Endpoint:
    """Parse `given`, or else the environment's endpoint, or else the default."""
    return parse(given or environment.get(VARIABLE) or DEFAULT)


def parse(text: str) -> Endpoint:
    """Parse a base URL, with or without /metadata and anything that follows it."""
    parts = _split(text)
    try:
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InvalidInput(f"{text!r} has an invalid port; {_EXAMPLE}") from error
    if not host or port == 0 or not _can_be_looked_up(host):
        raise InvalidInput(f"{text!r} is not a valid endpoint; {_EXAMPLE}")
    if parts.username is not None:
        raise InvalidInput("an endpoint cannot contain a user name; remove it")
    return Endpoint(host=host, port=port or 80, prefix=_prefix(parts.path))


def _can_be_looked_up(host: str) -> bool:
    """Return whether every label of a hostname has 1 to 63 characters."""
    return all(0 < len(part) < 64 for part in host.removesuffix(".").split("."))


def _split(text: str) -> SplitResult:
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise InvalidInput(f"{text!r} is not a valid URL; {_EXAMPLE}")
    try:
        parts = urlsplit(text)
    except ValueError as error:
        raise InvalidInput(f"{text!r} is not a valid URL; {_EXAMPLE}") from error
    if parts.scheme == "https":
        raise InvalidInput(
            f"metadata services use plain HTTP; use http:// instead of {text!r}"
        )
    if parts.scheme != "http":
        raise InvalidInput(f"{text!r} does not start with http://; {_EXAMPLE}")
    return parts


def _prefix(path: str) -> str:
    bare = path.rstrip("/")
    for ending in _ENDINGS:
        if bare.lower().endswith(ending):
            return bare[: -len(ending)].rstrip("/")
    return bare
