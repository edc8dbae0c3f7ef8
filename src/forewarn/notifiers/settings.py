"""Parsers for notification settings.

Possible secrets are never shown, not even in error messages.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from forewarn.configfile.values import (
    Reader,
    at,
    inline_toml,
    list_of,
    matching,
    number,
    read_table,
    read_text,
    secret,
    split_url,
)
from forewarn.core.queries.search import KINDS, fact_kind, fold_names
from forewarn.errors import InvalidInput
from forewarn.notifiers.targets import NOTIFIERS, Target
from forewarn.plugins import read_options

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


def read_webhook(value: object) -> str:
    """Parse a webhook URL."""
    if isinstance(value, str) and split_url(value) is not None:
        return value
    raise InvalidInput("expected a URL such as https://ops.example/hook")


#: Parses URLs: a list, or a string separated by spaces.
read_webhooks = list_of(read_webhook, "a list of URLs", split=str.split)

#: Parses secrets, newest first: a list, or a string separated by spaces.
read_secrets = secret(
    list_of(read_text, "", least=1, split=str.split), "a secret, or a list of secrets"
)

#: Parses the source URI of events.
read_source = matching(_URL, "a URI such as /forewarn")


def target_of(url: str) -> Target:
    """Create a target, named after the URL, for an unnamed webhook."""
    host = re.sub(r"[^A-Za-z0-9.-]", "-", urlsplit(url).hostname or "")[:37]
    digest = hashlib.sha256(url.encode()).hexdigest()[:12]
    return Target(name=f"{host}-{digest}", kind="webhook", url=url)


# --- targets in the file -----------------------------------------------------


def read_targets(value: object) -> tuple[Target, ...]:
    """Parse target tables, which are TOML inline tables in the environment."""
    tables = inline_toml(value)
    if not isinstance(tables, list) or not all(isinstance(e, dict) for e in tables):
        raise InvalidInput('expected tables, such as [{ name = "ops", kind = "log" }]')
    return tuple(_target(table) for table in tables)


def _target(table: Mapping[str, object]) -> Target:
    with at("name"):
        name = _name(table.get("name"))
    with at(name):
        if "kind" not in table:
            raise InvalidInput(
                "kind is missing; expected webhook, log or an installed notifier"
            )
        values = read_table(table, _READERS)
        target = Target(**{_FIELDS.get(key, key): values[key] for key in values})
        if target.kind == "webhook" and target.url is None:
            raise InvalidInput("a webhook requires a url")
        needless = _WEBHOOK_KEYS if target.kind != "webhook" else ()
        needless = (*needless, "options") if target.kind in NOTIFIERS.ours else needless
        for key in needless:
            if key in table:
                raise InvalidInput(f"{target.kind} targets do not support {key}")
    return target


_name = matching(_NAME, "1 to 50 characters from A-Z a-z 0-9 . _ -")


def _only(text: str) -> list[str]:
    return [text]


_texts = secret(
    list_of(read_text, "", least=1, split=_only), "a string, or a list of strings"
)


def _groups(value: object) -> frozenset[str]:
    return fold_names(_texts(value))


def _facts(value: object) -> frozenset[str]:
    names = _texts(value)
    if "*" in names:
        return frozenset(KINDS)
    return frozenset(fact_kind(name).__name__ for name in names)


def _headers(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise InvalidInput('expected a table, such as { X-Team = "ops" }')
    for name, text in value.items():
        if not _HEADER.fullmatch(name) or name.lower() in _OWN_HEADERS:
            raise InvalidInput(f"header {name!r} is invalid or set by forewarn itself")
        if not (isinstance(text, str) and text.isascii() and text.isprintable()):
            raise InvalidInput(f"{name} must be plain ASCII text")
    return value


_READERS: Mapping[str, Reader[Any]] = {
    "name": _name,
    "kind": NOTIFIERS.read_name,
    "url": read_webhook,
    "secret": _texts,
    "secret_file": _texts,
    "secret_env": _texts,
    "groups": _groups,
    "facts": _facts,
    "timeout": number("seconds", 0.001, 300),
    "headers": _headers,
    "options": read_options,
}

#: Keys whose names differ from their fields' names.
_FIELDS = {
    "secret": "secrets",
    "secret_file": "secret_files",
    "secret_env": "secret_variables",
}

_WEBHOOK_KEYS = ("url", "secret", "secret_file", "secret_env", "timeout", "headers")
