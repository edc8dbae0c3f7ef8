"""Commands: approval, start, driver work and completion in each phase."""

from time import process_time

import pytest
from tests.core.support.builders import (
    MINUTE,
    NOON,
    RULES,
    SECOND,
    a_context,
    a_group,
    a_maintenance,
    a_slice,
    a_vm,
    an_event,
)

from forewarn.core.fleet import Audience
from forewarn.core.lifecycle import commands
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Phase, Slice, Via
from forewarn.core.lifecycle.policy import Rules, next_moment
from forewarn.core.lifecycle.settlement import Step
from forewarn.errors import UnknownEvent
from forewarn.protocol.types import EventType

OVER = (Phase.COMPLETED, Phase.CANCELED, Phase.FAILED)


def in_phase(phase: Phase) -> Slice:
    return a_slice(maintenances=[a_maintenance("m0", phase=phase)])


def approve(slice_: Slice, *event_ids: str, by: str = "vm0") -> Step:
    return commands.approve(slice_, a_context(by=by), event_ids, via=Via.METADATA)


def of_two_groups() -> Slice:
    """Return a slice with maintenance m0 of a host that two groups share."""
    events = [an_event("e0"), an_event("e1", group="group1", resources=("vm1",))]
    return a_slice(maintenances=[a_maintenance("m0", events=events)])


# --- approving ---------------------------------------------------------------


def test_the_last_missing_approval_starts_the_maintenance_in_the_same_step() -> None:
    step = approve(in_phase(Phase.SCHEDULED), "e0")
    assert step.slice.maintenance("m0").phase is Phase.STARTED
    assert [type(fact) for fact in step.facts] == [f.Approved, f.Started, f.Published]


def test_a_host_with_two_groups_starts_when_both_have_approved() -> None:
    first = approve(of_two_groups(), "e0")
    assert first.slice.maintenance("m0").phase is Phase.SCHEDULED
    both = approve(first.slice, "e1", by="vm1")
    assert both.slice.maintenance("m0").phase is Phase.STARTED


def test_an_event_announced_before_its_group_was_isolated_runs_to_its_end() -> None:
    shared = a_maintenance("m0", events=[an_event("e0", resources=("vm0", "vm1"))])
    vms = [a_vm("vm0"), a_vm("vm1")]
    slice_ = a_slice(groups=[a_group(isolated=True)], vms=vms, maintenances=[shared])
    step = approve(slice_, "e0", by="vm1")
    assert step.slice.maintenance("m0").phase is Phase.STARTED
    published = {fact.audience for fact in step.facts if isinstance(fact, f.Published)}
    assert published == {"group0/vm0", "group0/vm1"}


def test_two_events_of_one_maintenance_can_be_approved_in_one_step() -> None:
    step = approve(of_two_groups(), "e0", "e1")
    assert step.slice.maintenance("m0").phase is Phase.STARTED


def test_an_approval_that_starts_nothing_changes_no_document() -> None:
    step = approve(of_two_groups(), "e0")
    assert [type(fact) for fact in step.facts] == [f.Approved]


def test_the_journal_records_who_approved_and_how() -> None:
    step = commands.approve(
        of_two_groups(), a_context(by="alice"), ["e1"], via=Via.CONTROL
    )
    assert step.facts == (
        f.Approved(
            at=NOON,
            by="alice",
            via=Via.CONTROL,
            maintenance="m0",
            event="e1",
            group="group1",
        ),
    )


def test_approving_twice_changes_nothing() -> None:
    once = approve(of_two_groups(), "e0")
    twice = approve(once.slice, "e0", by="vm9")
    assert twice == Step(once.slice)


@pytest.mark.parametrize("phase", [Phase.STARTED, *OVER])
def test_approving_started_or_finished_maintenance_changes_nothing(
    phase: Phase,
) -> None:
    slice_ = in_phase(phase)
    assert approve(slice_, "e0") == Step(slice_)


def test_an_event_may_be_approved_by_a_vm_that_it_does_not_list() -> None:
    audience = Audience(name="group0", group="group0", epoch="epoch0")
    commands.check_may_approve([("e0", a_maintenance())], audience)


@pytest.mark.parametrize("phase", Phase)
def test_a_finished_event_still_belongs_to_its_audience(phase: Phase) -> None:
    audience = Audience(name="group0", group="group0", epoch="epoch0")
    commands.check_may_approve([("e0", a_maintenance(phase=phase))], audience)


@pytest.mark.parametrize(
    "audience",
    [
        Audience(name="group1", group="group1", epoch="epoch0"),
        Audience(name="group0/vm9", group="group0", vm="vm9", epoch="epoch0"),
    ],
)
def test_an_event_cannot_be_approved_by_an_audience_that_does_not_see_it(
    audience: Audience,
) -> None:
    with pytest.raises(UnknownEvent, match="e0"):
        commands.check_may_approve([("e0", a_maintenance())], audience)


def test_one_unknown_id_among_known_ones_is_refused_by_name() -> None:
    audience = Audience(name="group0", group="group0", epoch="epoch0")
    with pytest.raises(UnknownEvent, match="e7"):
        commands.check_may_approve([("e0", a_maintenance()), ("e7", None)], audience)


def test_a_maintenance_id_is_not_an_event_id() -> None:
    audience = Audience(name="group0", group="group0", epoch="epoch0")
    with pytest.raises(UnknownEvent, match="m0"):
        commands.check_may_approve([("m0", a_maintenance("m0"))], audience)


# --- time --------------------------------------------------------------------


def test_unapproved_maintenance_starts_at_not_before() -> None:
    slice_ = in_phase(Phase.SCHEDULED)
    not_before = NOON + 15 * MINUTE
    early = commands.tick(slice_, a_context(not_before - SECOND))
    assert early == Step(slice_)
    step = commands.tick(slice_, a_context(not_before))
    started = step.slice.maintenance("m0")
    assert (started.phase, started.started_at) == (Phase.STARTED, not_before)
    assert started.events[0].approved_at is None


def test_a_second_tick_at_the_same_time_does_nothing() -> None:
    once = commands.tick(in_phase(Phase.SCHEDULED), a_context(NOON + 15 * MINUTE))
    twice = commands.tick(once.slice, a_context(NOON + 15 * MINUTE))
    assert twice == Step(once.slice)


def a_finished_slice(duration: int, type_: EventType = EventType.REBOOT) -> Slice:
    """Return a slice whose maintenance started at noon and whose work is done."""
    return a_slice(
        maintenances=[
            a_maintenance(
                "m0",
                type_=type_,
                phase=Phase.STARTED,
                duration=duration,
                done=("vm0",),
            )
        ]
    )


@pytest.mark.parametrize(
    ("duration", "seconds"), [(-1, 5), (0, 5), (4, 5), (5, 5), (9, 9), (600, 600)]
)
def test_it_completes_after_the_minimum_display_time_and_its_duration(
    duration: int, seconds: int
) -> None:
    slice_, end = a_finished_slice(duration), NOON + seconds * SECOND
    assert next_moment(slice_.maintenance("m0"), NOON, RULES) == end
    early = commands.tick(slice_, a_context(end - SECOND))
    assert early == Step(slice_)
    step = commands.tick(slice_, a_context(end))
    completed = step.slice.maintenance("m0")
    assert (completed.phase, completed.ended_at) == (Phase.COMPLETED, end)
    assert [type(fact) for fact in step.facts] == [f.Completed, f.Published]


def test_the_minimum_display_time_is_configurable_per_type() -> None:
    rules = Rules(shown={**RULES.shown, EventType.FREEZE: MINUTE})
    freeze = a_finished_slice(-1, EventType.FREEZE).maintenance("m0")
    reboot = a_finished_slice(-1, EventType.REBOOT).maintenance("m0")
    assert next_moment(freeze, NOON, rules) == NOON + MINUTE
    assert next_moment(reboot, NOON, rules) == NOON + 5 * SECOND


def test_it_does_not_complete_while_work_is_pending() -> None:
    slice_ = in_phase(Phase.STARTED)
    assert commands.tick(slice_, a_context(NOON + 60 * MINUTE)) == Step(slice_)
    assert next_moment(slice_.maintenance("m0"), NOON, RULES) is None


def test_the_next_moment_of_scheduled_maintenance_is_not_before() -> None:
    scheduled = a_maintenance(not_before=NOON + MINUTE)
    approved = a_maintenance(
        not_before=NOON + MINUTE, events=[an_event(approved_at=NOON)]
    )
    assert next_moment(scheduled, NOON, RULES) == NOON + MINUTE
    assert next_moment(approved, NOON, RULES) == NOON + MINUTE
    assert next_moment(scheduled, NOON + MINUTE, RULES) is None  # blocked


@pytest.mark.parametrize("phase", OVER)
def test_finished_maintenance_has_no_next_moment(phase: Phase) -> None:
    assert next_moment(a_maintenance(phase=phase), NOON, RULES) is None


# --- the driver's work -------------------------------------------------------


def begin(slice_: Slice, rules: Rules = RULES) -> Step:
    return commands.begin_work(slice_, a_context(rules=rules), "m0")


def report(slice_: Slice, *vms: str, failed: bool = False) -> Step:
    return commands.report_work(slice_, a_context(), "m0", vms=vms, failed=failed)


def of_two_vms() -> Slice:
    events = [an_event(resources=("vm0", "vm1"))]
    return a_slice(
        maintenances=[a_maintenance("m0", phase=Phase.STARTED, events=events)]
    )


def test_each_driver_call_is_an_attempt() -> None:
    first = begin(in_phase(Phase.STARTED))
    second = begin(first.slice)
    assert first.facts == (f.WorkBegan(at=NOON, maintenance="m0", attempt=1),)
    assert second.slice.maintenance("m0").attempt == 2


@pytest.mark.parametrize("phase", [Phase.SCHEDULED, *OVER])
def test_no_work_begins_unless_the_maintenance_has_started(phase: Phase) -> None:
    assert begin(in_phase(phase)).facts == ()


def test_the_driver_waits_for_the_lead_time() -> None:
    rules = Rules(lead=2 * SECOND)
    slice_ = in_phase(Phase.STARTED)
    maintenance = slice_.maintenance("m0")
    assert begin(slice_, rules).facts == ()
    assert next_moment(maintenance, NOON, rules) == NOON + 2 * SECOND
    assert commands.is_work_open(maintenance, NOON + 2 * SECOND, rules)


def test_work_is_reported_vm_by_vm() -> None:
    first = report(of_two_vms(), "vm1")
    assert first.slice.maintenance("m0").to_do == ("vm0",)
    both = report(first.slice, "vm0")
    assert both.slice.maintenance("m0").to_do == ()


def test_ten_thousand_reports_take_under_a_second() -> None:
    vms = tuple(f"vm{number}" for number in range(10_000))
    maintenance = a_maintenance(phase=Phase.STARTED, events=[an_event(resources=vms)])
    slice_ = a_slice(maintenances=[maintenance])
    began = process_time()
    step = commands.report_work(slice_, a_context(), "m0", vms=vms)
    assert process_time() - began < 5  # with a scan for each, far more
    assert not step.slice.maintenances["m0"].to_do


def test_a_repeated_work_report_changes_nothing() -> None:
    once = report(of_two_vms(), "vm1")
    assert report(once.slice, "vm1") == Step(once.slice)


def test_a_report_for_an_unlisted_vm_is_ignored() -> None:
    slice_ = of_two_vms()
    assert report(slice_, "vm7") == Step(slice_)


@pytest.mark.parametrize("phase", [Phase.SCHEDULED, *OVER])
@pytest.mark.parametrize("failed", [False, True])
def test_a_report_is_ignored_unless_the_maintenance_has_started(
    phase: Phase, failed: bool
) -> None:
    slice_ = in_phase(phase)
    assert report(slice_, "vm0", failed=failed) == Step(slice_)


def test_the_last_report_completes_it_after_the_minimum_display_time() -> None:
    step = commands.report_work(
        in_phase(Phase.STARTED), a_context(NOON + MINUTE), "m0", vms=["vm0"]
    )
    assert step.slice.maintenance("m0").phase is Phase.COMPLETED


def test_a_driver_failure_leaves_the_maintenance_started_and_stuck() -> None:
    step = report(of_two_vms(), "vm0", failed=True)
    stuck = step.slice.maintenance("m0")
    assert (stuck.phase, stuck.stuck_since) == (Phase.STARTED, NOON)
    assert [type(fact) for fact in step.facts] == [f.WorkFailed]
    assert begin(step.slice).facts == ()
    late = commands.tick(step.slice, a_context(NOON + 60 * MINUTE))
    assert late.slice.maintenance("m0").phase is Phase.STARTED


def test_it_becomes_stuck_at_the_first_failure() -> None:
    first = report(of_two_vms(), "vm0", failed=True)
    second = commands.report_work(
        first.slice, a_context(NOON + MINUTE), "m0", vms=["vm1"], failed=True
    )
    assert second.slice.maintenance("m0").stuck_since == NOON


def test_work_done_while_stuck_counts() -> None:
    stuck = report(of_two_vms(), "vm0", failed=True)
    done = report(stuck.slice, "vm1").slice.maintenance("m0")
    assert (done.to_do, done.stuck_since) == (("vm0",), NOON)


def test_groups_take_turns_with_the_driver() -> None:
    own = [
        a_maintenance(f"own{n}", events=[an_event(f"e{n}", group="big")])
        for n in range(5)
    ]
    both = [an_event("e-big", group="big"), an_event("e-web", group="web")]
    shared = a_maintenance("shared", events=both)
    other = a_maintenance("other", events=[an_event("e-db", group="db")])
    waiting = [*own, shared, other]
    ordered = [item.id for item in commands.in_turns(waiting, ["big"] * 4)]
    assert ordered == ["shared", "other", "own0", "own1", "own2", "own3", "own4"]
    assert commands.in_turns(own, []) == own
