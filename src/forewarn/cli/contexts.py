"""Contexts: named services with their addresses and tokens, in the user's file.

1. The file is `contexts.toml` in the user's configuration directory. Only its owner can
   read it, and it is replaced as a whole, so that it is never incomplete.
2. A context's token and CA are only used with its own address.
3. The name `local` stands for the service on this machine and cannot be redefined.
"""

import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from forewarn.cli.values import read_url
from forewarn.config.load import state_directory
from forewarn.configfile import toml
from forewarn.configfile.values import InvalidParts, read_table, read_text, suggestion
from forewarn.errors import InvalidInput, WrongUsage

#: The context of the service on this machine.
LOCAL = "local"
LOCAL_URL = "http://127.0.0.1:8255"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """A service that commands can be sent to."""

    url: str
    token: str | None = field(default=None, repr=False)  # None if commands need --token
    ca: str | None = None  # None for this machine's certificate authorities


@dataclass(frozen=True, slots=True, kw_only=True)
class Contexts:
    """All contexts of a user."""

    current: str = LOCAL
    by_name: Mapping[str, Context] = field(default_factory=dict)

    def get(self, name: str) -> Context | None:
        """Return the context `name`, or None for the local service."""
        if name == LOCAL:
            return None
        if name not in self.by_name:
            hint = suggestion(name, self.by_name) or (
                "; `forewarn context list` shows the existing ones"
            )
            raise WrongUsage(f"unknown context {name!r}{hint}")
        return self.by_name[name]

    def with_context(self, name: str, context: Context) -> "Contexts":
        """Return a copy in which `name` is `context`."""
        if name == LOCAL or not _NAME.fullmatch(name):
            raise WrongUsage(
                f"{name!r} cannot be the name of a context; use letters, digits, dots,"
                f" hyphens and underscores, and not {LOCAL!r}"
            )
        return replace(self, by_name={**self.by_name, name: context})

    def using(self, name: str) -> "Contexts":
        """Return a copy in which `name` is the current context."""
        self.get(name)
        return replace(self, current=name)

    def without(self, name: str) -> "Contexts":
        """Return a copy without `name`; if it was current, the local service is."""
        if name == LOCAL:
            raise WrongUsage(f"{LOCAL!r} is built in and cannot be removed")
        self.get(name)
        kept = {key: value for key, value in self.by_name.items() if key != name}
        current = LOCAL if self.current == name else self.current
        return Contexts(current=current, by_name=kept)


def path_of(environment: Mapping[str, str]) -> Path:
    """Return the path of the user's file."""
    home = environment.get("HOME")
    base = Path(home) if home else Path.home()
    if sys.platform == "win32":
        directory = Path(environment.get("APPDATA") or base / "AppData" / "Roaming")
    else:
        directory = Path(environment.get("XDG_CONFIG_HOME") or base / ".config")
    return directory / "forewarn" / "contexts.toml"


def load(environment: Mapping[str, str]) -> Contexts:
    """Read the user's contexts; without a file, there are none."""
    path = path_of(environment)
    if not path.exists():
        return Contexts()
    plain = toml.load(path, WrongUsage)
    try:
        values = read_table(plain, {"current": read_text, "contexts": _read_contexts})
    except (InvalidInput, InvalidParts) as error:
        raise WrongUsage(f"{path}: {error}") from error
    contexts = Contexts(by_name=values.get("contexts", {}))
    current = values.get("current", LOCAL)
    known = current == LOCAL or current in contexts.by_name
    return replace(contexts, current=current if known else LOCAL)


def _read_contexts(value: object) -> Mapping[str, Context]:
    names = value if isinstance(value, dict) else {}
    return read_table(value, dict.fromkeys(names, _read_context))


def _read_context(value: object) -> Context:
    readers = {"url": _read_address, "token": read_text, "ca": read_text}
    fields = read_table(value, readers)
    if "url" not in fields:
        raise InvalidInput("url is missing")
    return Context(**fields)


def _read_address(value: object) -> str:
    try:
        return read_url(read_text(value))
    except ValueError as error:
        raise InvalidInput(str(error)) from error


def save(contexts: Contexts, environment: Mapping[str, str]) -> Path:
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


def _as_toml(contexts: Contexts) -> str:
    lines = [f"current = {json.dumps(contexts.current)}"]
    for name, context in contexts.by_name.items():
        lines += ["", f"[contexts.{json.dumps(name)}]"]
        fields = {"url": context.url, "token": context.token, "ca": context.ca}
        lines += [f"{key} = {json.dumps(text)}" for key, text in fields.items() if text]
    return "\n".join([*lines, ""])


# --- the local service -------------------------------------------------------


def local_context(environment: Mapping[str, str]) -> Context:
    """Return the service on this machine, as its state directory describes it."""
    directory = state_directory(environment)
    url = _first_line(directory / "control-url")
    return Context(url=url or LOCAL_URL, token=_first_line(directory / "token"))


def _first_line(path: Path) -> str | None:
    try:
        return path.read_text("utf-8", "replace").strip() or None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise WrongUsage(
            f"cannot read {path}: {(error.strerror or str(error)).lower()}"
        ) from error
