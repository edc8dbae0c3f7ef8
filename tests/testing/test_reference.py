"""The page of the fixture has all of it, and nothing else."""

import inspect
import re
from pathlib import Path

import pytest

from forewarn.testing import Event, Rehearsal
from forewarn.testing.plugin import scheduled_events

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "pytest.md").read_text()

#: What playing scenarios needs.
ELSEWHERE = re.compile(r"system|set_fault")


def the_part(title: str) -> str:
    return PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def names(part: str) -> set[str]:
    """What stands in the first column of its tables, without arguments."""
    cells = re.findall(r"^\| ([^|]+) \|", part, re.MULTILINE)
    return {name for each in cells for name in re.findall(r"`(\w+)", each)}


@pytest.mark.parametrize("kind", [Rehearsal, Event])
def test_the_page_has_all_that_there_is_and_no_more(kind: type) -> None:
    public = {name for name in dir(kind) if not name.startswith("_")}
    wanted = {name for name in public if not ELSEWHERE.fullmatch(name)}
    own = {"id"} if kind is Event else set()  # it is given, not made
    assert names(the_part(kind.__name__)) == wanted | own


def test_the_page_has_every_keyword_of_the_marker() -> None:
    taken = inspect.signature(Rehearsal.__init__).parameters
    assert names(the_part("Marker")) == {*taken} - {"self"}


@pytest.mark.parametrize("kind", [Rehearsal, Event])
def test_the_page_has_the_defaults_that_hold(kind: type) -> None:
    shown = re.findall(r"`(\w+)\((.*?)\)`", the_part(kind.__name__))
    for name, arguments in shown:
        method = inspect.signature(getattr(kind, name))
        known = {each.name: each.default for each in method.parameters.values()}
        for keyword, default in re.findall(r"(\w+)=([^,]+)", arguments):
            assert repr(known[keyword]) == default.replace('"', "'"), (name, keyword)


def test_the_fixture_says_in_a_sentence_what_it_is() -> None:
    assert "a service of its own" in (inspect.getdoc(scheduled_events) or "")
