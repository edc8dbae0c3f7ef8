"""Monthly reports, from the store."""

from datetime import UTC, datetime

import pytest
from tests.engine.support.system import (
    HOUR,
    NOON,
    OpenStore,
    RecordingDriver,
    System,
    a_reboot,
    a_system,
    fail,
)

from forewarn.core.lifecycle.facts import Sight
from forewarn.core.lifecycle.model import Via
from forewarn.core.queries.report import MonthlyReport, StuckTime, month_named
from forewarn.engine.queries import report_on
from forewarn.errors import NotFound

JANUARY, FEBRUARY = month_named("2026-01"), month_named("2026-02")
LATE = datetime(2026, 1, 31, 23, 50, tzinfo=UTC)


def totals(made: MonthlyReport) -> tuple[int, int, int]:
    return (
        sum(row.announced for row in made.maintenances),
        sum(row.started for row in made.maintenances),
        sum(row.completed for row in made.maintenances),
    )


def both_reports(system: System) -> tuple[MonthlyReport, MonthlyReport]:
    return report_on(system.engine, JANUARY), report_on(system.engine, FEBRUARY)


def test_the_current_month_is_the_default(system: System) -> None:
    report = report_on(system.engine, None)
    assert report.month == JANUARY.name
    assert report.made_at == NOON
    assert report.maintenances == ()


def test_every_month_has_its_own_facts(open_store: OpenStore) -> None:
    system = a_system(open_store(), at=LATE)
    system.announce(a_reboot("web-0"))
    system.announce(a_reboot("lone"))
    system.advance.by(HOUR)
    january, february = both_reports(system)
    assert totals(january) == (2, 0, 0)
    assert totals(february) == (0, 2, 2)
    assert (january.starts.total, february.starts.whole_notice) == (0, 2)


def test_an_approval_counts_in_its_month_even_without_a_start(
    open_store: OpenStore,
) -> None:
    system = a_system(open_store(), at=LATE)
    maintenance = system.announce(a_reboot(host="host-a", minutes=60 * 48))
    system.advance.by(HOUR)
    system.engine.approve(maintenance.events[0].id, by="ops")
    january, february = both_reports(system)
    assert january.approvals.by_via == {}
    assert february.approvals.by_via == {Via.CONTROL: 1}


def test_maintenance_is_counted_once_across_pages(system: System) -> None:
    long = system.announce(a_reboot("web-0"))
    for _ in range(260):  # two facts each; a page has 500
        other = system.announce(a_reboot("lone"))
        system.engine.cancel(other.id, by="ops")
    system.engine.approve(long.events[0].id, by="ops")
    report = report_on(system.engine, None)
    assert sum(row.canceled for row in report.maintenances) == 260
    assert totals(report) == (261, 1, 0)
    assert report.starts.total == 1


def test_an_event_seen_in_time_is_not_unseen(system: System) -> None:
    seen, unseen = (system.announce(a_reboot(vm)) for vm in ("web-0", "lone"))
    system.observations.add_sight(Sight(event=seen.events[0].id, vm="web-1", at=NOON))
    system.advance.by(HOUR)
    report = report_on(system.engine, None)
    assert [event.maintenance for event in report.never_shown.events] == [unseen.label]


def test_pending_observations_count(system: System) -> None:
    maintenance = system.announce(a_reboot("lone"))
    system.advance.by(HOUR)
    system.observations.add_sight(
        Sight(event=maintenance.events[0].id, vm="lone", at=NOON)
    )
    assert report_on(system.engine, None).never_shown.total == 0


def test_stuck_time_ends_when_it_is_closed(system: System) -> None:
    maintenance = system.stuck("lone")
    system.advance.by(HOUR)
    system.engine.close(maintenance.id, by="ops")
    system.advance.by(HOUR)
    report = report_on(system.engine, None)
    assert report.stuck == StuckTime(maintenances=1, seconds=3600)


def test_stuck_time_continues_in_the_next_month(
    open_store: OpenStore,
) -> None:
    system = a_system(open_store(), at=LATE, driver=RecordingDriver(fail))
    system.stuck("lone")
    system.advance.by(HOUR)
    january, february = both_reports(system)
    assert (january.stuck.seconds, february.stuck.seconds) == (10 * 60, 50 * 60)
    assert february.maintenances == ()


def test_a_group_is_named_in_any_case(system: System) -> None:
    system.announce(a_reboot(host="host-a"))
    system.announce(a_reboot("lone"))
    report = report_on(system.engine, None, "DB")
    assert (report.group, totals(report)) == ("db", (1, 0, 0))


def test_an_unknown_group_is_refused_by_name(system: System) -> None:
    with pytest.raises(NotFound, match="nobody"):
        report_on(system.engine, None, "nobody")


def test_a_removed_group_keeps_its_report(system: System) -> None:
    system.announce(a_reboot("lone"))
    system.advance.by(HOUR)
    system.fleets.remove_vm("lone", by="ops")
    assert "lone" not in system.fleet().groups
    assert totals(report_on(system.engine, None, "Lone")) == (1, 1, 1)
