"""Scenario files: valid content and its meaning."""

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from tests.testing.support.scenario_files import EVERYTHING, a_scenario, read, step_of

from forewarn.core.faults import Fault, FaultKind, FaultOn
from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.operations import VmOperation
from forewarn.protocol.types import EventSource, EventType
from forewarn.testing.scenario import model as s
from forewarn.testing.scenario import parser

WAIT = '{wait = "1s"}'
REBOOT = '{announce = "Reboot", vms = ["web-0"], as = "a"}'


# --- top level ---------------------------------------------------------------


def test_every_key_and_every_verb_is_read() -> None:
    scenario = read(EVERYTHING)
    assert len(scenario.steps) == 30
    assert {type(step) for step in scenario.steps} == {*s.Step.__args__}
    assert scenario.throughout == s.Throughout(
        keeps_running=False,
        polls_at_least_every=15.0,
        never_approves=("a",),
        approves_nothing=False,
        approves_only_its_own=True,
    )


def test_scenario_is_named_after_its_file() -> None:
    scenario = read(a_scenario(WAIT, top='description = "d"'))
    assert (scenario.name, scenario.title, scenario.description) == ("reboot", "t", "d")


def test_default_fleet_is_the_demo_fleet_with_its_first_vm() -> None:
    scenario = read(a_scenario(WAIT))
    assert "batch_0" in scenario.fleet.vms
    assert scenario.vm == "web-0"


def test_vm_is_found_in_any_case() -> None:
    assert read(a_scenario(WAIT, top='vm = "DB-0"')).vm == "db-0"


def test_fleet_can_be_a_separate_file(tmp_path: Path) -> None:
    (tmp_path / "fleet.toml").write_text('[[vms]]\nname = "a"\n')
    path = tmp_path / "mine.toml"
    path.write_text(a_scenario(WAIT, top='fleet = "fleet.toml"'))
    scenario = parser.read_scenario(path)
    assert [*scenario.fleet.vms] == ["a"]
    assert scenario.vm == "a"


def test_scenario_can_be_read_without_the_server_extra() -> None:
    script = """
import sys
for name in ("httptools", "uvloop", "sqlalchemy", "fastapi", "uvicorn"):
    sys.modules[name] = None
from pathlib import Path
from forewarn.cli.rehearse.scenarios import check, list_bundled, show_schema
assert check(["user-reboot"], as_json=False) == 0
assert list_bundled(as_json=True) == show_schema() == 0
assert "forewarn.service" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.PIPE)


# --- actions -----------------------------------------------------------------


def test_an_announcement_is_an_order() -> None:
    step = step_of(
        '{announce = "Freeze", vms = ["WEB-0"], notice = "20m", duration = "9s",'
        ' description = "d", source = "Platform", as = "a"}'
    )
    assert step == s.AnnounceStep(
        order=Order(
            type=EventType.FREEZE,
            vms=("web-0",),
            notice=timedelta(minutes=20),
            duration=9,
            description="d",
            source=EventSource.PLATFORM,
        ),
        name="a",
    )


def test_a_freeze_may_be_a_live_migration() -> None:
    step = step_of('{announce = "Freeze", host = "host-a", live_migration = true}')
    assert isinstance(step, s.AnnounceStep)
    assert step.order.live_migration


def test_short_notice_requires_its_own_key() -> None:
    step = step_of(
        '{announce = "Reboot", vms = ["web-0"], notice = "15s", short_notice = true}'
    )
    assert isinstance(step, s.AnnounceStep)
    assert step.order.short_notice


def test_an_emergency_needs_no_notice() -> None:
    step = step_of(
        '{announce = "Reboot", host = "host-a", notice = "1m", emergency = true,'
        ' ignore_blockers = true, reason = "smoke"}'
    )
    assert isinstance(step, s.AnnounceStep)
    assert step.order.emergency
    assert step.order.ignore_blockers
    assert step.order.host == "host-a"


@pytest.mark.parametrize(
    ("written", "step"),
    [
        (
            '{evict = "batch_0", as = "a"}',
            s.OperateStep(operation=VmOperation.EVICT, vm="batch_0", name="a"),
        ),
        ('{maintain = "host-a"}', s.MaintainStep(host="host-a")),
        (
            '{maintain = "host-a", type = "Reboot"}',
            s.MaintainStep(host="host-a", type=EventType.REBOOT),
        ),
        ('{degraded = "host-a"}', s.DegradeStep(host="host-a")),
        (
            '{degraded = "host-a", fails_by = "2h"}',
            s.DegradeStep(host="host-a", fails_by=timedelta(hours=2)),
        ),
        ('{failed = "HOST-A"}', s.FailStep(host="host-a")),
        ('{recovered = "host-a"}', s.RecoverStep(host="host-a")),
        ('{cancel = "a"}', s.CancelStep(event="a")),
        ('{complete = "a"}', s.CompleteStep(event="a")),
        ('{approve = "a", by = "web-1"}', s.ApproveStep(event="a", by="web-1")),
        ("{advance = 90}", s.AdvanceStep(by=timedelta(seconds=90))),
        ('{advance = "1h30m"}', s.AdvanceStep(by=timedelta(minutes=90))),
        ('{advance_to = "start", of = "a"}', s.AdvanceToStep(event="a")),
        ('{advance_to = "end", of = "a"}', s.AdvanceToStep(event="a", is_end=True)),
        ('{outage = "20m"}', s.OutageStep(duration=timedelta(minutes=20), seconds=1.0)),
        (
            '{outage = "20m", real = "0s"}',
            s.OutageStep(duration=timedelta(minutes=20), seconds=0.0),
        ),
        ('{clear = "faults"}', s.ClearFaultsStep()),
        ('{wait = "500ms"}', s.WaitStep(seconds=0.5)),
    ],
)
def test_step_is_parsed(written: str, step: s.Step) -> None:
    others = () if "as" in written else (REBOOT,)
    assert step_of(written, *others) == step


def test_a_fault_has_limits() -> None:
    step = step_of(
        '{fault = "slow", delay = "2s", count = 3, probability = 0.5, duration = "4s",'
        ' vms = ["web-0"], on = "read"}'
    )
    assert step == s.SetFaultStep(
        fault=Fault(
            kind=FaultKind.SLOW,
            on=FaultOn.READ,
            vms=("web-0",),
            count=3,
            probability=0.5,
            duration=4.0,
            delay=2.0,
        )
    )


@pytest.mark.parametrize("kind", FaultKind)
def test_every_fault_is_known_and_lasts_until_cleared(kind: FaultKind) -> None:
    assert step_of(f'{{fault = "{kind}"}}') == s.SetFaultStep(fault=Fault(kind=kind))


def test_retry_after_of_a_fault_may_be_zero() -> None:
    step = step_of('{fault = "429", retry_after = 0}')
    assert step == s.SetFaultStep(fault=Fault(kind=FaultKind.TOO_MANY, retry_after=0))


# --- expectations ------------------------------------------------------------


def test_expectation_waits_for_the_patience_of_the_scenario() -> None:
    step = '{expect = "seen", event = "a"}'
    for top, seconds in (("", 10.0), ('patience = "3s"', 3.0)):
        scenario = read(a_scenario(REBOOT, step, top=top))
        assert scenario.steps[-1] == s.ExpectStep(
            expectation=s.Expectation.SEEN, seconds=seconds, event="a"
        )


@pytest.mark.parametrize(
    ("written", "step"),
    [
        (
            'expect = "approved", event = "a", by = "web-0", after_mark = "done",'
            ' within = "0s"',
            s.ExpectStep(
                expectation=s.Expectation.APPROVED,
                seconds=0.0,
                event="a",
                by="web-0",
                after_mark="done",
            ),
        ),
        (
            'expect = "not-approved", event = "a"',
            s.ExpectStep(
                expectation=s.Expectation.NOT_APPROVED, seconds=0.0, event="a"
            ),
        ),
        (
            'expect = "not-approved", event = "a", for = "1s"',
            s.ExpectStep(
                expectation=s.Expectation.NOT_APPROVED, seconds=1.0, event="a"
            ),
        ),
        (
            'expect = "polled", times = 2',
            s.ExpectStep(expectation=s.Expectation.POLLED, seconds=10.0, times=2),
        ),
        (
            'expect = "marked", mark = "done"',
            s.ExpectStep(expectation=s.Expectation.MARKED, seconds=10.0, mark="done"),
        ),
        (
            'expect = "running"',
            s.ExpectStep(expectation=s.Expectation.RUNNING, seconds=0.0),
        ),
        (
            'expect = "ended", code = 0',
            s.ExpectStep(expectation=s.Expectation.ENDED, seconds=10.0, code=0),
        ),
    ],
)
def test_expectation_is_parsed(written: str, step: s.Step) -> None:
    assert step_of(f"{{{written}}}", REBOOT) == step


def test_a_program_keeps_running_unless_it_is_expected_to_end() -> None:
    assert read(a_scenario(WAIT)).throughout.keeps_running
    ended = read(a_scenario('{expect = "ended"}'))
    assert not ended.throughout.keeps_running
