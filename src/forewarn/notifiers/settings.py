"""Parsers of notification settings.

Possible secrets are never shown, not even in error messages.
"""

import hashlib
import re
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from forewarn.configfile.values import invalid_value
from forewarn.core.queries.search import KINDS, fact_kind, fold_names
from forewarn.errors import InvalidInput
from forewarn.notifiers.targets import NOTIFIERS, Target

_NAME = re.compile(r"[A-Za-z0-9._-]{1,50}")  # at most 64 with its prefix in the store
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_URL = re.compile(r"[!-~]+")  # printable ASCII without spaces
_OWN_HEADERS = frozenset(
    {
        "connection",
        "content-length",
        "content-type",
        "forewarn-delivery-attempt",
        "forewarn-signature",
        "host",
        "transfer-encoding",
        "user-agent",
    }
)
_LONGEST_TIMEOUT = 300.0  # seconds


def read_webhooks(value: object, place: str) -> tuple[str, ...]:
    """Parse URLs: a list, or text separated by spaces."""
    several = value.split() if isinstance(value, str) else value
    if not isinstance(several, list | tuple):
        raise InvalidInput(f"{place}: expected a list of URLs")
    return tuple(read_webhook(url, place) for url in several)


def read_webhook(value: object, place: str) -> str:
    """Parse the URL of a webhook."""
    text = value if isinstance(value, str) and _URL.fullmatch(value) else ""
    with suppress(ValueError):  # if the port is not a number
        parts = urlsplit(text)
        is_there = bool(parts.hostname) and parts.port != 0
        if is_there and parts.scheme in ("http", "https"):
            return text
    raise InvalidInput(f"{place}: expected a URL such as https://ops.example/hook")


def read_secrets(value: object, place: str) -> tuple[str, ...]:
    """Parse secrets: a list, or text separated by spaces; newest first."""
    several = value.split() if isinstance(value, str) else value
    if (
        isinstance(several, list)
        and several
        and all(isinstance(secret, str) and secret.strip() for secret in several)
    ):
        return tuple(several)
    raise InvalidInput(f"{place}: expected a secret, or a list of them")


def read_source(value: object, place: str) -> str:
    """Parse the source URI of events."""
    if isinstance(value, str) and _URL.fullmatch(value):
        return value
    raise invalid_value("a URI such as /forewarn", value, place)


def target_of(url: str) -> Target:
    """Create the target of a webhook without a name; its name derives from the URL."""
    host = re.sub(r"[^A-Za-z0-9.-]", "-", urlsplit(url).hostname or "")[:37]
    digest = hashlib.sha256(url.encode()).hexdigest()[:12]
    return Target(name=f"{host}-{digest}", kind="webhook", url=url)


# --- targets in the file -----------------------------------------------------


def read_targets(value: object, place: str) -> tuple[Target, ...]:
    """Parse target tables; in the environment, TOML inline tables."""
    try:
        tables = tomllib.loads(f"_ = {value}")["_"] if isinstance(value, str) else value
    except tomllib.TOMLDecodeError:
        tables = None
    if not isinstance(tables, list) or not all(isinstance(e, dict) for e in tables):
        raise InvalidInput(
            f'{place}: expected tables, such as [{{ name = "ops", kind = "log" }}]'
        )
    return tuple(_target(table, place) for table in tables)


def _target(table: Mapping[str, object], place: str) -> Target:
    name = _name(table.get("name"), f"{place}: name")
    here = f"{place}: {name}"
    for key in table:
        if key not in _KEYS:
            keys = ", ".join(_KEYS)
            raise InvalidInput(f"{here} has no key {key!r}; known are {keys}")
    if "kind" not in table:
        raise InvalidInput(f"{here}: kind is missing; it is webhook, log or a name")
    read = {
        field: reader(table[key], f"{here}: {key}")
        for key, (field, reader) in _KEYS.items()
        if key in table
    }
    target = Target(**read)
    _check(target, table, here)
    return target


def _check(target: Target, table: Mapping[str, object], here: str) -> None:
    if target.kind == "webhook" and target.url is None:
        raise InvalidInput(f"{here}: a webhook needs a url")
    needless = _WEBHOOK_KEYS if target.kind != "webhook" else ()
    needless = (*needless, "options") if target.kind in NOTIFIERS.ours else needless
    for key in needless:
        if key in table:
            raise InvalidInput(f"{here}: {target.kind} takes no {key}")


def _name(value: object, place: str) -> str:
    if isinstance(value, str) and _NAME.fullmatch(value):
        return value
    raise invalid_value("1 to 50 of A-Z a-z 0-9 . _ -", value, place)


def _texts(value: object, place: str) -> tuple[str, ...]:
    several = [value] if isinstance(value, str) else value
    if (
        isinstance(several, list)
        and several
        and all(isinstance(text, str) and text for text in several)
    ):
        return tuple(several)
    raise InvalidInput(f"{place}: expected text, or a list of texts")


def _groups(value: object, place: str) -> frozenset[str]:
    return fold_names(_texts(value, place))


def _facts(value: object, place: str) -> frozenset[str]:
    names = _texts(value, place)
    if "*" in names:
        return frozenset(KINDS)
    try:
        return frozenset(fact_kind(name).__name__ for name in names)
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from None


def _timeout(value: object, place: str) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and 0 < float(str(value)) <= _LONGEST_TIMEOUT:
        return float(str(value))
    raise InvalidInput(
        f"{place}: expected a number of seconds, up to {_LONGEST_TIMEOUT:g}"
    )


def _headers(value: object, place: str) -> dict[str, str]:
    if not isinstance(value, dict):
        raise InvalidInput(f'{place}: expected a table, such as {{ X-Team = "ops" }}')
    for name, text in value.items():
        if not _HEADER.fullmatch(name) or name.lower() in _OWN_HEADERS:
            raise InvalidInput(f"{place}: {name!r} cannot be set")
        if not (isinstance(text, str) and text.isascii() and text.isprintable()):
            raise InvalidInput(f"{place}: {name} must be plain ASCII text")
    return value


def _options(value: object, place: str) -> dict[str, object]:
    if isinstance(value, dict):
        return value
    raise InvalidInput(f'{place}: expected a table, such as {{ key = "value" }}')


#: The keys of a target, the fields that they set, and their parsers.
_KEYS: Mapping[str, tuple[str, Callable[[object, str], Any]]] = {
    "name": ("name", _name),
    "kind": ("kind", NOTIFIERS.read_name),
    "url": ("url", read_webhook),
    "secret": ("secrets", _texts),
    "secret_file": ("secret_files", _texts),
    "secret_env": ("secret_variables", _texts),
    "groups": ("groups", _groups),
    "facts": ("facts", _facts),
    "timeout": ("timeout", _timeout),
    "headers": ("headers", _headers),
    "options": ("options", _options),
}

_WEBHOOK_KEYS = ("url", "secret", "secret_file", "secret_env", "timeout", "headers")
