"""Metrics reader: metrics about maintenance, since it started reading."""

from datetime import datetime, timedelta

import pytest
from tests.engine.support.system import (
    HOUR,
    MINUTE,
    SECOND,
    System,
    a_reboot,
    an_emergency,
)

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.facts import Sight
from forewarn.core.lifecycle.model import Maintenance
from forewarn.core.lifecycle.settlement import Step
from forewarn.core.outages import Outage
from forewarn.ports import Store
from forewarn.server.metrics.catalog import Histogram, Labels, ServiceMetrics
from forewarn.server.metrics.reader import MetricsReader

PLANNED = ("Reboot", "platform")


def counting_on(store: Store) -> MetricsReader:
    counting = MetricsReader(store)
    counting.open()
    return counting


@pytest.fixture
def counting(system: System) -> MetricsReader:
    return counting_on(system.store)


def read(counting: MetricsReader) -> ServiceMetrics:
    counting.catch_up()
    return counting.metrics


def moved(counting: MetricsReader, *kinds: type[f.Fact]) -> list[float]:
    """Return how many planned Reboots had each kind of fact."""
    counts = read(counting).maintenances
    return [counts[kind][PLANNED] for kind in kinds]


def only(histogram: Histogram, *labels: str) -> tuple[float, float]:
    """Return the number and sum of all values, which must be under `labels`."""
    assert observed(histogram) == [labels]
    buckets, total = histogram.all()[labels]
    return buckets[-1][1], total


def observed(histogram: Histogram) -> list[Labels]:
    """Return the labels under which there are values."""
    distributions = histogram.all().items()
    return [labels for labels, (buckets, _) in distributions if buckets[-1][1]]


def approve_early(system: System, after: timedelta) -> Maintenance:
    """Announce a Reboot with 15 minutes of notice and approve it `after` that."""
    maintenance = system.announce(a_reboot("lone"))
    system.advance.by(after)
    system.engine.approve_as_vm("lone", [maintenance.events[0].id])
    return maintenance


def test_earlier_maintenance_is_not_counted(system: System) -> None:
    system.announce(a_reboot("lone"))
    assert moved(counting_on(system.store), f.Announced) == [0]


def test_a_whole_lifecycle_is_counted_step_by_step(
    system: System, counting: MetricsReader
) -> None:
    system.announce(a_reboot("lone"))
    assert moved(counting, f.Announced, f.Started, f.Completed) == [1, 0, 0]
    system.advance.by(15 * MINUTE)
    assert moved(counting, f.Announced, f.Started, f.Completed) == [1, 1, 0]
    system.advance.by(MINUTE)
    assert moved(counting, f.Announced, f.Started, f.Completed) == [1, 1, 1]


def test_a_cancellation_is_counted(system: System, counting: MetricsReader) -> None:
    maintenance = system.announce(a_reboot("lone"))
    system.engine.cancel(maintenance.id, by="ops")
    assert moved(counting, f.Canceled, f.Started) == [1, 0]


def test_a_closed_maintenance_is_counted(
    system: System, counting: MetricsReader
) -> None:
    maintenance = system.stuck("lone")
    system.engine.close(maintenance.id, by="ops")
    assert moved(counting, f.Closed, f.Completed) == [1, 0]


def test_notice_given_used_and_saved_are_measured(
    system: System, counting: MetricsReader
) -> None:
    approve_early(system, MINUTE)
    numbers = read(counting)
    assert only(numbers.notice_given, "Reboot") == (1, 900)
    assert only(numbers.notice_used, "Reboot") == (1, 60)
    assert numbers.notice_saved["Reboot",] == 840


def test_immediate_starts_do_not_count_as_notice(
    system: System, counting: MetricsReader
) -> None:
    system.announce(an_emergency("lone"))
    assert moved(counting, f.Started) == [1]
    assert observed(read(counting).notice_given) == []


def test_an_approval_is_timed_by_its_channel(
    system: System, counting: MetricsReader
) -> None:
    approve_early(system, MINUTE)
    assert only(read(counting).approvals, "metadata") == (1, 60)


def test_an_event_is_first_seen_once(system: System, counting: MetricsReader) -> None:
    maintenance = system.announce(a_reboot(host="host-a"))
    event = maintenance.events[0].id
    for vm, seconds in (("web-1", 7), ("web-2", 9)):
        at = maintenance.announced_at + seconds * SECOND
        system.observations.add_sight(Sight(event=event, vm=vm, at=at))
        system.engine.beat()
    assert only(read(counting).first_seen, "Reboot") == (1, 7)


def test_an_event_announced_earlier_is_not_timed(system: System) -> None:
    maintenance = system.announce(a_reboot("lone"))
    counting = counting_on(system.store)
    at = maintenance.announced_at + HOUR
    system.observations.add_sight(
        Sight(event=maintenance.events[0].id, vm="lone", at=at)
    )
    system.engine.beat()
    assert observed(read(counting).first_seen) == []


def test_regular_operation_breaks_no_promise(
    system: System, counting: MetricsReader
) -> None:
    approve_early(system, MINUTE)
    system.announce(an_emergency("web-0"))
    system.announce(a_reboot("db-0"))
    system.advance.by(HOUR)
    assert moved(counting, f.Started) == [3]
    assert set(read(counting).broken.values()) == {0}


def test_a_broken_promise_is_counted(system: System, counting: MetricsReader) -> None:
    maintenance = system.announce(a_reboot("lone"))
    start(system, maintenance, maintenance.not_before - SECOND)
    assert read(counting).broken["Reboot",] == 1


def test_notice_lost_to_an_outage_is_still_owed(
    system: System, counting: MetricsReader
) -> None:
    maintenance = system.announce(a_reboot("lone"))
    away = Outage(
        since=maintenance.announced_at, until=maintenance.announced_at + MINUTE
    )
    write(system, f.OutageEnded(at=away.until, outage=away))
    start(system, maintenance, maintenance.not_before)
    numbers = read(counting)
    assert numbers.broken["Reboot",] == 1
    assert (numbers.outages[()], numbers.outage_seconds[()]) == (1, 60)


def start(system: System, made: Maintenance, at: datetime) -> None:
    """Record a start that the core would not have allowed."""
    write(system, f.Started(at=at, maintenance=made.id))


def write(system: System, fact: f.Fact) -> None:
    """Put `fact` into the journal."""
    with system.store.transaction() as transaction:
        slice_ = transaction.slice(None)
        transaction.save(slice_, Step(slice_, (fact,)), {})


def test_driver_reports_are_counted_by_result(
    system: System, counting: MetricsReader
) -> None:
    system.stuck("web-0")
    system.announce(an_emergency("lone"))
    system.read_to_end()
    reports = read(counting).driver_reports
    assert reports["Reboot", "failed"] == 1
    assert reports["Reboot", "done"] == 1
    assert read(counting).driver_calls["Reboot",] == 2


def test_live_maintenance_is_known_from_the_start(system: System) -> None:
    stuck = system.stuck("lone")
    counting = counting_on(system.store)
    assert counting.live() == [stuck]


def test_live_maintenance_matches_the_store(
    system: System, counting: MetricsReader
) -> None:
    waiting = system.announce(a_reboot("web-0"))
    stuck = system.stuck("lone")
    approve = system.announce(a_reboot(host="host-b"))
    system.engine.approve(approve.events[0].id, by="ops")
    counting.catch_up()
    live = [system.maintenance(item.id) for item in (waiting, stuck, approve)]
    assert [*counting.live()] == live
    system.engine.retry(stuck.id, by="ops")
    system.engine.cancel(waiting.id, by="ops")
    counting.catch_up()
    assert [item.stuck_since for item in counting.live()] == [None, None]


def test_it_continues_after_many_facts(system: System, counting: MetricsReader) -> None:
    for _ in range(150):  # five facts each; it reads five hundred at once
        maintenance = system.announce(a_reboot("lone"))
        system.engine.cancel(maintenance.id, by="ops")
    assert moved(counting, f.Announced, f.Canceled) == [150, 150]
    assert counting.position == len(system.journal())
