"""Descriptions of facts, as shown by the API, the command line and the portal."""

from dataclasses import replace
from typing import get_args

import pytest
from tests.core.support.builders import (
    MINUTE,
    NOON,
    a_group,
    a_maintenance,
    a_vm,
    an_event,
)

from forewarn.core.fleet import Host
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Maintenance, Via
from forewarn.core.outages import Outage
from forewarn.core.queries.phrases import fact_text
from forewarn.core.tokens import RefusedToken, Role

EVENT = an_event("e0", group="web", resources=("web-0",))
REBOOT = a_maintenance(host="host-a", events=[EVENT])
NOT_BEFORE = "not before 2026-01-05 12:15:00 UTC"


def announced(maintenance: Maintenance) -> f.Announced:
    return f.Announced(at=NOON, by="ops", maintenance="m0", announced=maintenance)


def approved(via: Via, by: str | None = "web-0") -> f.Approved:
    return f.Approved(
        at=NOON, by=by, via=via, maintenance="m0", event="e0", group="web"
    )


def seen(*events: str) -> f.Seen:
    sights = [f.Sight(event=event, vm="web-0", at=NOON) for event in events]
    return f.Seen(at=NOON, sights=(*sights,))


TEXTS: list[tuple[f.Fact, str]] = [
    (
        f.FleetChanged(
            at=NOON,
            by="ops",
            epoch="e",
            hosts=(Host(name="a"), Host(name="b")),
            groups=(a_group("web"),),
            removed_vms=("web-9",),
        ),
        "fleet changed by ops: added or changed 2 hosts (a, b), group web;"
        " removed VM web-9",
    ),
    (
        f.FleetChanged(at=NOON, by=None, epoch="", vms=(a_vm("web-0"),)),
        "fleet changed automatically: added or changed VM web-0",
    ),
    (f.FleetChanged(at=NOON, by="ops", epoch="e"), "fleet changed by ops"),
    (
        f.Enabled(at=NOON, group="web", epoch="e"),
        "Scheduled Events enabled for group web",
    ),
    (
        announced(REBOOT),
        f"announced by ops: Reboot of host-a (web-0), {NOT_BEFORE} (Platform,"
        " platform)",
    ),
    (
        announced(
            replace(
                REBOOT,
                at_once=True,
                emergency=True,
                reason="fire",
                events=(replace(EVENT, disabled=True),),
            )
        ),
        "announced by ops: Reboot of host-a (web-0), starting immediately"
        " (Platform, platform); emergency; reason: fire; Scheduled Events disabled"
        " for web",
    ),
    (
        approved(Via.METADATA),
        "approved for group web by web-0 via the metadata endpoint",
    ),
    (approved(Via.CONTROL), "approved for group web by web-0 via the control API"),
    (
        approved(Via.ARM),
        "approved for group web by web-0 via Azure's Resource Manager API",
    ),
    (
        approved(Via.POLICY, by=None),
        "approved in advance by the settings of group web",
    ),
    (
        f.VmsLeft(at=NOON, maintenance="m0", vms=("web-0", "web-1")),
        "no longer affects web-0, web-1, which left the fleet or the host",
    ),
    (
        f.Withdrawn(at=NOON, maintenance="m0", event="e0", group="web"),
        "withdrawn for group web: all affected VMs have left the fleet or the host",
    ),
    (f.Started(at=NOON, maintenance="m0"), "started"),
    (f.WorkBegan(at=NOON, maintenance="m0", attempt=2), "driver called (attempt 2)"),
    (f.WorkDone(at=NOON, maintenance="m0", vms=("web-0",)), "done: web-0"),
    (
        f.WorkFailed(at=NOON, maintenance="m0", vms=("web-0",), detail="no\nroom"),
        "stuck: the driver failed on web-0 (no room)",
    ),
    (
        f.WorkPrinted(at=NOON, maintenance="m0", attempt=1, output="one\n\n two\n"),
        "driver printed 2 lines; last line: two",
    ),
    (
        f.WorkPrinted(at=NOON, maintenance="m0", attempt=1, output="one\n"),
        "driver printed: one",
    ),
    (
        f.WorkPrinted(at=NOON, maintenance="m0", attempt=1, output="\n"),
        "driver printed nothing",
    ),
    (f.WorkRetried(at=NOON, by=None, maintenance="m0"), "retried automatically"),
    (f.WorkRetried(at=NOON, by="ops", maintenance="m0"), "retried by ops"),
    (
        f.WorkEnded(at=NOON, by="ops", maintenance="m0", reason="by hand"),
        "marked as done by ops (by hand)",
    ),
    (f.Completed(at=NOON, maintenance="m0"), "completed"),
    (
        f.Canceled(at=NOON, by=None, maintenance="m0", reason="all its VMs have left"),
        "canceled automatically (all its VMs have left)",
    ),
    (f.Closed(at=NOON, by="ops", maintenance="m0"), "closed as failed by ops"),
    (
        f.Published(at=NOON, audience="web", group="web", epoch="e", incarnation=3),
        "new document for web, incarnation 3",
    ),
    (seen("e0"), "event e0 seen by web-0"),
    (seen("e0", "e1"), "2 events seen by web-0"),
    (
        f.OutageEnded(at=NOON, outage=Outage(since=NOON - 5 * MINUTE, until=NOON)),
        "the service is back after 5 min of downtime (since 2026-01-05 11:55:00 UTC)",
    ),
    (
        f.TokenCreated(at=NOON, by="admin", token="1f", name="ci", role=Role.VIEWER),
        "token ci created by admin (role viewer)",
    ),
    (
        f.TokenCreated(
            at=NOON, by="admin", token="1f", name="ci", role=Role.GROUP, group="web"
        ),
        "token ci created by admin (group web)",
    ),
    (
        f.TokenRevoked(at=NOON, by=None, token="1f", name="ci"),
        "token ci revoked because its group was removed",
    ),
    (
        f.AccessRefused(at=NOON, refusals=(RefusedToken(address="::1", attempts=1),)),
        "rejected 1 request with an invalid token (::1)",
    ),
]


@pytest.mark.parametrize(("fact", "text"), TEXTS)
def test_a_fact_is_described(fact: f.Fact, text: str) -> None:
    assert fact_text(fact) == text


def test_every_kind_of_fact_has_a_text() -> None:
    assert {type(fact) for fact, _ in TEXTS} == {*get_args(f.Fact)}


def test_long_driver_output_is_cut() -> None:
    fact = f.WorkFailed(at=NOON, maintenance="m0", vms=("web-0",), detail="x" * 9000)
    assert len(fact_text(fact)) < 300
