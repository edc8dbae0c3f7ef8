"""The conformance page: the tests of each fact and their results."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.conformance.facts import Fact, Proof, read_chapters, read_facts, read_proofs

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "conformance.md"

FOREWARN = "forewarn, started by the test suite"
NOT_RUN = "not run"
NOT_COVERED = "not covered"
NOT_VISIBLE = "not visible"

#: Results from worst to best: the worst case of a fact decides.
_ORDER = ("failed", "expected failure", "skipped", NOT_RUN, "passed")

Results = Mapping[str, str]

_INTRODUCTION = """\
# Conformance

This page lists the tests for each fact in [wire.md](wire.md), and their results. If a
fact has no test, the page gives the reason. The conformance tests generate this page.
`scripts/reference` runs them against forewarn, and
`scripts/test conformance --report FILE` runs them against
[another implementation](../how-to/test-another-implementation.md).
"""


@dataclass(slots=True)
class RunResults:
    """The results of all tests in this run."""

    _by_test: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def note(self, file: str, name: str, report: pytest.TestReport) -> None:
        """Record one report; each test has three."""
        if report.when == "call" or not report.passed:
            self._by_test.setdefault((file, name), []).append(_outcome(report))

    def of(self, proof: Proof) -> str:
        """Return the result of all cases of a test."""
        return worst(self._by_test.get((proof.file, proof.name), [NOT_RUN]))


def _outcome(report: pytest.TestReport) -> str:
    if hasattr(report, "wasxfail"):
        return "expected failure"
    return report.outcome


def worst(outcomes: Sequence[str]) -> str:
    """Return the worst of several results."""
    return min(outcomes, key=_ORDER.index)


def write_report(path: Path, endpoint: str | None, outcomes: RunResults) -> None:
    """Write the report of this run."""
    facts, proofs = read_facts(), read_proofs()
    results = {
        number: worst([outcomes.of(proof) for proof in tests])
        for number, tests in by_fact(proofs).items()
    }
    path.write_text(page(facts, proofs, results, endpoint or FOREWARN))


def by_fact(proofs: Sequence[Proof]) -> Mapping[str, list[Proof]]:
    """Group tests by the facts that they prove."""
    grouped: dict[str, list[Proof]] = {}
    for proof in proofs:
        for number in proof.facts:
            grouped.setdefault(number, []).append(proof)
    return grouped


def page(
    facts: Mapping[str, Fact],
    proofs: Sequence[Proof],
    results: Results,
    target_service: str,
) -> str:
    """Render the whole page with the results of a run."""
    return "\n".join(_lines(facts, by_fact(proofs), results, target_service))


def _lines(
    facts: Mapping[str, Fact],
    proofs: Mapping[str, Sequence[Proof]],
    results: Results,
    target_service: str,
) -> Iterator[str]:
    yield _INTRODUCTION
    yield f"Implementation tested: {target_service}."
    yield ""
    yield from _totals(facts, proofs, results)
    for chapter, title in read_chapters().items():
        rows = [
            _row(entry, proofs.get(entry.number, ()), results)
            for entry in facts.values()
            if entry.chapter == chapter
        ]
        if rows:
            yield from ("", f"## {chapter}. {title}", "")
            yield "| fact | source | result | tests, or why there are none |"
            yield "|---|---|---|---|"
            yield from rows
    yield ""


def _totals(
    facts: Mapping[str, Fact], proofs: Mapping[str, Sequence[Proof]], results: Results
) -> Iterator[str]:
    visible = [entry for entry in facts.values() if entry.unseen is None]
    covered = [entry for entry in visible if entry.number in proofs]
    results_of = [results.get(entry.number, NOT_RUN) for entry in covered]
    yield f"**Covered: {len(covered)} of {len(visible)} facts visible from outside.**"
    yield ""
    yield "| | facts |"
    yield "|---|---|"
    for name in reversed(_ORDER):
        if name == "passed" or name in results_of:
            yield f"| {name} | {results_of.count(name)} |"
    yield f"| {NOT_COVERED} but visible | {len(visible) - len(covered)} |"
    yield f"| {NOT_VISIBLE} from outside | {len(facts) - len(visible)} |"
    yield f"| total | {len(facts)} |"


def _row(fact: Fact, proofs: Sequence[Proof], results: Results) -> str:
    cells = (fact.number, fact.mark, _result(fact, proofs, results))
    return f"| {' | '.join(cells)} | {_tests_or_reason(fact, proofs)} |"


def _result(fact: Fact, proofs: Sequence[Proof], results: Results) -> str:
    if fact.unseen is not None:
        return NOT_VISIBLE
    return results.get(fact.number, NOT_RUN) if proofs else NOT_COVERED


def _tests_or_reason(fact: Fact, proofs: Sequence[Proof]) -> str:
    if not proofs:
        reason = fact.unseen or fact.uncovered or "none"
        return f"{reason[0].upper()}{reason[1:]}"
    return "<br>".join(f"{proof.sentence} (`{proof.file}`)" for proof in proofs)


def read_results(text: str) -> Results:
    """Parse the result of each fact from a page."""
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {
        row[0].removeprefix("| "): row[2]
        for row in rows
        if len(row) > 3 and row[2] in _ORDER
    }
