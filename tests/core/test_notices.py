"""What those are told who are notified: events as a fact left them."""

from dataclasses import replace
from datetime import datetime
from typing import get_args

import pytest
from tests.core.builders import (
    MINUTE,
    NOON,
    a_maintenance,
    an_event,
)

from forewarn.core import facts as f
from forewarn.core.maintenance import Maintenance, Phase, Via
from forewarn.core.notices import told_events
from forewarn.core.outages import Outage
from forewarn.core.tokens import Role

LATER = NOON + MINUTE
OVER = a_maintenance(phase=Phase.COMPLETED)

#: One of each kind that is about a maintenance, and what its event has come to.
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

#: One of each kind that is about none.
OTHERS: list[f.Fact] = [
    f.FleetChanged(at=NOON, by="ops", epoch="", removed_vms=("vm0",)),
    f.ListeningBegan(at=NOON, group="web", epoch=""),
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
    return [str(each.status) for each in told_events(fact, maintenance)]


def test_every_fact_is_judged_here() -> None:
    judged = [type(fact) for fact in (*(fact for fact, _ in OUTCOMES), *OTHERS)]
    assert {*judged} == {*get_args(f.Fact)}
    assert len({*judged}) == len(judged)


@pytest.mark.parametrize(("fact", "status"), OUTCOMES, ids=name)
def test_the_status_follows_from_the_fact_and_not_from_the_present(
    fact: f.Fact, status: str
) -> None:
    for phase in Phase:
        assert statuses(fact, a_maintenance(phase=phase)) == [status]


@pytest.mark.parametrize(("fact", "status"), OUTCOMES, ids=name)
def test_not_before_is_blank_from_the_start_on(fact: f.Fact, status: str) -> None:
    (told,) = told_events(fact, OVER)
    is_blank = told.not_before is None
    assert is_blank == (status in ("Started", "Completed"))


def test_not_before_is_blank_where_there_was_no_notice() -> None:
    fact = f.Announced(at=NOON, by=None, maintenance="m0", announced=OVER)
    (told,) = told_events(fact, a_maintenance(at_once=True))
    assert told.not_before is None


@pytest.mark.parametrize("fact", OTHERS, ids=name)
def test_a_fact_without_a_maintenance_has_no_events(fact: f.Fact) -> None:
    with pytest.raises(ValueError, match="is about no maintenance"):
        told_events(fact, OVER)


# --- events that are withdrawn -----------------------------------------------

WITHDRAWN = a_maintenance(
    events=[
        replace(an_event("e0"), withdrawn_at=LATER),
        an_event("e1", group="group1"),
    ]
)


def withdrawn(event: str) -> f.Fact:
    return f.Withdrawn(at=LATER, maintenance="m0", event=event, group="group0")


def test_an_event_is_canceled_by_its_own_withdrawal() -> None:
    assert statuses(withdrawn("e0"), WITHDRAWN) == ["Canceled", "Scheduled"]


def test_of_those_withdrawn_together_the_first_is_told_alone() -> None:
    both = a_maintenance(
        events=tuple(
            replace(an_event(each), withdrawn_at=LATER) for each in ("e0", "e1")
        )
    )
    assert statuses(withdrawn("e0"), both) == ["Canceled", "Scheduled"]
    assert statuses(withdrawn("e1"), both) == ["Canceled", "Canceled"]


def test_who_leaves_what_has_begun_does_not_take_it_back() -> None:
    begun = a_maintenance(phase=Phase.STARTED, started_at=NOON)
    left = f.VmsLeft(at=LATER, maintenance="m0", vms=("vm1",))
    assert statuses(left, begun) == ["Started"]


def test_who_leaves_and_lets_it_begin_by_that_was_told_before_it_began() -> None:
    begun = a_maintenance(phase=Phase.STARTED, started_at=LATER)
    left = f.VmsLeft(at=LATER, maintenance="m0", vms=("vm1",))
    assert statuses(left, begun) == ["Scheduled"]


def test_an_event_that_was_withdrawn_never_starts() -> None:
    started = f.Started(at=LATER, maintenance="m0")
    assert statuses(started, WITHDRAWN) == ["Canceled", "Started"]


@pytest.mark.parametrize("at", [NOON, LATER])
def test_what_came_before_the_withdrawal_knows_nothing_of_it(at: datetime) -> None:
    left = replace(f.VmsLeft(at=LATER, maintenance="m0", vms=()), at=at)
    announced = replace(OUTCOMES[0][0], at=at)
    assert statuses(left, WITHDRAWN) == ["Scheduled", "Scheduled"]
    assert statuses(announced, WITHDRAWN) == ["Scheduled", "Scheduled"]


def test_what_came_after_the_withdrawal_knows_of_it() -> None:
    left = f.VmsLeft(at=LATER + MINUTE, maintenance="m0", vms=())
    assert statuses(left, WITHDRAWN) == ["Canceled", "Scheduled"]
