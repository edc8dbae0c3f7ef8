"""The PowerShell scripts of examples/clients: parsed, and their requests sent.

No PowerShell runs here. A grammar parses the scripts, and the addresses that they build
from variables are requested from the service by these tests.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
import tree_sitter_powershell
from tests.end_to_end.program import Program
from tests.programs.record import url_of
from tree_sitter import Language, Node, Parser

SAMPLES = Path(__file__).parents[2] / "examples" / "clients"
SCRIPTS = sorted(path.name for path in SAMPLES.glob("*.ps1"))

GRAMMAR = Language(tree_sitter_powershell.language())

#: Commands of PowerShell itself that the scripts may use, in 5.1 and in 7.
CMDLETS = frozenset(
    {
        "ConvertTo-Json",
        "ForEach-Object",
        "Invoke-RestMethod",
        "Start-Sleep",
        "Where-Object",
    }
)

VM = "db-0"
DEMO = {"subscription": "00000000-0000-0000-0000-000000000000", "resourcegroup": "demo"}

#: The type of the event that each action creates.
EVENTS: Mapping[str, str] = {"restart": "Reboot", "redeploy": "Redeploy"}

#: Each dialect: the table of its requests in the script, and the status of a restart.
DIALECTS: Mapping[str, tuple[str, int]] = {
    "control API": ("$controlApi", 201),
    "ARM": ("$resourceManager", 202),
}


def parsed(script: str) -> Node:
    return Parser(GRAMMAR).parse((SAMPLES / script).read_bytes()).root_node


def nodes(root: Node, kind: str) -> Iterator[Node]:
    if root.type == kind:
        yield root
    for child in root.children:
        yield from nodes(child, kind)


def text(node: Node) -> str:
    assert node.text is not None
    return node.text.decode()


def texts(root: Node, kind: str) -> list[str]:
    return [text(node) for node in nodes(root, kind)]


def assigned(script: str) -> dict[str, Node]:
    """Return the value of each variable, by its name in lower case."""
    assignments = nodes(parsed(script), "assignment_expression")
    return {text(node.children[0]).lower(): node.children[-1] for node in assignments}


def expanded(script: str, string: str, values: Mapping[str, str]) -> str:
    """Replace the variables in an expandable string, as PowerShell does."""
    variables = assigned(script)

    def value(match: re.Match[str]) -> str:
        name = match[1].lower()
        if name in values:
            return values[name]
        (inner,) = texts(variables[f"${name}"], "expandable_string_literal")
        return expanded(script, inner, values)

    return re.sub(r"\$(\w+)", value, string.strip('"'))


def managed(dialect: str, values: Mapping[str, str]) -> dict[str, str]:
    """Return the path that ManageEvents.ps1 requests for each action."""
    script = "ManageEvents.ps1"
    table = assigned(script)[DIALECTS[dialect][0].lower()]
    return {
        text(entry.children[0]): expanded(
            script,
            texts(entry, "expandable_string_literal")[0],
            {"control": "", "vm": VM, **DEMO, **values},
        )
        for entry in nodes(table, "hash_entry")
    }


def read(uri: str) -> Any:
    with urlopen(Request(uri, headers={"Metadata": "true"}), timeout=30) as response:
        return json.load(response)


def events(program: Program) -> Any:
    return read(url_of(program, VM))["Events"]


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_powershell_script_parses_without_errors(script: str) -> None:
    root = parsed(script)
    assert list(nodes(root, "ERROR")) == []
    assert not root.has_error


@pytest.mark.parametrize("broken", ["if ($x { }", "function F( { }", "$a = @{ b = "])
def test_the_grammar_finds_errors(broken: str) -> None:
    assert Parser(GRAMMAR).parse(broken.encode()).root_node.has_error


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_powershell_script_calls_only_commands_that_exist(script: str) -> None:
    root = parsed(script)
    defined = set(texts(root, "function_name"))
    assert set(texts(root, "command_name")) <= CMDLETS | defined


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_powershell_script_is_marked_as_not_executed(script: str) -> None:
    assert "Not executed yet, only parsed." in (SAMPLES / script).read_text()
    rows = (SAMPLES / "README.md").read_text().splitlines()
    (row,) = (row for row in rows if row.startswith(f"| [{script}]"))
    assert "not executed" in row


def test_the_powershell_sample_requests_what_is_served(program: Program) -> None:
    base = {"endpoint": f"{program.metadata[0]}/vm/{VM}"}
    script = "ScheduledEvents.ps1"
    assert read(expanded(script, "$eventsUri", base))["DocumentIncarnation"] is not None
    assert read(expanded(script, "$instanceUri", base))["compute"]["name"] == VM


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("action", EVENTS)
def test_managing_events_from_powershell_requests_what_is_served(
    program: Program, dialect: str, action: str
) -> None:
    paths = managed(dialect, {"eventid": ""})
    response = program.service.request("POST", paths[action], {})
    assert response.status == DIALECTS[dialect][1], response.body
    (event,) = events(program)
    assert (event["EventType"], event["EventStatus"]) == (EVENTS[action], "Scheduled")
    approve = managed(dialect, {"eventid": event["EventId"]})["acknowledge"]
    response = program.service.request("POST", approve, {})
    assert response.status == 200, response.body
    assert [event["EventStatus"] for event in events(program)] == ["Started"]
    program.service.advance(5)
    assert events(program) == []
