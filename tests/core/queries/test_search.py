"""Journal search: which facts match a query."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.core.support.builders import (
    MINUTE,
    NOON,
    a_group,
    a_maintenance,
    a_vm,
    an_event,
)
from tests.core.test_serialization import FACTS

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Maintenance, Via
from forewarn.core.queries.search import (
    KINDS,
    NAMING,
    Search,
    concerned,
    fact_kind,
    fold_names,
    matches,
)
from forewarn.errors import InvalidInput

#: group0 contains vm0 and vm1, group1 contains vm2.
SHARED = a_maintenance(
    events=[
        an_event("e0", group="group0", resources=("vm0", "vm1")),
        an_event("e1", group="group1", resources=("vm2",)),
    ]
)
STARTED = f.Started(at=NOON, maintenance="m0")


def find_maintenance(any_id: str) -> Maintenance | None:
    by_id: Mapping[str, Maintenance] = dict.fromkeys(("m0", "e0", "e1"), SHARED)
    return by_id.get(any_id)


def an_approval(by: str = "vm1", via: Via = Via.METADATA) -> f.Approved:
    return f.Approved(
        at=NOON, by=by, via=via, maintenance="m0", event="e0", group="group0"
    )


def a_seen_fact(*sights: tuple[str, str]) -> f.Seen:
    shown = (f.Sight(event=event, vm=vm, at=NOON) for event, vm in sights)
    return f.Seen(at=NOON, sights=(*shown,))


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: type(fact).__name__)
def test_an_empty_search_matches_everything(fact: f.Fact) -> None:
    assert matches(Search(), fact, find_maintenance)


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
        (f.Enabled(at=NOON, group="group0", epoch="e"), {"group0"}, set()),
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
        (
            a_seen_fact(("e0", "vm1"), ("e1", "vm2")),
            {"group0", "group1"},
            {"vm1", "vm2"},
        ),
        (a_seen_fact(("e1", "vm2")), {"group1"}, {"vm2"}),
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
def test_a_fact_concerns_the_groups_and_vms_it_is_about(
    fact: f.Fact, groups: set[str], vms: set[str]
) -> None:
    concern = concerned(fact, find_maintenance)
    assert (set(concern.groups), set(concern.vms)) == (groups, vms)


def test_a_group_stays_concerned_after_its_event_was_withdrawn() -> None:
    gone = tuple(replace(event, withdrawn_at=NOON) for event in SHARED.events)
    withdrawn = replace(SHARED, events=gone)
    assert concerned(STARTED, lambda _: withdrawn).groups == ("group0", "group1")


def test_an_unknown_maintenance_concerns_no_group() -> None:
    assert not concerned(STARTED, lambda _: None).groups


def test_names_match_case_insensitively() -> None:
    assert matches(Search(groups=fold_names(["GROUP1"])), STARTED, find_maintenance)
    assert matches(Search(vms=fold_names(["Vm2"])), STARTED, find_maintenance)
    assert matches(Search(by=fold_names(["VM1"])), an_approval(), find_maintenance)


def test_other_names_do_not_match() -> None:
    assert not matches(Search(groups=fold_names(["group2"])), STARTED, find_maintenance)
    assert not matches(Search(vms=fold_names(["vm3"])), STARTED, find_maintenance)
    assert not matches(Search(by=fold_names(["ops"])), an_approval(), find_maintenance)


def test_one_matching_name_per_field_is_enough() -> None:
    assert matches(
        Search(groups=fold_names(["nobody", "group1"])), STARTED, find_maintenance
    )


@pytest.mark.parametrize(
    "search",
    [
        Search(groups=fold_names(["group0"]), vms=fold_names(["vm9"])),
        Search(groups=fold_names(["group0"]), by=fold_names(["ops"])),
        Search(groups=fold_names(["group0"]), kinds=frozenset({f.Completed})),
        Search(groups=fold_names(["group0"]), maintenances=frozenset({"m1"})),
        Search(groups=fold_names(["group0"]), until=NOON),
    ],
)
def test_every_field_must_match(search: Search) -> None:
    assert matches(Search(groups=fold_names(["group0"])), STARTED, find_maintenance)
    assert not matches(search, STARTED, find_maintenance)


def test_since_is_inclusive_and_until_exclusive() -> None:
    assert matches(Search(since=NOON, until=NOON + MINUTE), STARTED, find_maintenance)
    assert not matches(Search(since=NOON + MINUTE), STARTED, find_maintenance)
    assert not matches(Search(until=NOON), STARTED, find_maintenance)


def test_a_fact_without_an_actor_matches_no_name() -> None:
    retried = f.WorkRetried(at=NOON, by=None, maintenance="m0")
    assert not matches(
        Search(by=fold_names(["none", "ops"])), retried, find_maintenance
    )


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: type(fact).__name__)
def test_only_facts_with_an_actor_can_be_searched_by_actor(fact: f.Fact) -> None:
    assert (type(fact) in NAMING) == hasattr(fact, "by")


def test_the_name_of_a_fact_kind_is_case_insensitive() -> None:
    assert fact_kind("workDONE") is f.WorkDone


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="'Begun'") as refusal:
        fact_kind("Begun")
    assert all(name in str(refusal.value) for name in KINDS)
