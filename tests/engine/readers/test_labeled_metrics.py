"""Counters and histograms."""

from math import inf

from forewarn.engine.readers.counters import LabeledCounter, LabeledHistogram


def test_expected_labels_are_zero_before_they_are_counted() -> None:
    assert LabeledCounter([("a",), ("b",)]).all() == {("a",): 0, ("b",): 0}


def test_counts_are_separate_by_label() -> None:
    tally = LabeledCounter()
    tally.add("a")
    tally.add("a", by=2.5)
    tally.add("b")
    assert tally.all() == {("a",): 3.5, ("b",): 1}


def test_a_returned_result_does_not_change_afterwards() -> None:
    tally = LabeledCounter()
    tally.add("a")
    counts = tally.all()
    tally.add("a")
    assert counts == {("a",): 1}


def test_a_value_counts_in_every_bucket_that_includes_it() -> None:
    spread = LabeledHistogram(1, 5)
    for value in (0.5, 1, 3, 100):
        spread.see(value, "a")
    assert spread.all()["a",].up_to == ((1, 2), (5, 3), (inf, 4))
    assert spread.all()["a",].total == 104.5


def test_expected_labels_are_empty_before_they_are_observed() -> None:
    spread = LabeledHistogram(1, expected=[("a",)])
    assert spread.all()["a",].up_to == ((1, 0), (inf, 0))
    spread.see(1, "a")
    assert spread.all()["a",].up_to == ((1, 1), (inf, 1))


def test_values_are_separate_by_label() -> None:
    spread = LabeledHistogram(1)
    spread.see(1, "a")
    spread.see(2, "b")
    assert [distribution.total for distribution in spread.all().values()] == [1, 2]
