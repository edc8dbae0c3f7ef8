"""Names for completion with the Tab key, from the service and from this machine.

1. The completion scripts call `forewarn __complete KINDS PREFIX WORDS`. KINDS are
   separated by commas; WORDS are the command line so far.
2. The command prints one name per line, followed by a tab and a description if there is
   one. It never prints an error, never waits longer than `_LIMIT`, and always succeeds,
   because its output goes to the prompt.
"""

import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from os import environ
from os.path import expanduser
from threading import Thread
from typing import TypeAlias
from urllib.parse import urlencode

from forewarn.cli import contexts
from forewarn.cli.api import ControlApi, api_of
from forewarn.cli.options import SERVICE, apply_environment
from forewarn.cli.responses import maintenance_from, object_from

_LIMIT = 0.8  # seconds
_MOST = 200  # names; a terminal cannot show more

#: A name, and a description or "".
Candidate: TypeAlias = tuple[str, str]
Finder: TypeAlias = Callable[[str, Sequence[str]], Iterable[Candidate]]


def run(words: Sequence[str]) -> int:
    """Print the names that complete the last word."""
    kinds, prefix, *line = [*words, "", ""][: max(2, len(words))]
    found: list[Candidate] = []

    def find() -> None:
        for kind in kinds.split(","):
            with suppress(Exception):  # see rule 2
                found.extend(names(kind, prefix, line))

    finder = Thread(target=find, daemon=True)  # exiting does not wait for it
    finder.start()
    finder.join(_LIMIT)
    text = "".join("\t".join(filter(None, pair)) + "\n" for pair in [*found])
    with suppress(OSError, UnicodeError):
        sys.stdout.write(text)
        sys.stdout.flush()
    return 0


def names(kind: str, prefix: str, line: Sequence[str]) -> Sequence[Candidate]:
    """Return the names of a kind that start with `prefix`, ignoring case.

    In a list with commas, the last item is completed.
    """
    head, comma, part = prefix.rpartition(",")
    taken = {name.lower() for name in head.split(",")}
    return [
        (f"{head}{comma}{name}", description)
        for name, description in FINDERS[kind](part, line)
        if name.lower().startswith(part.lower()) and name.lower() not in taken
    ][:_MOST]


# --- on this machine ---------------------------------------------------------


def _contexts(prefix: str, line: Sequence[str]) -> Iterator[Candidate]:
    yield contexts.LOCAL, contexts.local_context(environ).url
    for name, context in contexts.load(environ).by_name.items():
        yield name, context.url


def _scenarios(prefix: str, line: Sequence[str]) -> Iterator[Candidate]:
    from forewarn.testing.scenario.parser import bundled_names, load_scenario

    for name in bundled_names():
        yield name, load_scenario(name).title


def _facts(prefix: str, line: Sequence[str]) -> Iterator[Candidate]:
    from forewarn.core.queries.search import KINDS

    return ((name, "") for name in KINDS)


# --- of the service ----------------------------------------------------------


def _api(line: Sequence[str]) -> ControlApi:
    """Return a client for the service that the command line would use."""
    args = Namespace(options=[(option,) for option in SERVICE])
    for word, following in pairwise([*line, ""]):
        for option in SERVICE:
            flag, equals, value = word.partition("=")
            text = value if equals else following
            if flag == option.flag and text:
                setattr(args, option.name, option.read(text))
    apply_environment(args)
    args.ca = args.ca and expanduser(args.ca)  # as the shell does before it runs it
    return api_of(args)


def _items(path: str, line: Sequence[str], *query: tuple[str, str]) -> Iterator[object]:
    """Return the first page of a list."""
    pairs = urlencode([*query, ("limit", str(_MOST))])
    page = _api(line).request("GET", f"{path}?{pairs}", timeout=_LIMIT)
    yield from object_from(page).list("items")


def _list_of(path: str) -> Finder:
    """Return a finder for the names in a list that the service sorts by name."""

    def find(prefix: str, line: Sequence[str]) -> Iterator[Candidate]:
        for item in _items(path, line, *_before(prefix)):
            yield object_from(item).text("name") or "", ""

    return find


def _before(prefix: str) -> Sequence[tuple[str, str]]:
    """Return the query for the page that starts with the names that have the prefix."""
    if not prefix:
        return ()
    start, last = prefix[:-1].lower(), prefix[-1].lower()
    return [("after", f"{start}{chr(ord(last) - 1)}~")]  # no name contains ~


def _maintenances(prefix: str, line: Sequence[str]) -> Iterator[Candidate]:
    live = (("phase", "SCHEDULED"), ("phase", "STARTED"))
    for maintenance in map(maintenance_from, _items("/v1/maintenances", line, *live)):
        yield maintenance.id or "", f"{maintenance.title}, {maintenance.phase}"


def _faults(prefix: str, line: Sequence[str]) -> Iterator[Candidate]:
    for fault in map(object_from, _items("/v1/faults", line)):
        target = ", ".join(fault.names("vms")) or "all VMs"
        yield fault.text("id") or "", f"{fault.text('kind')} for {target}"


def _tokens(prefix: str, line: Sequence[str]) -> Iterator[Candidate]:
    for token in map(object_from, _items("/v1/tokens", line)):
        group = token.text("group")
        yield (
            token.text("name") or "",
            f"group: {group}" if group else f"role: {token.text('role')}",
        )


#: By the `names` of options and arguments.
FINDERS: Mapping[str, Finder] = {
    "vms": _list_of("/v1/vms"),
    "hosts": _list_of("/v1/hosts"),
    "groups": _list_of("/v1/groups"),
    "maintenances": _maintenances,
    "faults": _faults,
    "tokens": _tokens,
    "contexts": _contexts,
    "scenarios": _scenarios,
    "facts": _facts,
}
