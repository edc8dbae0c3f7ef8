"""Epochs and incarnations: when a document is new and its counter restarts."""

from datetime import datetime

import pytest
from tests.core.support.builders import (
    HOUR,
    MINUTE,
    NOON,
    a_context,
    a_group,
    a_maintenance,
    a_slice,
    a_vm,
    an_event,
)

from forewarn.core.fleet import Enabling, Group
from forewarn.core.lifecycle import commands
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Phase, Slice
from forewarn.core.lifecycle.settlement import Step

SILENT = a_group(enabled=Enabling.ON_DEMAND)


def listen(slice_: Slice, *groups: str, now: datetime = NOON) -> Step:
    context = a_context(now, new_id=lambda: "epoch1")
    return commands.listen(slice_, context, groups or ["group0"])


def test_the_first_request_of_a_disabled_group_starts_an_epoch() -> None:
    step = listen(a_slice(groups=[SILENT]))
    assert step.facts == (f.Enabled(at=NOON, group="group0", epoch="epoch1"),)
    group, audience = step.slice.groups["group0"], step.slice.audiences["group0"]
    assert (group.enabled_since, group.last_request) == (NOON, NOON)
    assert (audience.epoch, audience.incarnation) == ("epoch1", 0)


def test_an_epoch_starts_at_one_if_events_are_live() -> None:
    step = listen(a_slice(groups=[SILENT], maintenances=[a_maintenance()]))
    audience = step.slice.audiences["group0"]
    assert (audience.epoch, audience.incarnation) == ("epoch1", 1)


def test_an_epoch_starts_at_one_even_if_something_starts_in_the_same_step() -> None:
    due = a_maintenance(not_before=NOON)
    step = listen(a_slice(groups=[SILENT], maintenances=[due]))
    assert step.slice.maintenance("m0").phase is Phase.STARTED
    assert step.slice.audiences["group0"].incarnation == 1


def test_an_epoch_starts_at_zero_if_everything_ends_in_the_same_step() -> None:
    ending = a_maintenance(phase=Phase.STARTED, done=("vm0",))
    slice_ = a_slice(groups=[SILENT], maintenances=[ending])
    step = listen(slice_, now=NOON + HOUR)
    assert step.slice.maintenance("m0").phase is Phase.COMPLETED
    assert step.slice.audiences["group0"].incarnation == 0


def test_in_an_isolated_group_each_vm_starts_with_its_own_view() -> None:
    group = a_group(enabled=Enabling.ON_DEMAND, isolated=True)
    slice_ = a_slice(
        groups=[group], vms=[a_vm("vm0"), a_vm("vm1")], maintenances=[a_maintenance()]
    )
    audiences = listen(slice_).slice.audiences
    assert audiences["group0/vm0"].incarnation == 1
    assert audiences["group0/vm1"].incarnation == 0
    assert {audience.epoch for audience in audiences.values()} == {"epoch1"}


@pytest.mark.parametrize(
    "group",
    [
        a_group(enabled=Enabling.ALWAYS),
        a_group(enabled=Enabling.ON_DEMAND, last_request=NOON - 24 * HOUR + MINUTE),
    ],
)
def test_an_enabled_group_keeps_its_epoch(group: Group) -> None:
    slice_ = a_slice(groups=[group])
    assert listen(slice_) == Step(slice_)


def test_a_day_without_requests_ends_the_epoch() -> None:
    group = a_group(enabled=Enabling.ON_DEMAND, last_request=NOON - 24 * HOUR)
    step = listen(a_slice(groups=[group]))
    assert step.slice.audiences["group0"].epoch == "epoch1"


def test_only_requesting_groups_become_enabled() -> None:
    other = a_group("group1", enabled=Enabling.ON_DEMAND)
    step = listen(a_slice(groups=[SILENT, other]), "group1")
    assert step.slice.audiences["group0"].epoch == "epoch0"
    assert step.slice.audiences["group1"].epoch == "epoch1"


# --- publishing --------------------------------------------------------------


def test_only_affected_groups_get_a_new_document() -> None:
    slice_ = a_slice(
        groups=[a_group("group0"), a_group("group1")],
        maintenances=[a_maintenance(not_before=NOON)],
    )
    step = commands.tick(slice_, a_context())
    assert step.slice.audiences["group0"].incarnation == 1
    assert step.slice.audiences["group1"].incarnation == 0


def test_several_changes_in_one_step_publish_one_document() -> None:
    slice_ = a_slice(
        maintenances=[
            a_maintenance("m0", not_before=NOON, events=[an_event("e0")]),
            a_maintenance("m1", not_before=NOON, events=[an_event("e1")]),
        ]
    )
    step = commands.tick(slice_, a_context())
    published = [fact for fact in step.facts if isinstance(fact, f.Published)]
    assert published == [
        f.Published(
            at=NOON, audience="group0", group="group0", epoch="epoch0", incarnation=1
        )
    ]


def test_only_vms_of_an_isolated_group_that_see_the_event_get_a_new_document() -> None:
    slice_ = a_slice(
        groups=[a_group(isolated=True)],
        vms=[a_vm("vm0"), a_vm("vm1")],
        maintenances=[a_maintenance(not_before=NOON)],
    )
    audiences = commands.tick(slice_, a_context()).slice.audiences
    assert audiences["group0/vm0"].incarnation == 1
    assert audiences["group0/vm1"].incarnation == 0
