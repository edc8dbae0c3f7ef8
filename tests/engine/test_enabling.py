"""Enabling and disabling of groups (rule 12)."""

from datetime import timedelta

import pytest
from tests.engine.support.system import (
    HOUR,
    MINUTE,
    NOON,
    SECOND,
    System,
)

from forewarn.core.fleet import Enabling, Group, GroupKind
from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.facts import Enabled
from forewarn.core.lifecycle.model import Phase
from forewarn.protocol.types import EventSource, EventType

USER_RESTART = Order(type=EventType.REBOOT, vms=("web-0",), source=EventSource.USER)


def test_the_first_request_of_a_disabled_group_starts_an_epoch(system: System) -> None:
    before = system.plane.epoch("web-0")
    system.engine.listen(["web"])
    assert system.plane.epoch("web-0") != before
    assert system.plane.document("web-0").incarnation == 0
    (fact,) = system.facts(Enabled)
    assert (fact.group, fact.at) == ("web", NOON)
    web = system.fleet().groups["web"]
    assert (web.enabled_since, web.last_request) == (NOON, NOON)


def test_several_groups_can_be_enabled_in_one_transaction(system: System) -> None:
    system.engine.listen(["web", "db", "web"])
    assert {fact.group for fact in system.facts(Enabled)} == {"web", "db"}
    assert len(system.facts(Enabled)) == 2


def test_an_unknown_group_is_not_enabled(system: System) -> None:
    system.engine.listen(["gone", "web"])
    assert [fact.group for fact in system.facts(Enabled)] == ["web"]


def test_a_group_is_disabled_after_24_hours_without_a_request(system: System) -> None:
    system.engine.listen(["web"])
    system.advance.by(24 * HOUR - SECOND)
    assert system.fleet().groups["web"].is_enabled(system.clock.now())
    system.advance.by(SECOND)
    assert not system.fleet().groups["web"].is_enabled(system.clock.now())
    system.engine.listen(["web"])
    assert len(system.facts(Enabled)) == 2


def test_a_request_in_between_keeps_it_enabled(system: System) -> None:
    system.engine.listen(["web"])
    system.advance.by(23 * HOUR)
    system.observations.add_poll("web", system.clock.now())
    system.advance.by(23 * HOUR)
    system.engine.listen(["web"])
    assert len(system.facts(Enabled)) == 1


ALWAYS = Group(name="web", kind=GroupKind.AVAILABILITY_SET, enabled=Enabling.ALWAYS)


@pytest.mark.parametrize("silence", [0 * HOUR, 25 * HOUR])
def test_an_always_enabled_group_starts_no_epoch(
    system: System, silence: timedelta
) -> None:
    system.fleets.put_group(ALWAYS, by="ops")
    epoch = system.plane.epoch("web-0")
    system.advance.by(silence)
    system.engine.listen(["web"])
    assert not system.facts(Enabled)
    assert system.plane.epoch("web-0") == epoch


def test_a_user_operation_on_an_enabled_group_gets_its_notice(
    system: System,
) -> None:
    system.engine.listen(["web"])
    maintenance = system.announce(USER_RESTART)
    assert maintenance.phase is Phase.SCHEDULED
    assert maintenance.not_before == NOON + 15 * MINUTE
