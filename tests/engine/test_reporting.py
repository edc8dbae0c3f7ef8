"""Reports on months, from what is in the store."""

from datetime import UTC, datetime

import pytest
from tests.engine.system import (
    HOUR,
    MINUTE,
    NOON,
    OpenStore,
    RecordingDriver,
    System,
    a_reboot,
    a_system,
    fail,
)

from forewarn.core.facts import Sight
from forewarn.core.maintenance import Via
from forewarn.core.months import month_named
from forewarn.core.reports import Report, Starts
from forewarn.engine.reporting import report_on
from forewarn.errors import NotFound

JANUARY, FEBRUARY = month_named("2026-01"), month_named("2026-02")
LATE = datetime(2026, 1, 31, 23, 50, tzinfo=UTC)


def happened(made: Report) -> tuple[int, int, int]:
    return (
        sum(each.announced for each in made.counts),
        sum(each.started for each in made.counts),
        sum(each.completed for each in made.counts),
    )


def both(system: System) -> tuple[Report, Report]:
    return report_on(system.engine, JANUARY), report_on(system.engine, FEBRUARY)


def test_without_a_month_the_present_one_is_meant(system: System) -> None:
    made = report_on(system.engine, None)
    assert made.month == JANUARY
    assert made.made_at == NOON
    assert made.counts == ()


def test_every_month_has_what_happened_in_it(open_store: OpenStore) -> None:
    system = a_system(open_store(), at=LATE)
    system.announce(a_reboot("web-0"))
    system.announce(a_reboot("lone"))
    system.advance.by(HOUR)
    january, february = both(system)
    assert happened(january) == (2, 0, 0)
    assert happened(february) == (0, 2, 2)
    assert (january.starts, february.starts) == (Starts(), Starts(whole=2))


def test_a_month_before_the_first_fact_or_after_the_last_is_empty(
    system: System,
) -> None:
    system.announce(a_reboot("web-0"))
    system.advance.by(HOUR)
    for name in ("2025-12", "2026-02"):
        assert report_on(system.engine, month_named(name)).counts == ()


def test_an_approval_counts_in_its_month_though_nothing_starts_in_it(
    open_store: OpenStore,
) -> None:
    system = a_system(open_store(), at=LATE)
    made = system.announce(a_reboot(host="host-a", minutes=60 * 48))
    system.advance.by(HOUR)
    system.engine.approve(made.events[0].id, by="ops")
    january, february = both(system)
    assert (january.approvals, february.approvals) == ({}, {Via.CONTROL: 1})


def test_on_whichever_page_its_facts_are_each_counts_once(system: System) -> None:
    long = system.announce(a_reboot("web-0"))
    for _ in range(260):  # two facts each, and a page has 500
        other = system.announce(a_reboot("lone"))
        system.engine.cancel(other.id, by="ops")
    system.engine.approve(long.events[0].id, by="ops")
    made = report_on(system.engine, None)
    assert sum(each.canceled for each in made.counts) == 260
    assert happened(made) == (261, 1, 0)
    assert made.starts.total == 1


def test_what_was_seen_in_time_was_shown(system: System) -> None:
    seen, unseen = (system.announce(a_reboot(vm)) for vm in ("web-0", "lone"))
    system.notes.see(Sight(event=seen.events[0].id, vm="web-1", at=NOON))
    system.advance.by(HOUR)
    made = report_on(system.engine, None)
    assert [each.maintenance for each in made.unseen] == [unseen.id]


def test_what_is_noted_and_not_yet_written_counts(system: System) -> None:
    made = system.announce(a_reboot("lone"))
    system.advance.by(HOUR)
    system.notes.see(Sight(event=made.events[0].id, vm="lone", at=NOON))
    assert report_on(system.engine, None).unseen == ()


def test_stuck_time_lasts_until_somebody_gives_up(system: System) -> None:
    made = system.stuck("lone")
    system.advance.by(HOUR)
    system.engine.close(made.id, by="ops")
    system.advance.by(HOUR)
    told = report_on(system.engine, None)
    assert (told.stuck_maintenances, told.stuck) == (1, HOUR)


def test_what_is_stuck_since_another_month_is_stuck_in_this(
    open_store: OpenStore,
) -> None:
    system = a_system(open_store(), at=LATE, driver=RecordingDriver(fail))
    system.stuck("lone")
    system.advance.by(HOUR)
    january, february = both(system)
    assert (january.stuck, february.stuck) == (10 * MINUTE, 50 * MINUTE)
    assert february.counts == ()


def test_a_group_is_named_in_any_case(system: System) -> None:
    system.announce(a_reboot(host="host-a"))
    system.announce(a_reboot("lone"))
    made = report_on(system.engine, None, "DB")
    assert (made.group, happened(made)) == ("db", (1, 0, 0))


def test_a_group_that_is_not_there_is_named(system: System) -> None:
    with pytest.raises(NotFound, match="nobody"):
        report_on(system.engine, None, "nobody")


def test_a_group_that_has_left_has_its_report(system: System) -> None:
    system.announce(a_reboot("lone"))
    system.advance.by(HOUR)
    system.fleets.remove_vm("lone", by="ops")
    assert "lone" not in system.fleet().groups
    assert happened(report_on(system.engine, None, "Lone")) == (1, 1, 1)
