"""The facts of docs/reference/wire.md, and the tests that name them."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WIRE = ROOT / "docs" / "reference" / "wire.md"
SUITE = Path(__file__).parent

#: Names the facts that a test shows: `@fact("4.3b")`.
fact = pytest.mark.fact

MARKS = ("documented", "observed", "forced by a client", "our choice")
CHOICE = "our choice"

_ITEM = re.compile(
    r"- \*\*(?P<number>\d+\.\d+[a-z]?)\*\* "
    rf"\*(?P<mark>{'|'.join(MARKS)})"
    r"(?:; (?P<kind>not visible|not covered): (?P<why>[^*]+?))?\.\* "
    r"(?P<text>.+)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One fact of the wire."""

    number: str
    mark: str
    text: str
    unseen: str | None = None  # why no request shows it; None: one does
    uncovered: str | None = None  # why no test shows it; None: one does

    @property
    def chapter(self) -> int:
        """The number of its chapter."""
        return int(self.number.partition(".")[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """One test of the suite."""

    file: str
    name: str
    facts: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What the test says."""
        words = self.name.removeprefix("test_").replace("_", " ")
        return re.sub(r"\b(20\d\d) (\d\d) (\d\d)\b", r"\1-\2-\3", words)


def read_facts(text: str | None = None) -> Mapping[str, Fact]:
    """Read the facts in their order; refuse what looks like one and is none."""
    facts: dict[str, Fact] = {}
    for item in _items(WIRE.read_text() if text is None else text):
        found = _ITEM.fullmatch(item)
        if found is None:
            raise ValueError(f"wire.md: this is not a fact: {item}")
        if found["number"] in facts:
            raise ValueError(f"wire.md has {found['number']} twice")
        facts[found["number"]] = Fact(
            number=found["number"],
            mark=found["mark"],
            text=found["text"],
            unseen=found["why"] if found["kind"] == "not visible" else None,
            uncovered=found["why"] if found["kind"] == "not covered" else None,
        )
    return facts


def read_chapters() -> Mapping[int, str]:
    """Read the titles of the chapters by their numbers."""
    found = re.findall(r"^## (\d+)\. (.+)$", WIRE.read_text(), re.MULTILINE)
    return {int(number): title for number, title in found}


def _items(text: str) -> Iterator[str]:
    """Join the lines of each entry that begins with a number."""
    for block in re.split(r"\n(?=- |\n|#)", text):
        if block.lstrip().startswith("- **"):
            yield " ".join(block.split())


def read_proofs() -> list[Proof]:
    """Find the tests of the suite in their files, without running them."""
    return [
        Proof(file=path.name, name=node.name, facts=tuple(_named(node)))
        for path in sorted(SUITE.glob("test_*.py"))
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


def _named(test: ast.FunctionDef) -> Iterator[str]:
    for each in test.decorator_list:
        if isinstance(each, ast.Call) and ast.unparse(each.func) == "fact":
            yield from (str(ast.literal_eval(number)) for number in each.args)
