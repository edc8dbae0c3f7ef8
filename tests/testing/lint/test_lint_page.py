"""The documentation page about lint rules."""

import re
from pathlib import Path

from forewarn.testing.lint.course import LintPace
from forewarn.testing.lint.evidence import CoursePart
from forewarn.testing.lint.runner import RULES

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "how-to" / "lint-a-client.md").read_text()


def test_table_has_every_rule_as_defined() -> None:
    rows = re.findall(r"^\| `[\w-]+` \| .*", PAGE, re.MULTILINE)
    assert rows == [
        f"| `{rule.id}` | {rule.severity} | {rule.hurts} | {rule.remedy}"
        f" | {', '.join(rule.facts)} |"
        for rule in RULES
    ]


def test_every_rule_refers_to_existing_facts() -> None:
    facts = (DOCS / "reference" / "wire.md").read_text()
    numbers = {*re.findall(r"^- \*\*([\d.]+\w?)\*\*", facts, re.MULTILINE)}
    assert {fact for rule in RULES for fact in rule.facts} <= numbers


def test_page_lists_every_part_of_the_course() -> None:
    course = PAGE.split("## What the linter simulates", 1)[1].split("## Rules", 1)[0]
    parts = re.findall(r"^\| ([a-z ]+) \| ", course, re.MULTILINE)
    assert parts[1:] == [*CoursePart]
    assert f"for {LintPace().refusal:g} seconds" in course
