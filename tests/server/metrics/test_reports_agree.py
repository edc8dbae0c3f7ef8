"""Property test: metrics, reports and the journal agree for any history."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from random import Random

import pytest
from tests.engine.support.system import (
    FLEET,
    HOUR,
    MINUTE,
    SECOND,
    OpenStore,
    RecordingDriver,
    System,
    a_system,
    counted,
    fail,
)
from tests.lanes import SEED

from forewarn.core.fleet import AutoApproval, Enabling, Fleet
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.facts import Sight
from forewarn.core.lifecycle.model import Maintenance, Phase, Via
from forewarn.core.lifecycle.operations import VmOperation, order_for, order_for_host
from forewarn.core.queries.report import MonthlyReport, month_named
from forewarn.drivers.registry import NothingDriver
from forewarn.engine.operations import Operations
from forewarn.engine.queries import report_on
from forewarn.errors import ForewarnError
from forewarn.ports import Store
from forewarn.protocol.types import EventType
from forewarn.server.metrics.catalog import Histogram, ServiceMetrics
from forewarn.server.metrics.reader import MetricsReader

LATE = datetime(2026, 1, 31, 20, tzinfo=UTC)  # the month ends in the middle
MONTHS = [month_named(name) for name in ("2026-01", "2026-02", "2026-03")]
NAMES: dict[type[f.Fact], str] = {
    f.Announced: "announced",
    f.Started: "started",
    f.Completed: "completed",
    f.Canceled: "canceled",
    f.Closed: "failed",
}
STEPS = 60


def a_fleet() -> Fleet:
    """Return the usual fleet, with settings that lead to other histories."""
    changed = {
        "web": {"enabled": Enabling.ALWAYS},
        "db": {"auto_approve": (AutoApproval.USER_REBOOT,)},
        "iso": {"terminate_notice": 420, "enabled": Enabling.ALWAYS},
    }
    groups = {
        name: replace(group, **changed.get(name, {}))  # type: ignore[arg-type]
        for name, group in FLEET.groups.items()
    }
    lone = replace(FLEET.vms["lone"], spot=True)
    return replace(FLEET, groups=groups, vms={**FLEET.vms, "lone": lone})


@dataclass(slots=True)
class RandomWorkload:
    """A service to which random things happen."""

    store: Store
    chance: Random
    new_id: Callable[[], str] = field(default_factory=counted)
    system: System = field(init=False)

    def __post_init__(self) -> None:
        self.system = self.serve(LATE)
        self.system.fleets.apply(a_fleet(), by="ops", remove=True)

    def serve(self, at: datetime) -> System:
        return a_system(
            self.store,
            at=at,
            driver=RecordingDriver(
                lambda work: (
                    fail(work)
                    if self.chance.random() < 0.2
                    else NothingDriver().carry_out(work)
                )
            ),
            new_id=self.new_id,
            fleet=None,
        )

    def go_on(self) -> None:
        """Run one random action; a refused one changes nothing."""
        often = (self.announce, self.approve, self.pass_time)
        sometimes = (self.see, self.operate, self.on_host)
        rarely = (self.end, self.leave, self.be_away)
        act = self.chance.choice([*often, *often, *sometimes, *rarely])
        with suppress(ForewarnError):
            act()

    def announce(self) -> None:
        vms = self.chance.sample([*FLEET.vms], self.chance.randint(1, 3))
        is_emergency = self.chance.random() < 0.2
        notice = self.chance.choice([None, None, 20 * MINUTE, 3 * HOUR])
        self.system.engine.announce(
            Order(
                type=self.chance.choice([*EventType]),
                vms=tuple(vms),
                notice=notice,
                emergency=is_emergency,
                ignore_blockers=is_emergency and self.chance.random() < 0.5,
                reason="smoke" if is_emergency else None,
            ),
            by="ops",
        )

    def approve(self) -> None:
        maintenance = self.one(Phase.SCHEDULED)
        event = self.chance.choice(maintenance.events)
        if self.chance.random() < 0.5:
            self.system.engine.approve_as_vm(event.resources[0], [event.id])
        else:
            self.system.engine.approve(event.id, by="ops", via=Via.CONTROL)

    def see(self) -> None:
        event = self.chance.choice(self.one(Phase.SCHEDULED).events)
        now = self.system.clock.now()
        vm = self.chance.choice(event.resources)
        self.system.observations.add_poll(event.group, now)
        self.system.observations.add_sight(Sight(event=event.id, vm=vm, at=now))

    def operate(self) -> None:
        operation = self.chance.choice([*VmOperation])
        order = order_for(operation, self.chance.choice([*FLEET.vms]))
        Operations(self.system.engine).operate(operation, order, by="ops")

    def on_host(self) -> None:
        causes = Operations(self.system.engine)
        act = self.chance.choice(
            [causes.maintain, causes.degrade, causes.fail, causes.recover]
        )
        act(order_for_host(self.chance.choice([*FLEET.hosts])), by="ops")

    def end(self) -> None:
        engine = self.system.engine
        which = self.chance.choice(["cancel", "complete", "retry", "close"])
        phase = Phase.SCHEDULED if which == "cancel" else Phase.STARTED
        maintenance_id = self.one(phase).id
        if which in ("cancel", "close"):
            getattr(engine, which)(maintenance_id, by="ops", reason="why not")
        else:
            getattr(engine, which)(maintenance_id, by="ops")

    def leave(self) -> None:
        if self.chance.random() < 0.3:
            self.system.fleets.apply(a_fleet(), by="ops", remove=True)
        else:
            name = self.chance.choice([*FLEET.vms])
            self.system.fleets.remove_vm(name, by="ops")

    def pass_time(self) -> None:
        units = [SECOND, MINUTE, 5 * MINUTE, HOUR]
        self.system.advance.by(self.chance.randint(1, 20) * self.chance.choice(units))

    def be_away(self) -> None:
        away = self.chance.choice([30 * SECOND, 7 * MINUTE, 2 * HOUR])
        self.system.engine.beat()
        self.system = self.serve(self.system.clock.now() + away)

    def one(self, phase: Phase) -> Maintenance:
        candidates = [
            maintenance
            for maintenance in self.system.maintenances()
            if maintenance.phase is phase
        ]
        if not candidates:
            raise ForewarnError("there is none")
        return self.chance.choice(candidates)


def total(reports: Sequence[MonthlyReport], name: str) -> Counter[tuple[str, str]]:
    """Return how often `name` happened in all months, by type and cause."""
    totals: Counter[tuple[str, str]] = Counter()
    for report in reports:
        for row in report.maintenances:
            totals[row.type, row.cause] += getattr(row, name)
    return +totals


def count(histogram: Histogram, label: str) -> float:
    """Return how many values with `label` were observed."""
    buckets, _ = histogram.all()[label,]
    return float(buckets[-1][1])


def check(
    numbers: ServiceMetrics, journal: Sequence[f.Fact], reports: list[MonthlyReport]
) -> None:
    for kind, name in NAMES.items():
        moved = sum(isinstance(fact, kind) for fact in journal)
        tallied = Counter(numbers.maintenances[kind])
        assert +tallied == total(reports, name), name
        assert tallied.total() == moved, name
    approved = Counter(fact.via for fact in journal if isinstance(fact, f.Approved))
    assert Counter({via: count(numbers.approvals, via) for via in Via}) == approved
    counted = [Counter(item.approvals.by_via) for item in reports]
    assert sum(counted, Counter()) == approved
    starts = [item.starts for item in reports]
    with_notice = sum(item.whole_notice + item.approved_early for item in starts)
    for histogram in (numbers.notice_given, numbers.notice_used):
        assert sum(count(histogram, type_) for type_ in EventType) == with_notice
    for type_ in EventType:
        saved = sum(item.saved_seconds.by_type.get(type_, 0) for item in reports)
        exported = numbers.notice_saved[type_,]
        assert exported == pytest.approx(saved)
    assert [item.broken for item in starts] == [0, 0, 0]
    assert set(numbers.broken.values()) == {0}
    away = sum(isinstance(fact, f.OutageEnded) for fact in journal)
    assert numbers.outages[()] == away
    seconds = sum(item.outages.seconds for item in reports)
    assert numbers.outage_seconds[()] == pytest.approx(seconds)


@pytest.mark.parametrize("seed", range(SEED, SEED + 12))
def test_metrics_and_reports_match_the_journal(
    open_store: OpenStore, seed: int
) -> None:
    store = open_store()
    counting = MetricsReader(store)
    history = RandomWorkload(store, Random(seed))
    counting.open()
    begun = len(history.system.journal())
    for _ in range(STEPS):
        history.go_on()
        counting.catch_up()
    reports = [report_on(history.system.engine, month) for month in MONTHS]
    counting.catch_up()
    check(counting.metrics, history.system.journal()[begun:], reports)
    assert without_coupling(counting.live()) == without_coupling(
        maintenance
        for maintenance in history.system.maintenances()
        if maintenance.phase.is_live
    )


def without_coupling(maintenances: Iterable[Maintenance]) -> dict[str, Maintenance]:
    """Return them by id, without what only the start of others depends on."""
    return {
        maintenance.id: replace(maintenance, coupled=()) for maintenance in maintenances
    }
