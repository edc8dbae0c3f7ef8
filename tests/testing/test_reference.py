"""The reference page of the pytest fixture: complete and nothing else."""

import inspect
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from forewarn.testing import Event, Rehearsal
from forewarn.testing.plugin import scheduled_events

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "pytest.md").read_text()

#: Public classes by the name under which they are imported.
KINDS: Mapping[str, type] = {"Rehearsal": Rehearsal, "Event": Event}

#: Attributes used only for playing scenarios.
ELSEWHERE = re.compile(r"service")


def the_part(title: str) -> str:
    return PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def names(part: str) -> set[str]:
    """Return the names in the first column of the tables, without arguments."""
    cells = re.findall(r"^\| ([^|]+) \|", part, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(\w+)", cell)}


@pytest.mark.parametrize("kind", KINDS)
def test_page_lists_exactly_the_public_attributes(kind: str) -> None:
    public = {name for name in dir(KINDS[kind]) if not name.startswith("_")}
    expected = {name for name in public if not ELSEWHERE.fullmatch(name)}
    own = {"id"} if kind == "Event" else set()  # set on instances, so not in dir()
    assert names(the_part(kind)) == expected | own


def test_page_lists_every_keyword_of_the_marker() -> None:
    taken = inspect.signature(Rehearsal.__init__).parameters
    assert names(the_part("Marker")) == {*taken} - {"self"}


@pytest.mark.parametrize("kind", KINDS)
def test_page_shows_the_real_defaults(kind: str) -> None:
    shown = re.findall(r"`(\w+)\((.*?)\)`", the_part(kind))
    for name, arguments in shown:
        method = inspect.signature(getattr(KINDS[kind], name))
        defaults = {
            parameter.name: parameter.default
            for parameter in method.parameters.values()
        }
        for keyword, default in re.findall(r"(\w+)=([^,]+)", arguments):
            assert repr(defaults[keyword]) == default.replace('"', "'"), (name, keyword)


def test_fixture_has_a_docstring_that_explains_it() -> None:
    assert "Start a service for the test" in (inspect.getdoc(scheduled_events) or "")
