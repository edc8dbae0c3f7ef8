"""Redaction: what one group may see of maintenance and facts."""

from dataclasses import replace
from typing import Any, get_args

import pytest
from tests.core.support.builders import NOON, a_group, a_maintenance, a_vm, an_event
from tests.core.test_serialization import FACTS

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Maintenance
from forewarn.core.queries.visibility import (
    visible_fact,
    visible_maintenance,
    visible_vm,
)

#: Two VMs of web and one of db on one host.
BOTH = replace(
    a_maintenance(),
    id="m0",
    host="host-a",
    vms=("web-0", "web-1", "db-0"),
    done=("db-0", "web-1"),
    left=("web-0", "db-0"),
    coupled=("m9",),
    reason="the fan of db-0",
    events=(
        replace(an_event(), id="e0", group="web", resources=("web-0", "web-1")),
        replace(an_event(), id="e1", group="db", resources=("db-0",)),
    ),
)
OWN = replace(BOTH, vms=("web-0", "web-1"), events=BOTH.events[:1])


KINDS: tuple[type[Any], ...] = get_args(f.Fact)


def find_maintenance(any_id: str) -> Maintenance | None:
    return {"m0": BOTH, "e0": BOTH, "e1": BOTH}.get(any_id)


def test_shared_maintenance_is_cut_to_the_group_s_own_part() -> None:
    share = visible_maintenance(BOTH, "web")
    assert share is not None
    assert share.vms == ("web-0", "web-1")
    assert [event.id for event in share.events] == ["e0"]
    assert (share.done, share.left) == (("web-1",), ("web-0",))
    assert (share.host, share.reason, share.coupled) == (None, None, ())


def test_a_group_s_own_maintenance_includes_the_reason() -> None:
    share = visible_maintenance(OWN, "web")
    assert share is not None
    assert (share.host, share.reason) == (None, "the fan of db-0")


def test_maintenance_of_other_groups_is_hidden() -> None:
    assert visible_maintenance(OWN, "db") is None
    assert visible_maintenance(BOTH, "we") is None


def test_a_vm_is_shown_to_its_group_without_its_host() -> None:
    vm = a_vm("web-0", group="web", host="host-a")
    assert visible_vm(vm, "web") == replace(vm, host=None)
    assert visible_vm(vm, "db") is None


@pytest.mark.parametrize(
    ("fact", "share"),
    [
        (f.Started(at=NOON, maintenance="m0"), f.Started(at=NOON, maintenance="m0")),
        (f.Started(at=NOON, maintenance="m1"), None),
        (
            f.WorkDone(at=NOON, maintenance="m0", vms=("web-0", "db-0"), detail="ok"),
            f.WorkDone(at=NOON, maintenance="m0", vms=("web-0",)),
        ),
        (f.WorkFailed(at=NOON, maintenance="m0", vms=("db-0",), detail="bad"), None),
        (
            f.VmsLeft(at=NOON, maintenance="m0", vms=("db-0", "web-1")),
            f.VmsLeft(at=NOON, maintenance="m0", vms=("web-1",)),
        ),
        (f.WorkPrinted(at=NOON, maintenance="m0", attempt=1, output="db-0"), None),
        (
            f.Canceled(at=NOON, by="ops", maintenance="m0", reason="db-0 works"),
            f.Canceled(at=NOON, by="ops", maintenance="m0"),
        ),
        (
            f.Seen(
                at=NOON,
                sights=(
                    f.Sight(event="e0", vm="web-0", at=NOON),
                    f.Sight(event="e1", vm="db-0", at=NOON),
                ),
            ),
            f.Seen(at=NOON, sights=(f.Sight(event="e0", vm="web-0", at=NOON),)),
        ),
        (
            f.Seen(at=NOON, sights=(f.Sight(event="e1", vm="db-0", at=NOON),)),
            None,
        ),
        (
            f.FleetChanged(
                at=NOON,
                by="ops",
                epoch="e",
                groups=(a_group("web"), a_group("db")),
                vms=(
                    a_vm("web-0", group="web", host="host-a"),
                    a_vm("db-0", group="db"),
                ),
                removed_vms=("db-1",),
                removed_hosts=("host-b",),
            ),
            f.FleetChanged(
                at=NOON,
                by="ops",
                epoch="e",
                groups=(a_group("web"),),
                vms=(a_vm("web-0", group="web"),),
            ),
        ),
        (f.FleetChanged(at=NOON, by="ops", epoch="e", removed_vms=("db-1",)), None),
        (
            f.FleetChanged(
                at=NOON,
                by="ops",
                epoch="e",
                removed_vms=("db-1", "web-1"),
                removed_from=("db", "web"),
            ),
            f.FleetChanged(
                at=NOON,
                by="ops",
                epoch="e",
                removed_vms=("web-1",),
                removed_from=("web",),
            ),
        ),
    ],
)
def test_a_fact_is_redacted_to_what_concerns_the_group(
    fact: f.Fact, share: f.Fact | None
) -> None:
    assert visible_fact(fact, "web", find_maintenance) == share


@pytest.mark.parametrize("kind", [f.WorkDone, f.WorkFailed])
def test_driver_details_are_for_operators_only(
    kind: type[f.WorkDone | f.WorkFailed],
) -> None:
    fact = kind(at=NOON, maintenance="m0", vms=("web-0",), detail="on host-a: db-0")
    share = visible_fact(fact, "web", {"m0": OWN}.get)
    assert share == kind(at=NOON, maintenance="m0", vms=("web-0",))


@pytest.mark.parametrize(
    "kind",
    [kind for kind in KINDS if {"reason", "detail"} & {*kind.__annotations__}],
    ids=lambda kind: kind.__name__,
)
def test_text_about_several_groups_is_hidden_from_each(
    kind: type[Any],
) -> None:
    given = {"at": NOON, "by": "ops", "maintenance": "m0", "vms": ("web-0", "db-0")}
    secret = {"reason": "the fan of db-0", "detail": "the fan of db-0"}
    values = {
        name: value
        for name, value in {**given, **secret}.items()
        if name in kind.__annotations__
    }
    share = visible_fact(kind(**values), "web", find_maintenance)
    assert share is not None
    assert "the fan of db-0" not in str(share)


def test_an_announcement_is_redacted_like_its_maintenance() -> None:
    fact = f.Announced(at=NOON, by="ops", maintenance="m0", announced=BOTH)
    share = visible_fact(fact, "web", find_maintenance)
    assert isinstance(share, f.Announced)
    assert share.announced == visible_maintenance(BOTH, "web")
    assert visible_fact(fact, "other", find_maintenance) is None


@pytest.mark.parametrize("kind", get_args(f.Fact), ids=lambda kind: kind.__name__)
def test_an_unrelated_group_sees_only_outages(
    kind: type[f.Fact],
) -> None:
    examples = [candidate for candidate in FACTS if type(candidate) is kind]
    assert examples
    for fact in examples:
        share = visible_fact(fact, "stranger", find_maintenance)
        assert (share is not None) == (kind is f.OutageEnded)
