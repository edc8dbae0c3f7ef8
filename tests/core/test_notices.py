"""What those are told who are notified: events as a fact left them, and whose it is."""

from dataclasses import replace
from datetime import datetime
from typing import get_args

import pytest
from tests.core.builders import (
    MINUTE,
    NOON,
    a_group,
    a_maintenance,
    a_vm,
    an_event,
)

from forewarn.core import facts as f
from forewarn.core.maintenance import Maintenance, Phase, Via
from forewarn.core.notices import FACTS, groups_of, told_events
from forewarn.core.outages import Outage

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

#: One of each kind that is about none, and whose it is.
OTHERS: list[tuple[f.Fact, set[str]]] = [
    (f.ListeningBegan(at=NOON, group="web", epoch=""), {"web"}),
    (
        f.Published(at=NOON, audience="a", group="db", epoch="", incarnation=1),
        {"db"},
    ),
    (f.OutageEnded(at=NOON, outage=Outage(since=NOON, until=LATER)), set()),
    (
        f.FleetChanged(
            at=NOON,
            by="ops",
            epoch="",
            groups=(a_group("one"),),
            vms=(a_vm(group="two"),),
            removed_groups=("three",),
        ),
        {"one", "two", "three"},
    ),
    (f.Seen(at=NOON, sights=(f.Sight(event="e0", vm="vm0", at=NOON),)), {"group0"}),
]


def name(case: object) -> str:
    return type(case).__name__ if not isinstance(case, str | set) else ""


def statuses(fact: f.Fact, maintenance: Maintenance) -> list[str]:
    return [str(each.status) for each in told_events(fact, maintenance)]


def test_every_fact_is_judged_here() -> None:
    judged = [type(fact).__name__ for fact, _ in (*OUTCOMES, *OTHERS)]
    assert sorted(judged) == sorted(FACTS)
    assert len(FACTS) == len(get_args(f.Fact))


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


@pytest.mark.parametrize(("fact", "groups"), OTHERS, ids=name)
def test_a_fact_without_a_maintenance_is_about_the_groups_it_names(
    fact: f.Fact, groups: set[str]
) -> None:
    assert groups_of(fact, lambda any_id: OVER) == groups


@pytest.mark.parametrize(("fact", "_status"), OUTCOMES, ids=name)
def test_a_fact_of_a_maintenance_is_about_all_its_groups(
    fact: f.Fact, _status: str
) -> None:
    gone = replace(an_event("e1", group="group1"), withdrawn_at=NOON)
    found = a_maintenance(events=[an_event(), gone])
    asked: list[str] = []

    def find(any_id: str) -> Maintenance:
        asked.append(any_id)
        return found

    assert groups_of(fact, find) == {"group0", "group1"}
    assert asked == ["m0"]


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
