"""Who listens, since when and how long (10)."""

import pytest
from tests.conformance.control import Clock
from tests.conformance.facts import fact
from tests.conformance.stage import Stage
from tests.conformance.vm import EVENTS, NEWEST, VM, approval, events

PROMPT = 2.0  # seconds: the most that the least patient client waits

IGNORED = (
    ("GET", EVENTS, True),
    ("GET", f"{EVENTS}?api-version=latest", True),
    ("GET", events(NEWEST), False),
    ("POST", events(NEWEST), False),
    ("GET", "/metadata/instance?api-version=2021-02-01", True),
    ("GET", "/metadata/versions", True),
    ("PUT", events(NEWEST), True),
)


def counted(stage: Stage) -> VM:
    """A VM whose group has counted to 2, so that a restart shows."""
    (vm, _) = stage.group()
    assert vm.incarnation == 0
    stage.cancel(stage.announce("Reboot", vm))
    assert vm.incarnation == 2
    return vm


@fact("10.1a")
def test_the_first_request_makes_the_group_listen(stage: Stage) -> None:
    (vm, other) = stage.group()
    vm.get()
    stage.announce("Reboot", other, source="User")
    assert vm.statuses == ["Scheduled"], "who listens is asked"


@fact("10.2")
def test_after_24_hours_of_silence_nobody_is_asked(stage: Stage, clock: Clock) -> None:
    (vm, _) = stage.group()
    vm.get()
    clock.advance(hours=24)
    stage.announce("Reboot", vm, source="User")
    assert vm.statuses == ["Started"]


@fact("10.2")
def test_before_24_hours_of_silence_everybody_is_asked(
    stage: Stage, clock: Clock
) -> None:
    (vm, _) = stage.group()
    vm.get()
    clock.advance(24 * 3600 - 1)
    stage.announce("Reboot", vm, source="User")
    assert vm.statuses == ["Scheduled"]


@fact("10.2")
def test_after_a_silence_planned_work_is_still_announced(
    stage: Stage, clock: Clock
) -> None:
    vm = counted(stage)
    clock.advance(hours=24)
    stage.announce("Reboot", vm)
    document = vm.document()
    assert document["DocumentIncarnation"] == 1
    assert document["Events"][0]["EventStatus"] == "Scheduled"


@fact("10.3a")
def test_the_first_request_is_answered_at_once(stage: Stage) -> None:
    answer = stage.alone().get()
    assert answer.status == 200
    assert answer.seconds < PROMPT


@fact("10.3b")
@pytest.mark.parametrize(("method", "target", "marked"), IGNORED)
def test_a_request_that_is_refused_or_for_something_else_does_not_count(
    stage: Stage, clock: Clock, method: str, target: str, marked: bool
) -> None:
    vm = counted(stage)
    clock.advance(hours=23)
    vm.ask(target, method=method, marked=marked)
    clock.advance(hours=1)
    assert vm.incarnation == 0


@fact("10.3b")
@pytest.mark.parametrize("header", ["If-None-Match: *", "If-None-Match: 0"])
def test_a_conditional_request_counts(stage: Stage, clock: Clock, header: str) -> None:
    vm = counted(stage)
    clock.advance(hours=23)
    vm.get(header)
    clock.advance(hours=1)
    assert vm.incarnation == 2


@fact("9.8")
def test_an_approval_counts_as_a_request(
    stage: Stage, clock: Clock, unknown: str
) -> None:
    vm = counted(stage)
    clock.advance(hours=23)
    vm.post(approval(unknown))
    clock.advance(hours=1)
    assert vm.incarnation == 2
