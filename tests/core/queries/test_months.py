"""Months in UTC: names, bounds and overlaps."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from forewarn.core.queries.report import month_named, month_of
from forewarn.errors import InvalidInput

MICROSECOND = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("name", "since", "until"),
    [
        ("2026-11", (2026, 11), (2026, 12)),
        ("2026-12", (2026, 12), (2027, 1)),
        ("2028-02", (2028, 2), (2028, 3)),
        ("0987-06", (987, 6), (987, 7)),
    ],
)
def test_a_month_ends_where_the_next_begins(
    name: str, since: tuple[int, int], until: tuple[int, int]
) -> None:
    month = month_named(name)
    assert month.name == name
    assert month.since == datetime(*since, 1, tzinfo=UTC)
    assert month.until == datetime(*until, 1, tzinfo=UTC)


def test_every_moment_is_in_exactly_one_month() -> None:
    november, december = month_named("2026-11"), month_named("2026-12")
    border = datetime(2026, 12, 1, tzinfo=UTC)
    assert (november.has(border), december.has(border)) == (False, True)
    assert november.has(border - MICROSECOND)
    assert not november.has(None)


def test_the_month_of_a_moment_is_in_utc() -> None:
    east = timezone(timedelta(hours=2))
    assert month_of(datetime(2026, 12, 1, 1, tzinfo=east)).name == "2026-11"


def test_only_the_part_within_the_month_counts() -> None:
    month = month_named("2026-11")
    hour = timedelta(hours=1)
    assert month.part(month.since - hour, month.since + hour) == hour
    assert month.part(month.until - hour, month.until + hour) == hour
    assert month.part(month.since - hour, month.until + hour) == timedelta(days=30)
    assert month.part(month.until, month.until + hour) == timedelta(0)
    assert month.part(month.since - hour, month.since) == timedelta(0)


@pytest.mark.parametrize(
    "text",
    ["", "2026", "2026-13", "2026-00", "0000-01", "9999-01", "2026-1", "٢٠٢٦-١١"],  # noqa: RUF001  # digits that are not meant
)
def test_an_invalid_month_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="such as 2026-11"):
        month_named(text)
