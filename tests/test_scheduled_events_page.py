"""The reference page of Scheduled Events agrees with the program."""

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.server.support.service import RunningService, a_service, send_request

from forewarn.cli.main import main
from forewarn.core.fleet import Group, GroupKind
from forewarn.core.fleet_file import read_group
from forewarn.core.lifecycle.policy import DEFAULT_DURATION, MINIMUM_NOTICE
from forewarn.errors import InvalidInput
from forewarn.protocol.codec import UNKNOWN_DURATION, encode
from forewarn.protocol.types import (
    Document,
    EventSource,
    EventStatus,
    EventType,
    ScheduledEvent,
)
from forewarn.protocol.versions import VERSIONS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "reference" / "scheduled-events.md").read_text()

Rows = list[list[str]]


def section(title: str) -> str:
    """Return the text below a heading."""
    return PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def table(title: str) -> Rows:
    """Return the rows of the first table of a section, without its heading."""
    lines = [line for line in section(title).splitlines() if line.startswith("| ")]
    return [line.strip("| ").split(" | ") for line in lines[1:]]


def names(text: str) -> set[str]:
    """Return what is set as code."""
    return set(re.findall(r"`([^`]+)`", text))


def fields_of(version: str) -> list[str]:
    """Return the keys of a document and of its event, as they are sent."""
    event = ScheduledEvent(
        id="A",
        type=EventType.FREEZE,
        status=EventStatus.SCHEDULED,
        resources=("vm",),
        not_before=datetime(2026, 1, 1, tzinfo=UTC),
        source=EventSource.USER,
        duration=5,
    )
    document = Document(incarnation=1, events=(event,))
    sent = json.loads(encode(document, VERSIONS[version]))
    return [key for key in (*sent, *sent["Events"][0]) if key != "Events"]


NEWEST_FIELDS = fields_of(max(VERSIONS))


def first_with(key: str) -> str:
    """Return the first version that has a property or event type."""
    return next(
        name
        for name, version in VERSIONS.items()
        if key in version.types or key in fields_of(name)
    )


# --- tables ------------------------------------------------------------------


def test_page_lists_every_version_with_what_it_adds() -> None:
    added = {name: set[str]() for name in VERSIONS}
    for key in (*EventType, *NEWEST_FIELDS):
        added[first_with(key)].add(key)
    oldest = min(VERSIONS)
    added[oldest] &= set(EventType)  # the other properties have their own table
    listed = {row[0]: names(row[2]) for row in table("API versions")}
    assert [*listed] == sorted(VERSIONS, reverse=True)
    known = {*EventType, *NEWEST_FIELDS}
    assert {name: cell & known for name, cell in listed.items()} == added


def test_page_lists_every_event_type_with_its_first_version_and_duration() -> None:
    listed = {row[0].strip("`"): (row[-2], row[-1]) for row in table("Event types")}
    assert listed == {
        kind: (str(DEFAULT_DURATION.get(kind, UNKNOWN_DURATION)), first_with(kind))
        for kind in EventType
    }


def test_page_lists_every_property_with_its_first_version() -> None:
    listed = [(row[0].strip("`"), row[1]) for row in table("Event properties")]
    assert listed == [(key, first_with(key)) for key in NEWEST_FIELDS]


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("EventType", EventType),
        ("EventStatus", EventStatus),
        ("EventSource", EventSource),
    ],
)
def test_page_lists_every_value_of_a_property(key: str, values: Iterable[str]) -> None:
    (cell,) = [row[2] for row in table("Event properties") if row[0] == f"`{key}`"]
    assert names(cell) == {*values}


def test_page_lists_the_minimum_notice_of_every_type() -> None:
    listed = {row[0].strip("`"): _shortest(row[1]) for row in table("Minimum notice")}
    assert listed == MINIMUM_NOTICE


def test_page_has_the_range_of_the_terminate_notice() -> None:
    (cell,) = [row[1] for row in table("Minimum notice") if row[0] == "`Terminate`"]
    shortest, longest = (60 * int(minutes) for minutes in re.findall(r"\d+", cell)[:2])
    for seconds in (shortest, longest):
        assert a_group_with_notice(seconds).terminate_notice == seconds
    for seconds in (shortest - 1, longest + 1):
        with pytest.raises(InvalidInput, match="terminate_notice_seconds"):
            a_group_with_notice(seconds)


def a_group_with_notice(seconds: int) -> Group:
    """Read a group of the fleet file that gives terminate notice."""
    notice = {"terminate_notice_seconds": seconds}
    return read_group({"name": "pool", "kind": "scale-set", **notice}, "groups[0]")


def _shortest(text: str) -> timedelta:
    match = re.match(r"(\d+)(?: to \d+)? (minutes|seconds)", text)
    assert match is not None, text
    return timedelta(**{match[2]: int(match[1])})


def test_page_lists_every_scope() -> None:
    kinds = [re.findall(r"`([\w-]+)`", row[2])[0] for row in table("Scope")]
    assert sorted(kinds) == sorted(GroupKind)


def test_commands_of_the_scenarios_exist() -> None:
    text = (ROOT / "docs" / "reference" / "commands.md").read_text()
    for row in table("Scenarios"):
        for command in names(row[2]):
            words = command.partition(" --")[0]
            assert f"### {words}\n" in text, command


# --- requests and responses --------------------------------------------------


@dataclass(slots=True, kw_only=True)
class PageSession:
    """The commands of the page, sent to a service, in their order."""

    service: RunningService
    real_ids: dict[str, str] = field(default_factory=dict)  # by the id on the page

    def run(self, command: str, shown: str) -> None:
        """Run one command; its output must be what the page shows."""
        if command.startswith("forewarn serve"):
            return
        if command.startswith("forewarn "):
            assert main(shlex.split(command, comments=True)[1:]) == 0, command
            return
        output = self._curl(shlex.split(command.partition(" | ")[0]))
        if command.endswith("json.tool"):
            self._compare(json.loads(shown), json.loads(output))
        else:
            assert output == shown, command

    def _curl(self, words: list[str]) -> str:
        body, headers, is_marked = None, {}, False
        for word, value in zip(words, [*words[1:], ""], strict=True):
            if word == "-d":
                for on_page, real in self.real_ids.items():
                    value = value.replace(on_page, real)
                body = value.encode()
            elif word == "-H":
                name, _, text = value.partition(":")
                headers[name] = text
            elif word == "-w":
                is_marked = True
        path = words[-1].removeprefix("http://127.0.0.1:8254")
        url = self.service.metadata + path
        method = "GET" if body is None else "POST"
        response = send_request(method, url, body, **headers)
        return response.body.decode() + (str(response.status) if is_marked else "")

    def _compare(self, shown: Any, received: Any) -> None:
        for on_page, real in zip(shown["Events"], received["Events"], strict=True):
            id_on_page = on_page.pop("EventId")
            id_ = real.pop("EventId")
            assert self.real_ids.setdefault(id_on_page, id_) == id_
            assert _form(on_page.pop("NotBefore")) == _form(real.pop("NotBefore"))
        assert json.dumps(shown) == json.dumps(received)  # in the same order


def _form(not_before: str) -> str:
    return re.sub(r"\d", "0", re.sub(r"[A-Z][a-z]{2}", "Abc", not_before))


def commands() -> Iterator[tuple[str, str]]:
    """Yield the commands of the page, with their output."""
    for block in re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output.rstrip("\n")


def test_requests_on_the_page_get_the_responses_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with a_service(tmp_path, fleet="demo") as service:
        environment: Mapping[str, str] = {
            "FOREWARN_URL": service.control,
            "FOREWARN_TOKEN": service.token,
        }
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        session = PageSession(service=service)
        for command, output in commands():
            session.run(command, output)
    assert len(session.real_ids) == 3
