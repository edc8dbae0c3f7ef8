"""Contexts: named services with their addresses and tokens, in the user's file.

1. The file is `contexts.toml` in the user's configuration directory. Only its owner can
   read it, and it is replaced as a whole, so that it is never incomplete.
2. A context's token and CA are only used with its own address.
3. The name `local` stands for the service on this machine and cannot be redefined.
4. Flags take precedence over the environment, the environment over the current context,
   and that over the local service. The address and the token of a context that a flag
   names take precedence over the environment together, so that a token meant for
   another service is not sent.
"""

import json
import os
import re
import sys
import tempfile
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from forewarn.cli.values import read_url
from forewarn.config.load import state_directory
from forewarn.configfile import toml
from forewarn.configfile.values import InvalidParts, read_table, read_text, suggestion
from forewarn.errors import InvalidInput, WrongUsage

#: The context of the service on this machine.
LOCAL = "local"
LOCAL_SERVICE = "the local service"
LOCAL_URL = "http://127.0.0.1:8255"

#: A file in the state directory with the address of the service that runs there.
CONTROL_URL = "control-url"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceContext:
    """A service that commands can be sent to."""

    url: str
    token: str | None = field(default=None, repr=False)  # None if commands need --token
    ca: str | None = None  # None for this machine's certificate authorities


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceContexts:
    """All contexts of a user."""

    current: str = LOCAL
    by_name: Mapping[str, ServiceContext] = field(default_factory=dict)

    def get(self, name: str) -> ServiceContext | None:
        """Return the context `name`, or None for the local service."""
        if name == LOCAL:
            return None
        if name not in self.by_name:
            hint = suggestion(name, self.by_name) or (
                "; `forewarn context list` shows the existing ones"
            )
            raise WrongUsage(f"unknown context {name!r}{hint}")
        return self.by_name[name]

    def with_context(self, name: str, context: ServiceContext) -> "ServiceContexts":
        """Return a copy in which `name` is `context`."""
        if name == LOCAL or not _NAME.fullmatch(name):
            raise WrongUsage(
                f"{name!r} cannot be the name of a context; use letters, digits, dots,"
                f" hyphens and underscores, and not {LOCAL!r}"
            )
        return replace(self, by_name={**self.by_name, name: context})

    def using(self, name: str) -> "ServiceContexts":
        """Return a copy in which `name` is the current context."""
        self.get(name)
        return replace(self, current=name)

    def without(self, name: str) -> "ServiceContexts":
        """Return a copy without `name`; if it was current, the local service is."""
        if name == LOCAL:
            raise WrongUsage(f"{LOCAL!r} is built in and cannot be removed")
        self.get(name)
        kept = {key: value for key, value in self.by_name.items() if key != name}
        current = LOCAL if self.current == name else self.current
        return ServiceContexts(current=current, by_name=kept)


def path_of(environment: Mapping[str, str]) -> Path:
    """Return the path of the user's file."""
    home = environment.get("HOME")
    base = Path(home) if home else Path.home()
    if sys.platform == "win32":
        directory = Path(environment.get("APPDATA") or base / "AppData" / "Roaming")
    else:
        directory = Path(environment.get("XDG_CONFIG_HOME") or base / ".config")
    return directory / "forewarn" / "contexts.toml"


def load(environment: Mapping[str, str]) -> ServiceContexts:
    """Read the user's contexts; without a file, there are none."""
    path = path_of(environment)
    if not os.path.exists(path):  # or if the directory is another user's
        return ServiceContexts()
    plain = toml.load(path, WrongUsage)
    try:
        values = read_table(plain, {"current": read_text, "contexts": _read_contexts})
    except (InvalidInput, InvalidParts) as error:
        raise WrongUsage(f"{path}: {error}") from error
    contexts = ServiceContexts(by_name=values.get("contexts", {}))
    current = values.get("current", LOCAL)
    known = current == LOCAL or current in contexts.by_name
    return replace(contexts, current=current if known else LOCAL)


def _read_contexts(value: object) -> Mapping[str, ServiceContext]:
    names = value if isinstance(value, dict) else {}
    return read_table(value, dict.fromkeys(names, _read_context))


def _read_context(value: object) -> ServiceContext:
    readers = {"url": _read_address, "token": read_text, "ca": read_text}
    fields = read_table(value, readers)
    if "url" not in fields:
        raise InvalidInput("url is missing")
    return ServiceContext(**fields)


def _read_address(value: object) -> str:
    try:
        return read_url(read_text(value))
    except ValueError as error:
        raise InvalidInput(str(error)) from error


def save(contexts: ServiceContexts, environment: Mapping[str, str]) -> Path:
    """Write the user's contexts, readable only by the user; return the path."""
    path = path_of(environment)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, draft = tempfile.mkstemp(dir=path.parent)  # has mode 0600
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(_as_toml(contexts))
            os.replace(draft, path)
        except BaseException:
            os.unlink(draft)
            raise
    except OSError as error:
        raise WrongUsage(f"cannot write {path}: {error.strerror}") from error
    return path


def _as_toml(contexts: ServiceContexts) -> str:
    lines = [f"current = {json.dumps(contexts.current)}"]
    for name, context in contexts.by_name.items():
        lines += ["", f"[contexts.{json.dumps(name)}]"]
        fields = {"url": context.url, "token": context.token, "ca": context.ca}
        lines += [f"{key} = {_quoted(text)}" for key, text in fields.items() if text]
    return "\n".join([*lines, ""])


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # TOML has no escapes of surrogates


# --- the choice of a service -------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceChoice:
    """The service that a command is sent to, and where each part comes from."""

    context: str | None  # None if no flag, variable or file names one
    url: str
    url_source: str
    token: str | None = field(repr=False)  # None if no token was found
    token_source: str
    ca: str | None  # None for this machine's certificate authorities


def choose(args: Namespace, environment: Mapping[str, str]) -> ServiceChoice:
    """Return the service that options, environment and contexts choose."""
    url, name = _address_and_name(args)
    contexts = load(environment)
    chosen = name or (LOCAL if url is not None else contexts.current)
    context = contexts.get(chosen)
    place = LOCAL_SERVICE if context is None else f"context {chosen}"
    service = context or local_context(environment)
    token_place = token_path(environment) if context is None else place
    is_named = "context" in args.typed
    ca = [(args.ca, "--ca"), (service.ca, place)]
    token = [(args.token, _source("token", args)), (service.token, str(token_place))]
    found, source = _first(token, swap=is_named and "token" not in args.typed)
    return ServiceChoice(
        context=None if context is None else chosen,
        url=url or service.url,
        url_source=_source("url", args) if url else place,
        token=found,
        token_source=source,
        ca=_first(ca, swap=is_named and "ca" not in args.typed)[0],
    )


def _address_and_name(args: Namespace) -> tuple[str | None, str | None]:
    """Return --url and --context, of which at most one is set; flags take precedence
    over the environment.
    """
    url, name = args.url, args.context
    if url is None or name is None:
        return url, name
    is_url_typed, is_name_typed = "url" in args.typed, "context" in args.typed
    if is_url_typed == is_name_typed:
        names = [_source("context", args), _source("url", args)]
        raise WrongUsage(f"{names[0]} and {names[1]} cannot be used together")
    return (url, None) if is_url_typed else (None, name)


def _source(name: str, args: Namespace) -> str:
    return f"--{name}" if name in args.typed else f"$FOREWARN_{name.upper()}"


def _first(
    candidates: Sequence[tuple[str | None, str]], *, swap: bool
) -> tuple[str | None, str]:
    """Return the first value that is set, with its source; `swap` inverts the order."""
    ordered = [*reversed(candidates)] if swap else candidates
    stripped = [((value or "").strip(), source) for value, source in ordered]
    return next((pair for pair in stripped if pair[0]), (None, ordered[-1][1]))


# --- the local service -------------------------------------------------------


def local_context(environment: Mapping[str, str]) -> ServiceContext:
    """Return the service on this machine, as its state directory describes it."""
    url = _first_line(state_directory(environment) / CONTROL_URL)
    token = _first_line(token_path(environment))
    return ServiceContext(url=url or LOCAL_URL, token=token)


def token_path(environment: Mapping[str, str]) -> Path:
    """Return the path of the local service's admin token."""
    return state_directory(environment) / "token"


def _first_line(path: Path) -> str | None:
    try:
        return path.read_text("utf-8", "replace").strip() or None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise WrongUsage(
            f"cannot read {path}: {(error.strerror or str(error)).lower()}"
        ) from error
