"""Notification contents: each event in its state right after a fact."""

from dataclasses import replace
from datetime import datetime
from typing import get_args

import pytest
from tests.core.support.builders import MINUTE, NOON, a_maintenance, an_event

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.document import notified_events
from forewarn.core.lifecycle.model import Maintenance, Phase, Via
from forewarn.core.outages import Outage
from forewarn.core.tokens import Role

LATER = NOON + MINUTE
OVER = a_maintenance(phase=Phase.COMPLETED)

#: One fact of each kind about a maintenance, with the resulting event status.
OUTCOMES: list[tuple[f.Fact, str]] = [
    (f.Announced(at=NOON, by=None, maintenance="m0", announced=OVER), "Scheduled"),
    (
        f.Approved(
            at=NOON, by="v", via=Via.ARM, maintenance="m0", event="e0", group="group0"
        ),
        "Scheduled",
    ),
    (f.VmsLeft(at=NOON, maintenance="m0", vms=("vm1",)), "Scheduled"),
    (f.Withdrawn(at=NOON, maintenance="m0", event="e9", group="other"), "Scheduled"),
    (f.Started(at=NOON, maintenance="m0"), "Started"),
    (f.WorkBegan(at=NOON, maintenance="m0", attempt=1), "Started"),
    (f.WorkDone(at=NOON, maintenance="m0", vms=()), "Started"),
    (f.WorkFailed(at=NOON, maintenance="m0", vms=()), "Started"),
    (f.WorkPrinted(at=NOON, maintenance="m0", attempt=1, output=""), "Started"),
    (f.WorkRetried(at=NOON, maintenance="m0", by=None), "Started"),
    (f.WorkEnded(at=NOON, maintenance="m0", by="ops"), "Started"),
    (f.Completed(at=NOON, maintenance="m0"), "Completed"),
    (f.Closed(at=NOON, by="ops", maintenance="m0"), "Completed"),
    (f.Canceled(at=NOON, by="ops", maintenance="m0"), "Canceled"),
]

#: One fact of each kind that is not about a maintenance operation.
OTHERS: list[f.Fact] = [
    f.FleetChanged(at=NOON, by="ops", epoch="", removed_vms=("vm0",)),
    f.Enabled(at=NOON, group="web", epoch=""),
    f.Published(at=NOON, audience="db", group="db", epoch="", incarnation=1),
    f.Seen(at=NOON, sights=(f.Sight(event="e0", vm="vm0", at=NOON),)),
    f.OutageEnded(at=NOON, outage=Outage(since=NOON, until=LATER)),
    f.TokenCreated(at=NOON, by="ops", token="t0", name="web", role=Role.VIEWER),
    f.TokenRevoked(at=NOON, by="ops", token="t0", name="web"),
    f.AccessRefused(at=NOON, refusals=()),
]


def name(case: object) -> str:
    return type(case).__name__ if not isinstance(case, str | set) else ""


def statuses(fact: f.Fact, maintenance: Maintenance) -> list[str]:
    return [str(event.status) for event in notified_events(fact, maintenance)]


def test_every_kind_of_fact_is_covered() -> None:
    kinds = [type(fact) for fact in (*(fact for fact, _ in OUTCOMES), *OTHERS)]
    assert {*kinds} == {*get_args(f.Fact)}
    assert len({*kinds}) == len(kinds)


@pytest.mark.parametrize(("fact", "status"), OUTCOMES, ids=name)
def test_the_status_follows_from_the_fact_not_from_the_present_state(
    fact: f.Fact, status: str
) -> None:
    for phase in Phase:
        assert statuses(fact, a_maintenance(phase=phase)) == [status]


@pytest.mark.parametrize(("fact", "status"), OUTCOMES, ids=name)
def test_not_before_is_blank_once_started(fact: f.Fact, status: str) -> None:
    (event,) = notified_events(fact, OVER)
    is_blank = event.not_before is None
    assert is_blank == (status in ("Started", "Completed"))


def test_not_before_is_blank_without_notice() -> None:
    fact = f.Announced(at=NOON, by=None, maintenance="m0", announced=OVER)
    (event,) = notified_events(fact, a_maintenance(at_once=True))
    assert event.not_before is None


@pytest.mark.parametrize("fact", OTHERS, ids=name)
def test_a_fact_without_a_maintenance_has_no_events(fact: f.Fact) -> None:
    with pytest.raises(ValueError, match="is not about a maintenance operation"):
        notified_events(fact, OVER)


# --- withdrawn events --------------------------------------------------------

WITHDRAWN = a_maintenance(
    events=[
        replace(an_event("e0"), withdrawn_at=LATER),
        an_event("e1", group="group1"),
    ]
)


def withdrawn(event: str) -> f.Fact:
    return f.Withdrawn(at=LATER, maintenance="m0", event=event, group="group0")


def test_a_withdrawal_cancels_its_own_event() -> None:
    assert statuses(withdrawn("e0"), WITHDRAWN) == ["Canceled", "Scheduled"]


def test_simultaneous_withdrawals_are_reported_one_by_one() -> None:
    both = a_maintenance(
        events=tuple(
            replace(an_event(event_id), withdrawn_at=LATER) for event_id in ("e0", "e1")
        )
    )
    assert statuses(withdrawn("e0"), both) == ["Canceled", "Scheduled"]
    assert statuses(withdrawn("e1"), both) == ["Canceled", "Canceled"]


def test_a_vm_leaving_started_maintenance_does_not_reset_the_status() -> None:
    begun = a_maintenance(phase=Phase.STARTED, started_at=NOON)
    left = f.VmsLeft(at=LATER, maintenance="m0", vms=("vm1",))
    assert statuses(left, begun) == ["Started"]


def test_a_vm_leaving_is_reported_before_the_start_it_causes() -> None:
    begun = a_maintenance(phase=Phase.STARTED, started_at=LATER)
    left = f.VmsLeft(at=LATER, maintenance="m0", vms=("vm1",))
    assert statuses(left, begun) == ["Scheduled"]


def test_a_withdrawn_event_never_starts() -> None:
    started = f.Started(at=LATER, maintenance="m0")
    assert statuses(started, WITHDRAWN) == ["Canceled", "Started"]


@pytest.mark.parametrize("at", [NOON, LATER])
def test_facts_before_the_withdrawal_ignore_it(at: datetime) -> None:
    left = replace(f.VmsLeft(at=LATER, maintenance="m0", vms=()), at=at)
    announced = replace(OUTCOMES[0][0], at=at)
    assert statuses(left, WITHDRAWN) == ["Scheduled", "Scheduled"]
    assert statuses(announced, WITHDRAWN) == ["Scheduled", "Scheduled"]


def test_facts_after_the_withdrawal_reflect_it() -> None:
    left = f.VmsLeft(at=LATER + MINUTE, maintenance="m0", vms=())
    assert statuses(left, WITHDRAWN) == ["Canceled", "Scheduled"]
