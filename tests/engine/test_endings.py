"""Ending a maintenance: the table at the end of §6, row by row."""

from collections.abc import Callable, Mapping

import pytest
from tests.engine.support.system import (
    HOUR,
    MINUTE,
    NOON,
    OpenStore,
    RecordingDriver,
    System,
    a_reboot,
    a_system,
    an_emergency,
)

from forewarn.core.lifecycle.facts import Canceled, Closed, WorkFailed
from forewarn.core.lifecycle.model import Maintenance, Phase
from forewarn.engine.queries import explain_maintenance
from forewarn.errors import NotFound, TooLate

# --- the table ---------------------------------------------------------------


def scheduled(system: System) -> Maintenance:
    return system.announce(a_reboot("web-0"))


def started(system: System) -> Maintenance:
    return system.announce(an_emergency("web-0"))


def stuck(system: System) -> Maintenance:
    return system.stuck("web-0")


def canceled(system: System) -> Maintenance:
    return system.engine.cancel(scheduled(system).id, by="ops")


def completed(system: System) -> Maintenance:
    maintenance = started(system)
    system.advance.by(MINUTE)
    return maintenance


def failed(system: System) -> Maintenance:
    return system.engine.close(stuck(system).id, by="ops")


def approve_by_metadata(system: System, made: Maintenance) -> None:
    system.engine.approve_as_vm("web-1", [made.events[0].id])


def approve_by_control(system: System, made: Maintenance) -> None:
    system.engine.approve(made.events[0].id, by="ops")


def cancel(system: System, made: Maintenance) -> None:
    system.engine.cancel(made.id, by="ops")


def complete(system: System, made: Maintenance) -> None:
    system.engine.complete(made.id, by="ops")


def retry(system: System, made: Maintenance) -> None:
    system.engine.retry(made.id, by="ops")


def close(system: System, made: Maintenance) -> None:
    system.engine.close(made.id, by="ops")


Life = Callable[[System], Maintenance]
Command = Callable[[System, Maintenance], None]

LIVES: tuple[Life, ...] = (scheduled, started, stuck, canceled, completed, failed)

#: The states in which a command is accepted; in all others it is refused.
ACCEPTED: Mapping[Command, tuple[Life, ...]] = {
    approve_by_metadata: LIVES,
    approve_by_control: (scheduled, started, stuck),
    cancel: (scheduled, canceled),
    complete: (started, stuck, completed),
    retry: (stuck,),
    close: (stuck,),
}
ROWS = [
    pytest.param(command, life, life in lives, id=f"{command.__name__}-{life.__name__}")
    for command, lives in ACCEPTED.items()
    for life in LIVES
]


@pytest.mark.parametrize(("command", "life", "is_accepted"), ROWS)
def test_a_command_is_accepted_or_refused_according_to_the_table(
    system: System, command: Command, life: Life, is_accepted: bool
) -> None:
    maintenance = life(system)
    if is_accepted:
        command(system, maintenance)
        return
    before = system.journal()
    with pytest.raises(TooLate):
        command(system, maintenance)
    assert system.journal() == before


@pytest.mark.parametrize(
    ("command", "life"),
    [
        (approve_by_control, started),
        (approve_by_control, stuck),
        (approve_by_metadata, started),
        (approve_by_metadata, canceled),
        (approve_by_metadata, completed),
        (approve_by_metadata, failed),
        (cancel, canceled),
        (complete, completed),
    ],
)
def test_a_command_with_nothing_left_to_do_changes_nothing(
    system: System, command: Command, life: Life
) -> None:
    maintenance = life(system)
    before, was = system.journal(), system.maintenance(maintenance.id)
    command(system, maintenance)
    assert (system.journal(), system.maintenance(maintenance.id)) == (before, was)


@pytest.mark.parametrize("command", [cancel, complete, retry, close])
def test_an_unknown_id_is_not_found(system: System, command: Command) -> None:
    maintenance = scheduled(system)
    system.engine.cancel(maintenance.id, by="ops")
    unknown = Maintenance(
        id="NO-SUCH-ID",
        type=maintenance.type,
        source=maintenance.source,
        cause=maintenance.cause,
        vms=(),
        not_before=NOON,
        announced_at=NOON,
        events=(),
    )
    with pytest.raises(NotFound):
        command(system, unknown)


# --- cancel ------------------------------------------------------------------


def test_a_canceled_maintenance_disappears_and_never_starts(system: System) -> None:
    maintenance = scheduled(system)
    after = system.engine.cancel(maintenance.id, by="ops", reason="found another way")
    assert (after.phase, after.ended_at) == (Phase.CANCELED, NOON)
    assert system.plane.document("web-0").events == ()
    system.advance.by(HOUR)
    assert system.phase(maintenance.id) is Phase.CANCELED


def test_a_cancellation_is_journaled_with_who_and_why(system: System) -> None:
    maintenance = scheduled(system)
    system.engine.cancel(maintenance.id, by="ops", reason="found another way")
    (fact,) = system.facts(Canceled)
    assert (fact.by, fact.reason) == ("ops", "found another way")


def test_a_maintenance_may_be_named_by_an_event_id_in_any_case(
    system: System,
) -> None:
    maintenance = scheduled(system)
    after = system.engine.cancel(maintenance.events[0].id.lower(), by="ops")
    assert (after.id, after.phase) == (maintenance.id, Phase.CANCELED)


# --- complete ----------------------------------------------------------------


def test_complete_ends_it_now_if_it_was_shown_long_enough(
    open_store: OpenStore,
) -> None:
    system = a_system(open_store(), driver=RecordingDriver(lambda work: []))
    maintenance = system.announce(an_emergency("web-0"))
    system.advance.by(MINUTE)
    after = system.engine.complete(maintenance.id, by="ops")
    assert (after.phase, after.ended_at) == (Phase.COMPLETED, NOON + MINUTE)
    assert system.plane.document("web-0").events == ()


# --- stuck -------------------------------------------------------------------


def test_operators_but_not_groups_see_why_the_driver_failed(system: System) -> None:
    maintenance = stuck(system)
    (fact,) = system.facts(WorkFailed)
    for group, is_shown in ((None, True), ("web", False)):
        explanation = explain_maintenance(system.engine, maintenance.id, group=group)
        texts = "\n".join(wait.text for wait in explanation.waits)
        assert (f"Reason: {fact.detail}." in texts) is is_shown


# --- close -------------------------------------------------------------------


def test_a_closed_maintenance_has_failed_and_disappears(system: System) -> None:
    maintenance = stuck(system)
    assert len(system.plane.document("web-0").events) == 1
    after = system.engine.close(maintenance.id, by="ops", reason="beyond repair")
    assert (after.phase, after.stuck_since) == (Phase.FAILED, None)
    assert system.plane.document("web-0").events == ()
    (fact,) = system.facts(Closed)
    assert (fact.by, fact.reason) == ("ops", "beyond repair")


def test_closing_starts_the_next(system: System) -> None:
    maintenance = stuck(system)
    following = system.announce(an_emergency("web-1"))
    assert following.phase is Phase.SCHEDULED
    system.engine.close(maintenance.id, by="ops")
    assert system.phase(following.id) is Phase.STARTED
