"""Rule matching: which rule applies to an event, and why."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forewarn.agent.config.plan import NumberRange, Rule, RuleScope, Window
from forewarn.agent.rules import (
    RuleMatch,
    Situation,
    covering_rules,
    is_open,
    match_rule,
)
from forewarn.protocol.types import EventSource, EventStatus, EventType, ScheduledEvent

NOON = datetime(2026, 1, 28, 12, tzinfo=UTC)  # a Wednesday
MON, TUE, WED, THU, FRI, SAT, SUN = range(7)

EVENT = ScheduledEvent(
    id="E",
    type=EventType.REBOOT,
    status=EventStatus.SCHEDULED,
    resources=("web-0",),
    not_before=NOON + timedelta(minutes=15),
    description="Host maintenance of rack 7",
    source=EventSource.PLATFORM,
    duration=9,
)


def a_rule(**changed: Any) -> Rule:
    return Rule(**{"name": "r", **changed})


def evaluate(
    rules: Sequence[Rule],
    *,
    is_mine: bool = True,
    notice: float | None = 900.0,
    now: datetime = NOON,
    **changed: Any,
) -> RuleMatch:
    situation = Situation(is_mine=is_mine, notice=notice, now=now)
    return match_rule(rules, replace(EVENT, **changed), situation)


def matches(rule: Rule, **changed: Any) -> bool:
    return evaluate([rule], **changed).rule is rule


def match_reasons(rule: Rule, **changed: Any) -> tuple[str, ...]:
    return evaluate([rule], **changed).reasons[0].why


# --- order of rules ----------------------------------------------------------


def test_the_first_matching_rule_applies() -> None:
    rules = [
        a_rule(name="freezes", types=frozenset({"Freeze"})),
        a_rule(name="reboots", types=frozenset({"Reboot"})),
        a_rule(name="all"),
    ]
    assert evaluate(rules).rule is rules[1]


def test_every_rule_has_reasons_even_after_the_match() -> None:
    rules = [a_rule(name="a"), a_rule(name="b", sources=frozenset({"User"}))]
    reasons = evaluate(rules).reasons
    assert [(reason.rule, reason.holds) for reason in reasons] == [
        ("a", True),
        ("b", False),
    ]


def test_without_a_match_every_rule_is_explained() -> None:
    rules = [a_rule(name="a", types=frozenset({"Freeze"})), a_rule(name="b")]
    verdict = evaluate(rules, is_mine=False)
    assert verdict.rule is None
    assert verdict.why == (
        "rule a does not match: its type is Reboot, not Freeze; it does not list this"
        " VM",
        "rule b does not match: it does not list this VM",
    )


def test_the_reasons_of_a_match_are_all_its_conditions() -> None:
    rule = a_rule(types=frozenset({"Reboot"}), sources=frozenset({"Platform"}))
    assert evaluate([rule]).why == (
        "its type is Reboot",
        "its source is Platform",
        "it lists this VM",
    )


def test_a_rule_without_conditions_matches_every_event() -> None:
    assert match_reasons(a_rule(concerns=RuleScope.ANYONE)) == (
        "it matches every event",
    )


# --- single conditions -------------------------------------------------------


@pytest.mark.parametrize("written", ["Reboot", "reboot", "REBOOT"])
def test_types_match_in_any_case(written: str) -> None:
    assert matches(a_rule(types=frozenset({written, "Freeze"})))
    assert not matches(a_rule(types=frozenset({written})), type=EventType.FREEZE)


def test_an_unknown_type_matches_a_rule_without_types() -> None:
    assert matches(a_rule(), type="Hibernate")
    assert match_reasons(a_rule(types=frozenset({"Reboot"})), type="Hibernate") == (
        "its type is Hibernate, not Reboot",
    )


def test_sources_match() -> None:
    rule = a_rule(sources=frozenset({"User"}))
    assert matches(rule, source=EventSource.USER)
    assert match_reasons(rule) == ("its source is Platform, not User",)


def test_a_missing_source_matches_no_sources() -> None:
    rule = a_rule(sources=frozenset({"User", "Platform"}))
    assert match_reasons(rule, source=None) == (
        "its source is unknown, not Platform or User",
    )


@pytest.mark.parametrize(
    ("bounds", "seconds", "expected"),
    [
        (NumberRange(least=5), 5, True),
        (NumberRange(least=5), 4, False),
        (NumberRange(most=9), 9, True),
        (NumberRange(most=9), 10, False),
        (NumberRange(least=0, most=9), 0, True),
        (NumberRange(least=0), None, False),
        (NumberRange(), None, False),
    ],
)
def test_a_duration_matches_its_range_inclusively(
    bounds: NumberRange, seconds: int | None, expected: bool
) -> None:
    assert matches(a_rule(duration=bounds), duration=seconds) is expected


def test_a_rule_without_duration_matches_unknown_durations() -> None:
    assert matches(a_rule(), duration=None)


@pytest.mark.parametrize(
    ("bounds", "seconds", "expected"),
    [
        (NumberRange(least=900), 900.0, True),
        (NumberRange(least=900), 899.9, False),
        (NumberRange(most=60), 60.0, True),
        (NumberRange(most=60), 60.1, False),
        (NumberRange(most=60), None, False),
    ],
)
def test_the_remaining_notice_matches_its_range(
    bounds: NumberRange, seconds: float | None, expected: bool
) -> None:
    assert matches(a_rule(notice=bounds), notice=seconds) is expected


def test_a_range_that_does_not_match_is_explained_in_seconds() -> None:
    rule = a_rule(notice=NumberRange(least=60), duration=NumberRange(most=5))
    assert match_reasons(rule, notice=30.25) == (
        "its duration is 9 s, more than 5 s",
        "the notice left is 30.2 s, less than 60 s",
    )


def test_a_started_event_has_no_notice_left() -> None:
    rule = a_rule(notice=NumberRange(most=60))
    started = match_reasons(
        rule, notice=None, status=EventStatus.STARTED, not_before=None
    )
    assert started == ("it has started, so no notice is left",)
    assert match_reasons(rule, notice=None) == ("the notice left is unknown",)


@pytest.mark.parametrize(
    ("concerns", "mine", "others"),
    [
        (RuleScope.ME, True, False),
        (RuleScope.OTHERS, False, True),
        (RuleScope.ANYONE, True, True),
    ],
)
def test_concerns_selects_own_or_other_events(
    concerns: RuleScope, mine: bool, others: bool
) -> None:
    rule = a_rule(concerns=concerns)
    assert matches(rule, is_mine=True) is mine
    assert matches(rule, is_mine=False) is others


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("*maintenance*", True),
        ("host MAINTENANCE of rack ?", True),
        ("*rack [78]", True),
        ("*rack [!78]", False),
        ("maintenance", False),
        ("*", True),
    ],
)
def test_a_description_matches_a_glob_in_any_case(glob: str, expected: bool) -> None:
    assert matches(a_rule(description=glob)) is expected


def test_a_glob_matches_any_text() -> None:
    rule = a_rule(description="see *end")
    assert matches(rule, description="see /a/b.c\n.hidden end")


# --- windows -----------------------------------------------------------------


def at(day: int, clock: str, zone: str = "UTC") -> datetime:
    """Return a time in a week without a clock change."""
    hour, minute = map(int, clock.split(":"))
    # Monday is the 26th
    return datetime(2026, 1, 26 + day, hour, minute, tzinfo=ZoneInfo(zone))


@pytest.mark.parametrize(
    ("day", "clock", "expected"),
    [
        (FRI, "21:59", False),
        (FRI, "22:00", True),
        (FRI, "23:59", True),
        (SAT, "00:00", True),
        (SAT, "05:59", True),
        (SAT, "06:00", False),
        (SAT, "22:00", False),
        (FRI, "05:00", False),
    ],
)
def test_a_window_over_midnight_belongs_to_the_day_it_begins(
    day: int, clock: str, expected: bool
) -> None:
    window = Window(days=frozenset({FRI}), begins=time(22), ends=time(6))
    assert is_open(window, at(day, clock)) is expected


def test_a_window_from_sunday_continues_on_monday() -> None:
    window = Window(days=frozenset({SUN}), begins=time(22), ends=time(6))
    assert is_open(window, at(MON, "03:00"))


@pytest.mark.parametrize(
    ("clock", "expected"), [("08:59", False), ("09:00", True), ("17:00", False)]
)
def test_a_window_excludes_its_end(clock: str, expected: bool) -> None:
    window = Window(days=frozenset({WED}), begins=time(9), ends=time(17))
    assert is_open(window, at(WED, clock)) is expected
    assert not is_open(window, at(THU, clock))


def test_a_window_that_ends_when_it_begins_is_a_whole_day() -> None:
    window = Window(days=frozenset({WED}), begins=time(9), ends=time(9))
    assert is_open(window, at(WED, "08:00"))
    assert not is_open(window, at(THU, "08:00"))


def test_a_window_uses_its_time_zone() -> None:
    window = Window(begins=time(22), ends=time(6), zone="Europe/Berlin")
    assert is_open(window, at(WED, "21:30"))  # 22:30 in winter
    assert not is_open(
        window, datetime(2026, 7, 29, 4, 30, tzinfo=UTC)
    )  # 6:30 in summer


def test_a_window_is_explained_in_its_own_time_zone() -> None:
    window = Window(
        days=frozenset({MON, TUE}), begins=time(22), ends=time(6), zone="Asia/Tokyo"
    )
    assert match_reasons(a_rule(window=window)) == (
        "Wed 21:00 is outside the window Mon, Tue 22:00 to 06:00, Asia/Tokyo",
    )


ANY_WINDOW = st.builds(
    Window,
    days=st.frozensets(st.integers(0, 6)),
    begins=st.builds(time, st.integers(0, 23), st.integers(0, 59)),
    ends=st.builds(time, st.integers(0, 23), st.integers(0, 59)),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "America/New_York"]),
)
WHEN = st.integers(0, 365 * 24 * 60).map(
    lambda minutes: NOON + timedelta(minutes=minutes)
)


@given(ANY_WINDOW, WHEN)
def test_a_window_and_its_complement_cover_every_day(
    window: Window, moment: datetime
) -> None:
    """Build the complement from the end of the window to its next beginning."""
    every_day = replace(window, days=frozenset(range(7)))
    rest = replace(every_day, begins=window.ends, ends=window.begins)
    if window.begins != window.ends:
        assert is_open(every_day, moment) is not is_open(rest, moment)


@given(ANY_WINDOW, WHEN)
def test_a_window_is_open_only_on_its_days(window: Window, moment: datetime) -> None:
    single = [replace(window, days=frozenset({day})) for day in window.days]
    assert is_open(window, moment) is any(is_open(part, moment) for part in single)


# --- all conditions combined -------------------------------------------------

BOUNDS = st.one_of(
    st.none(),
    st.tuples(st.integers(0, 20), st.integers(0, 20)).map(
        lambda pair: NumberRange(least=min(pair), most=max(pair))
    ),
    st.integers(0, 20).map(lambda most: NumberRange(most=most)),
    st.integers(0, 20).map(lambda least: NumberRange(least=least)),
)
ANY_RULE = st.builds(
    Rule,
    name=st.uuids().map(str),
    types=st.none() | st.frozensets(st.sampled_from(EventType), min_size=1),
    sources=st.none() | st.frozensets(st.sampled_from(EventSource), min_size=1),
    duration=BOUNDS,
    notice=BOUNDS,
    concerns=st.sampled_from(RuleScope),
    description=st.sampled_from([None, "*", "*rack*", "x"]),
    window=st.none() | ANY_WINDOW,
)
RULES = st.lists(ANY_RULE, max_size=4, unique_by=lambda rule: rule.name)
ANY_EVENT = st.builds(
    ScheduledEvent,
    id=st.just("E"),
    type=st.sampled_from(EventType),
    status=st.just(EventStatus.SCHEDULED),
    resources=st.just(("a",)),
    description=st.sampled_from(["", "rack 7", "x"]),
    source=st.none() | st.sampled_from(EventSource),
    duration=st.none() | st.integers(0, 20),
)
ANY_SITUATION = st.builds(
    Situation,
    is_mine=st.booleans(),
    notice=st.none() | st.floats(0, 20),
    now=WHEN,
)


@given(RULES, ANY_EVENT, ANY_SITUATION)
def test_the_first_rule_that_matches_alone_applies(
    rules: list[Rule], event: ScheduledEvent, situation: Situation
) -> None:
    alone = [rule for rule in rules if match_rule([rule], event, situation).rule]
    verdict = match_rule(rules, event, situation)
    assert verdict.rule is (alone[0] if alone else None)
    assert all(reason.why for reason in verdict.reasons)
    assert [reason.rule for reason in verdict.reasons] == [rule.name for rule in rules]


@given(RULES, ANY_RULE, ANY_EVENT, ANY_SITUATION)
def test_a_rule_covered_by_earlier_ones_never_applies(
    rules: list[Rule], later: Rule, event: ScheduledEvent, situation: Situation
) -> None:
    if covering_rules(rules, later):
        assert match_rule([*rules, later], event, situation).rule is not later


def test_rules_together_may_cover_a_later_one_by_type() -> None:
    rules = [
        a_rule(name="a", types=frozenset({"Reboot"})),
        a_rule(name="b", types=frozenset({"Freeze"}), duration=NumberRange(most=9)),
        a_rule(name="c", types=frozenset({"Freeze"})),
    ]
    both = a_rule(name="d", types=frozenset({"Reboot", "Freeze"}))
    assert sorted(covering_rules(rules, both)) == ["a", "c"]
    assert covering_rules(rules, a_rule(name="d", types=frozenset({"Preempt"}))) == ()
    assert covering_rules(rules, a_rule(name="d")) == ()
    assert covering_rules(rules[:2], both) == ()


@pytest.mark.parametrize(
    "narrow",
    [
        {"sources": frozenset({"User"})},
        {"duration": NumberRange(most=9)},
        {"notice": NumberRange(least=9)},
        {"concerns": RuleScope.OTHERS},
        {"description": "x*"},
        {"window": Window(begins=time(1), ends=time(2))},
    ],
)
def test_a_rule_with_a_condition_does_not_cover_one_without(
    narrow: dict[str, Any],
) -> None:
    assert covering_rules([a_rule(name="a", **narrow)], a_rule(name="b")) == ()
    wide = a_rule(name="a", concerns=RuleScope.ANYONE)
    assert covering_rules([wide], a_rule(name="b", **narrow)) == ("a",)
