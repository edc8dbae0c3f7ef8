"""The JSON Schema of scenario files agrees with the parser."""

import re
import tomllib
from pathlib import Path

import jsonschema_rs
import pytest
from tests.testing.support.scenario_files import EVERYTHING, MISSHAPEN, errors_in

from forewarn.testing.scenario import parser
from forewarn.testing.scenario.schema import schema

ROOT = Path(__file__).parents[3]
SCHEMA = jsonschema_rs.Draft202012Validator(dict(schema()))

#: Complete scenarios in the documentation.
SHOWN = [
    (page.name, text)
    for page in sorted((ROOT / "docs").rglob("*.md"))
    for text in re.findall(r"^```toml\n(.*?)^```", page.read_text(), re.M | re.S)
    if "[[steps]]" in text and text.startswith(("title", "#:schema"))
]


def test_schema_is_a_valid_json_schema() -> None:
    assert jsonschema_rs.meta.is_valid(dict(schema()))


def test_schema_accepts_every_key() -> None:
    assert SCHEMA.is_valid(tomllib.loads(EVERYTHING))


@pytest.mark.parametrize("name", parser.bundled_names())
def test_schema_accepts_bundled_scenarios(name: str) -> None:
    assert SCHEMA.is_valid(tomllib.loads(parser.find_scenario(name).read_text()))


@pytest.mark.parametrize(
    ("page", "text"), SHOWN, ids=[f"{page}-{n}" for n, (page, _) in enumerate(SHOWN)]
)
def test_schema_and_parser_accept_the_documentation(page: str, text: str) -> None:
    assert SCHEMA.is_valid(tomllib.loads(text)), page
    assert errors_in(text) == []


def test_documentation_has_complete_scenarios() -> None:
    assert {page for page, _ in SHOWN} >= {"scenario-file.md", "write-a-scenario.md"}


@pytest.mark.parametrize("text", MISSHAPEN.values(), ids=MISSHAPEN.keys())
def test_schema_and_parser_refuse_malformed_files(text: str) -> None:
    assert not SCHEMA.is_valid(tomllib.loads(text))
    assert errors_in(text) != []
