"""Which facts somebody asks for."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.core.builders import MINUTE, NOON, a_group, a_maintenance, a_vm, an_event
from tests.stores.things import ONE_OF_EACH

from forewarn.core import facts as f
from forewarn.core.maintenance import Maintenance, Via
from forewarn.core.searching import (
    KINDS,
    NAMING,
    Search,
    concerned,
    folded,
    kind_named,
    matches,
)
from forewarn.errors import InvalidInput

#: group0 has vm0 and vm1 in it, group1 has vm2.
SHARED = a_maintenance(
    events=[
        an_event("e0", group="group0", resources=("vm0", "vm1")),
        an_event("e1", group="group1", resources=("vm2",)),
    ]
)
STARTED = f.Started(at=NOON, maintenance="m0")


def look(any_id: str) -> Maintenance | None:
    known: Mapping[str, Maintenance] = dict.fromkeys(("m0", "e0", "e1"), SHARED)
    return known.get(any_id)


def an_approval(by: str = "vm1", via: Via = Via.METADATA) -> f.Approved:
    return f.Approved(
        at=NOON, by=by, via=via, maintenance="m0", event="e0", group="group0"
    )


def seen(*sights: tuple[str, str]) -> f.Seen:
    shown = (f.Sight(event=event, vm=vm, at=NOON) for event, vm in sights)
    return f.Seen(at=NOON, sights=(*shown,))


@pytest.mark.parametrize("fact", ONE_OF_EACH, ids=lambda fact: type(fact).__name__)
def test_an_empty_search_finds_everything(fact: f.Fact) -> None:
    assert matches(Search(), fact, look)


@pytest.mark.parametrize(
    ("fact", "groups", "vms"),
    [
        (STARTED, {"group0", "group1"}, {"vm0", "vm1", "vm2"}),
        (f.Completed(at=NOON, maintenance="m0"), {"group0", "group1"}, {*SHARED.vms}),
        (
            f.Announced(at=NOON, by="ops", maintenance="m9", announced=SHARED),
            {"group0", "group1"},
            {"vm0", "vm1", "vm2"},
        ),
        (an_approval(), {"group0"}, {"vm0", "vm1"}),
        (an_approval("vm7"), {"group0"}, {"vm0", "vm1", "vm7"}),
        (an_approval("ops", Via.CONTROL), {"group0"}, {"vm0", "vm1"}),
        (
            f.Withdrawn(at=NOON, maintenance="m0", event="e1", group="group1"),
            {"group1"},
            {"vm2"},
        ),
        (
            f.WorkDone(at=NOON, maintenance="m0", vms=("vm1",)),
            {"group0", "group1"},
            {"vm1"},
        ),
        (f.ListeningBegan(at=NOON, group="group0", epoch="e"), {"group0"}, set()),
        (
            f.Published(
                at=NOON, audience="group0", group="group0", epoch="e", incarnation=1
            ),
            {"group0"},
            set(),
        ),
        (
            f.Published(
                at=NOON, audience="iso/vm5", group="iso", epoch="e", incarnation=1
            ),
            {"iso"},
            {"vm5"},
        ),
        (seen(("e0", "vm1"), ("e1", "vm2")), {"group0", "group1"}, {"vm1", "vm2"}),
        (seen(("e1", "vm2")), {"group1"}, {"vm2"}),
        (
            f.FleetChanged(
                at=NOON,
                by="ops",
                epoch="e",
                groups=(a_group("new"),),
                vms=(a_vm("vm3", group="group0"),),
                removed_groups=("old",),
                removed_vms=("vm4",),
                removed_from=("group4",),
            ),
            {"new", "group0", "old", "group4"},
            {"vm3", "vm4"},
        ),
    ],
)
def test_a_fact_concerns_those_whom_it_is_about(
    fact: f.Fact, groups: set[str], vms: set[str]
) -> None:
    found = concerned(fact, look)
    assert (set(found.groups), set(found.vms)) == (groups, vms)


def test_a_group_whose_event_was_withdrawn_is_concerned_all_the_same() -> None:
    gone = tuple(replace(each, withdrawn_at=NOON) for each in SHARED.events)
    withdrawn = replace(SHARED, events=gone)
    assert concerned(STARTED, lambda _: withdrawn).groups == ("group0", "group1")


def test_a_maintenance_that_is_not_known_concerns_nobody() -> None:
    assert not concerned(STARTED, lambda _: None).groups


def test_names_are_found_in_any_case() -> None:
    assert matches(Search(groups=folded(["GROUP1"])), STARTED, look)
    assert matches(Search(vms=folded(["Vm2"])), STARTED, look)
    assert matches(Search(by=folded(["VM1"])), an_approval(), look)


def test_other_names_are_not_found() -> None:
    assert not matches(Search(groups=folded(["group2"])), STARTED, look)
    assert not matches(Search(vms=folded(["vm3"])), STARTED, look)
    assert not matches(Search(by=folded(["ops"])), an_approval(), look)


def test_any_of_the_names_in_one_field_is_enough() -> None:
    assert matches(Search(groups=folded(["nobody", "group1"])), STARTED, look)


@pytest.mark.parametrize(
    "search",
    [
        Search(groups=folded(["group0"]), vms=folded(["vm9"])),
        Search(groups=folded(["group0"]), by=folded(["ops"])),
        Search(groups=folded(["group0"]), kinds=frozenset({f.Completed})),
        Search(groups=folded(["group0"]), maintenances=frozenset({"m1"})),
        Search(groups=folded(["group0"]), until=NOON),
    ],
)
def test_every_field_must_agree(search: Search) -> None:
    assert matches(Search(groups=folded(["group0"])), STARTED, look)
    assert not matches(search, STARTED, look)


def test_since_is_within_and_until_is_not() -> None:
    assert matches(Search(since=NOON, until=NOON + MINUTE), STARTED, look)
    assert not matches(Search(since=NOON + MINUTE), STARTED, look)
    assert not matches(Search(until=NOON), STARTED, look)


def test_what_nobody_did_is_not_found_by_a_name() -> None:
    retried = f.WorkRetried(at=NOON, by=None, maintenance="m0")
    assert not matches(Search(by=folded(["none", "ops"])), retried, look)


@pytest.mark.parametrize("fact", ONE_OF_EACH, ids=lambda fact: type(fact).__name__)
def test_only_facts_that_can_name_somebody_are_his_doing(fact: f.Fact) -> None:
    assert (type(fact) in NAMING) == hasattr(fact, "by")


def test_a_fact_is_named_in_any_case() -> None:
    assert kind_named("workDONE") is f.WorkDone


def test_a_fact_that_is_not_known_is_refused_with_those_that_are() -> None:
    with pytest.raises(InvalidInput, match="'Begun'") as refusal:
        kind_named("Begun")
    assert all(name in str(refusal.value) for name in KINDS)
