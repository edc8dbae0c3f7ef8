"""The conformance page, the suite and the facts of wire.md agree."""

import re
from string import ascii_lowercase, digits

import pytest
from tests.conformance.facts import WIRE, Fact, read_facts, read_proofs
from tests.conformance.report import FOREWARN, PAGE, by_fact, page, read_results

FACTS = read_facts()
PROOFS = read_proofs()
SHOWN = by_fact(PROOFS)


def test_page_is_up_to_date() -> None:
    kept = PAGE.read_text()
    generated = page(FACTS, PROOFS, read_results(kept), FOREWARN)
    assert kept == generated, (
        "docs/reference/conformance.md is out of date; run scripts/reference"
    )


def test_page_comes_from_a_run_of_the_whole_suite() -> None:
    results = read_results(PAGE.read_text())
    assert results.keys() == SHOWN.keys()
    assert "not run" not in results.values()


def test_every_conformance_test_names_existing_facts() -> None:
    astray = [p.name for p in PROOFS if not p.facts or not FACTS.keys() >= {*p.facts}]
    assert astray == []


def test_every_fact_has_a_test_or_a_reason() -> None:
    explained = {n for n, fact in FACTS.items() if fact.unseen or fact.uncovered}
    assert FACTS.keys() - SHOWN.keys() - explained == set(), "facts without a test"
    assert SHOWN.keys() & explained == set(), (
        "facts with a test and a reason for having none"
    )


def test_reasons_begin_with_one_of_three_phrases() -> None:
    begins = ("client side", "not served", "not observable, ")
    reasons = [reason.unseen for reason in FACTS.values() if reason.unseen is not None]
    assert [reason for reason in reasons if not reason.startswith(begins)] == []


def test_facts_are_numbered_without_gaps() -> None:
    letters: dict[tuple[int, int], str] = {}
    for number in FACTS:
        chapter, _, item = number.partition(".")
        place = int(chapter), int(item.rstrip(ascii_lowercase))
        letters[place] = letters.get(place, "") + item.lstrip(digits)
    assert [*letters] == sorted(letters)
    for (section, number_in_section), used in letters.items():
        assert ascii_lowercase.startswith(used), (
            f"{section}.{number_in_section} has {used}"
        )
        assert len(used) != 1, f"{section}.{number_in_section}a needs no letter"
        assert (
            number_in_section in (0, 1) or (section, number_in_section - 1) in letters
        )


def test_every_chapter_but_the_one_on_open_questions_has_facts() -> None:
    titles = re.findall(r"^## (\d+)\.", WIRE.read_text(), re.MULTILINE)
    without = {int(entry) for entry in titles} - {
        entry.chapter for entry in FACTS.values()
    }
    assert titles == [str(entry) for entry in range(1, 17)]
    assert without == {15}


@pytest.mark.parametrize(
    "line",
    [
        "- **1.1** *rumored.* A rumor is no source.",
        "- **1.1** documented. The source is not in italics.",
        "- **1.1** *documented; not visible.* The reason is missing.",
        "- **1.1.1** *documented.* The number has three parts.",
    ],
)
def test_malformed_fact_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="not a fact"):
        read_facts(f"## 1. Title\n\n{line}\n")


def test_fact_with_a_reason_may_span_lines() -> None:
    text = "- **1.1a** *our choice; not visible: client\n  side.* It is\n  true.\n"
    assert [*read_facts(text).values()] == [
        Fact(number="1.1a", mark="our choice", text="It is true.", unseen="client side")
    ]
