"""Serialization: every value of the core survives a round trip through JSON."""

import json
from dataclasses import fields
from datetime import UTC, datetime, timedelta, timezone
from typing import get_args

import pytest
from tests.core.support.builders import NOON, a_group, a_maintenance, a_vm, an_event

from forewarn.core.fleet import (
    VM,
    AutoApproval,
    Enabling,
    EvictionPolicy,
    Group,
    GroupKind,
    Host,
    OperatingSystem,
)
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Maintenance, Phase, Via
from forewarn.core.lifecycle.policy import Rules
from forewarn.core.outages import Outage
from forewarn.core.serialization import from_plain, to_plain
from forewarn.core.tokens import RefusedToken, Role
from forewarn.protocol.types import EventType

FULL_VM = VM(
    name="vm0",
    group="group0",
    host="host0",
    update_domain=0,
    fault_domain=2,
    zone="1",
    addresses=("10.0.0.1", "fd00::1"),
    spot=True,
    eviction_policy=EvictionPolicy.DEALLOCATE,
    deallocated=True,
    paas=True,
    os=OperatingSystem.WINDOWS,
    tags={"role": "db", "größe": "ü"},
    size="large",
    location="here",
    resource_group="rg",
    subscription="sub",
    vm_id="7",
)

FULL_GROUP = Group(
    name="group0",
    kind=GroupKind.SCALE_SET,
    enabled=Enabling.ON_DEMAND,
    terminate_notice=300,
    auto_approve=(AutoApproval.USER_REBOOT, AutoApproval.USER_REDEPLOY),
    isolated=True,
    eviction_policy=EvictionPolicy.DELETE,
    declared=False,
    enabled_since=NOON,
    last_request=NOON + timedelta(microseconds=1),
)

FULL_MAINTENANCE = a_maintenance(
    type_=EventType.TERMINATE,
    host="host0",
    events=[an_event("e0", approved_at=NOON), an_event("e1", update_domain=None)],
    at_once=True,
    duration=9,
    emergency=True,
    ignore_blockers=True,
    phase=Phase.FAILED,
    coupled=("m7",),
    done=("vm0",),
    stuck_since=NOON,
)

FACTS: tuple[f.Fact, ...] = (
    f.FleetChanged(at=NOON, by=None, epoch="epoch0"),
    f.FleetChanged(
        at=NOON,
        by="ops",
        epoch="epoch0",
        hosts=(Host(name="host0"),),
        groups=(FULL_GROUP, a_group("group1")),
        vms=(FULL_VM, a_vm("vm1", update_domain=None)),
        removed_hosts=("host1",),
        removed_groups=("group2", "group3"),
        removed_vms=("vm2",),
    ),
    f.Enabled(at=NOON, group="group0", epoch="epoch1"),
    f.Announced(at=NOON, by="ops", maintenance="m0", announced=FULL_MAINTENANCE),
    f.Announced(at=NOON, by=None, maintenance="m0", announced=a_maintenance("m0")),
    *(
        f.Approved(
            at=NOON, by="vm0", via=via, maintenance="m0", event="e0", group="group0"
        )
        for via in Via
    ),
    f.Approved(
        at=NOON,
        by=None,
        via=Via.POLICY,
        maintenance="m0",
        event="e0",
        group="group0",
    ),
    f.VmsLeft(at=NOON, maintenance="m0", vms=("vm0",)),
    f.Withdrawn(at=NOON, maintenance="m0", event="e0", group="group0"),
    f.Started(at=NOON, maintenance="m0"),
    f.WorkBegan(at=NOON, maintenance="m0", attempt=2),
    f.WorkDone(at=NOON, maintenance="m0", vms=("vm0", "vm1"), detail="öffnet „so“"),
    f.WorkFailed(at=NOON, maintenance="m0", vms=("vm0",), detail="no\nluck"),
    f.WorkPrinted(at=NOON, maintenance="m0", attempt=1, output="ok\x00\n"),
    f.WorkRetried(at=NOON, by="ops", maintenance="m0"),
    f.WorkRetried(at=NOON, by=None, maintenance="m0"),
    f.WorkEnded(at=NOON, by="ops", maintenance="m0"),
    f.Completed(at=NOON + timedelta(microseconds=1), maintenance="m0"),
    f.Canceled(at=NOON, by="ops", maintenance="m0", reason="rain"),
    f.Canceled(at=NOON, by=None, maintenance="m0"),
    f.Closed(at=NOON, by="ops", maintenance="m0", reason="rain"),
    f.Published(
        at=NOON, audience="group0/vm0", group="group0", epoch="epoch0", incarnation=3
    ),
    f.Seen(
        at=NOON,
        sights=(
            f.Sight(event="e0", vm="vm0", at=NOON),
            f.Sight(event="e1", vm="vm0", at=NOON),
        ),
    ),
    f.OutageEnded(
        at=NOON, outage=Outage(since=NOON - timedelta(minutes=2), until=NOON)
    ),
    f.TokenCreated(
        at=NOON,
        by="admin",
        token="1f",
        name="ci",
        role=Role.GROUP,
        group="group0",
        expires_at=NOON,
    ),
    f.TokenRevoked(at=NOON, by="admin", token="1f", name="ci"),
    f.AccessRefused(at=NOON, refusals=(RefusedToken(address="10.0.0.1", attempts=3),)),
)


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: type(fact).__name__)
def test_a_fact_is_read_back_unchanged(fact: f.Fact) -> None:
    text = json.dumps(to_plain(fact))
    read: f.Fact = from_plain(type(fact), json.loads(text))
    assert read == fact
    assert type(read) is type(fact)


def test_every_kind_of_fact_is_covered() -> None:
    assert {type(fact) for fact in FACTS} == set(get_args(f.Fact))


def test_every_fact_has_a_version_and_a_time() -> None:
    for kind in get_args(f.Fact):
        assert kind.version >= 1
        assert "at" in {field.name for field in fields(kind)}


def test_enums_tuples_and_times_keep_their_types() -> None:
    read = from_plain(Group, json.loads(json.dumps(to_plain(FULL_GROUP))))
    assert read.kind is GroupKind.SCALE_SET
    assert read.auto_approve == (AutoApproval.USER_REBOOT, AutoApproval.USER_REDEPLOY)
    assert read.auto_approve[0] is AutoApproval.USER_REBOOT
    assert isinstance(read.last_request, datetime)


def test_a_time_keeps_its_moment_in_any_time_zone() -> None:
    there = datetime(2026, 1, 5, 14, 0, 0, 5, tzinfo=timezone(timedelta(hours=2)))
    read = from_plain(f.Started, to_plain(f.Started(at=there, maintenance="m0")))
    assert read.at == datetime(2026, 1, 5, 12, 0, 0, 5, tzinfo=UTC)


def test_fields_missing_from_an_older_journal_get_defaults() -> None:
    plain = to_plain(a_maintenance("m0"))
    assert isinstance(plain, dict)
    del plain["coupled"], plain["attempt"], plain["completed_by"]
    assert from_plain(Maintenance, plain) == a_maintenance("m0")


def test_other_types_have_no_plain_form() -> None:
    with pytest.raises(TypeError, match="set cannot be serialized"):
        to_plain({"a", "b"})
    with pytest.raises(TypeError, match="cannot be serialized"):
        from_plain(Rules, {"shown": {}, "lead": 0})
