"""The facts of docs/reference/wire.md, and the tests that prove them."""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WIRE = ROOT / "docs" / "reference" / "wire.md"
SUITE = Path(__file__).parent

#: Marks the facts that a test proves: `@fact("4.3b")`.
fact = pytest.mark.fact

MARKS = ("documented", "observed", "forced by a client", "our choice")
CHOICE = "our choice"

_ITEM = re.compile(
    r"- \*\*(?P<number>\d+\.\d+[a-z]?)\*\* "
    rf"\*(?P<mark>{'|'.join(MARKS)})"
    r"(?:; (?P<kind>not visible|not covered): (?P<why>[^*]+?))?\.\* "
    r"(?P<text>.+)"
)


#: Terms in the names of tests, and how the page writes them.
_TERMS: Mapping[str, str | Callable[[re.Match[str]], str]] = {
    "metadata scheduledevents": "`/metadata/scheduledevents`",
    "scheduled events": "Scheduled Events",
    "http 1 1": "HTTP/1.1",
    "http": "HTTP",
    "utf 8": "UTF-8",
    "iso": "ISO",
    "json": "JSON",
    "guid": "GUID",
    "(id|vm)(s?)": lambda match: f"{match[1].upper()}{match[2]}",
    "kib": "KiB",
    "arm": "ARM",
    "node js": "Node.js",
    "retry after": "`Retry-After`",
    "if none match": "`If-None-Match`",
    "preference applied": "`Preference-Applied`",
    "prefer": "`Prefer`",
    "connection close": "`Connection: close`",
    "content (type|length)": lambda match: f"Content-{match[1].title()}",
    "not before": "NotBefore",
    "(freeze|reboot|redeploy|preempt|terminate)": lambda match: match[1].title(),
    "source (platform|user)": lambda match: f"source {match[1].title()}",
    "(head|post)": lambda match: match[1].upper(),
    "(^|a )get": r"\1GET",
    "simulate eviction": "`simulateEviction`",
    "latest": "`latest`",
    "(user|read|case) (initiated|only|insensitive)": r"\1-\2",
    "(events|resources) is always": lambda match: f"`{match[1].title()}` is always",
    "(as|to) (scheduled|started)": lambda match: f"{match[1]} {match[2].title()}",
    "scheduled or started": "Scheduled or Started",
    "scheduled then started then gone": "Scheduled, then Started, then gone",
    "Freeze Reboot and": "Freeze, Reboot and",
    "versions newest first": "versions, newest first",
    r"^((with|from|before|up to) [\d-]{10}( on)?)": r"\1,",
    "^(in an isolated group|without a tag|(after|within) 24 hours.* (?=user))": (
        lambda match: f"{match[1].rstrip()},{' ' if match[1][-1] == ' ' else ''}"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A fact of wire.md."""

    number: str
    mark: str
    text: str
    unseen: str | None = None  # why no request can show it; None if a request can
    uncovered: str | None = None  # why no test covers it; None if a test does

    @property
    def chapter(self) -> int:
        """Return the number of its chapter."""
        return int(self.number.partition(".")[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A test of the suite."""

    file: str
    name: str
    facts: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Return the name of the test as a sentence, with terms in their usual form."""
        words = self.name.removeprefix("test_").replace("_", " ")
        text = re.sub(r"\b(20\d\d) (\d\d) (\d\d)\b", r"\1-\2-\3", words)
        for plain, term in _TERMS.items():
            text = re.sub(rf"\b{plain}\b", term, text)
        return f"{text[0].upper()}{text[1:]}"


def read_facts(text: str | None = None) -> Mapping[str, Fact]:
    """Parse the facts in order; raise ValueError for a malformed entry."""
    facts: dict[str, Fact] = {}
    for item in _items(WIRE.read_text() if text is None else text):
        match = _ITEM.fullmatch(item)
        if match is None:
            raise ValueError(f"wire.md: this is not a fact: {item}")
        if match["number"] in facts:
            raise ValueError(f"wire.md has {match['number']} twice")
        facts[match["number"]] = Fact(
            number=match["number"],
            mark=match["mark"],
            text=match["text"],
            unseen=match["why"] if match["kind"] == "not visible" else None,
            uncovered=match["why"] if match["kind"] == "not covered" else None,
        )
    return facts


def read_chapters() -> Mapping[int, str]:
    """Return the titles of the chapters by number."""
    headings = re.findall(r"^## (\d+)\. (.+)$", WIRE.read_text(), re.MULTILINE)
    return {int(number): title for number, title in headings}


def _items(text: str) -> Iterator[str]:
    """Yield each numbered entry, with its lines joined."""
    for block in re.split(r"\n(?=- |\n|#)", text):
        if block.lstrip().startswith("- **"):
            yield " ".join(block.split())


def read_proofs() -> list[Proof]:
    """Parse the tests of the suite without running them."""
    return [
        Proof(file=path.name, name=node.name, facts=tuple(_named(node)))
        for path in sorted(SUITE.glob("test_*.py"))
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


def _named(test: ast.FunctionDef) -> Iterator[str]:
    for decorator in test.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "fact":
            yield from (str(ast.literal_eval(number)) for number in decorator.args)
