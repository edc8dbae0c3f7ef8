"""Explanations: what maintenance waits for, since when, and what unblocks it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from tests.core.support.builders import (
    MINUTE,
    NOON,
    RULES,
    SECOND,
    a_group,
    a_maintenance,
    a_slice,
    an_event,
    an_outage,
)

from forewarn.core.lifecycle.model import Cause, Maintenance, Phase
from forewarn.core.lifecycle.policy import Rules
from forewarn.core.outages import Outage
from forewarn.core.queries.explanation import Explanation, WaitReason, explain
from forewarn.protocol.types import EventSource, EventType

MINE = an_event("e-mine", group="web", resources=("web-0", "web-1"))
THEIRS = an_event("e-theirs", group="db", resources=("db-0",))


def explained(
    one: Maintenance,
    *others: Maintenance,
    now: datetime = NOON,
    rules: Rules = RULES,
    outage: Outage | None = None,
) -> Explanation:
    """Explain `one` among `others`."""
    outages = [] if outage is None else [outage]
    slice_ = a_slice(maintenances=[one, *others], outages=outages)
    return explain(slice_, one, now, rules)


def the_wait(explanation: Explanation, kind: str) -> WaitReason:
    (wait,) = [
        candidate for candidate in explanation.waits if candidate.kind.value == kind
    ]
    return wait


def ways_out(wait: WaitReason) -> list[str]:
    """Return what unblocks it: commands, and conditions in words."""
    return [remedy.command or remedy.text for remedy in wait.unblocked_by]


# --- before it has started ---------------------------------------------------


def test_it_waits_for_each_missing_approval_or_for_its_time() -> None:
    maintenance = a_maintenance(host="host-a", events=[MINE, THEIRS])
    explanation = explained(maintenance, now=NOON + MINUTE)
    assert not explanation.due
    assert [wait.kind.value for wait in explanation.waits] == ["approval", "time"]
    assert {wait.until for wait in explanation.waits} == {NOON + 15 * MINUTE}
    assert {wait.since for wait in explanation.waits} == {NOON}
    assert explanation.starts_at_latest == NOON + 15 * MINUTE
    approval = the_wait(explanation, "approval")
    assert approval.text == "Waiting for approval from groups web, db."
    assert approval.groups == ("web", "db")
    assert ways_out(approval) == [
        "any VM in group web and any VM in group db approve",
        f"forewarn maintenance approve {maintenance.id}",
    ]
    assert "of host-a" in explanation.summary


def test_only_the_vm_itself_can_approve_an_event_of_an_isolated_group() -> None:
    maintenance = a_maintenance(events=[THEIRS])
    slice_ = a_slice(groups=[a_group("db", isolated=True)], maintenances=[maintenance])
    wait = the_wait(explain(slice_, maintenance, NOON, RULES), "approval")
    assert ways_out(wait)[0] == "db-0 approves"


def test_an_event_from_before_the_isolation_names_all_vms_that_can_approve_it() -> None:
    event = replace(MINE, resources=("web-0", "web-1", "web-2"))
    maintenance = replace(a_maintenance(events=[event]), left=("web-0",))
    slice_ = a_slice(groups=[a_group("web", isolated=True)], maintenances=[maintenance])
    wait = the_wait(explain(slice_, maintenance, NOON, RULES), "approval")
    assert ways_out(wait)[0] == "web-1 or web-2 approves"


def test_each_vm_of_an_isolated_group_can_waive_lost_notice() -> None:
    events = [an_event(f"e-{n}", group="db", resources=(f"db-{n}",)) for n in (0, 1)]
    maintenance = a_maintenance(promised=900, events=events)
    slice_ = a_slice(
        groups=[a_group("db", isolated=True)],
        maintenances=[maintenance],
        outages=[an_outage(1, 11)],
    )
    wait = the_wait(explain(slice_, maintenance, NOON + 15 * MINUTE, RULES), "blocker")
    assert ways_out(wait) == ["db-0 and db-1 approve"]


def test_a_group_that_has_approved_is_not_waited_for() -> None:
    maintenance = a_maintenance(events=[replace(MINE, approved_at=NOON), THEIRS])
    explanation = explained(maintenance)
    assert the_wait(explanation, "approval").groups == ("db",)


def test_a_withdrawn_event_is_not_waited_for() -> None:
    maintenance = a_maintenance(events=[replace(MINE, withdrawn_at=NOON), THEIRS])
    assert the_wait(explained(maintenance), "approval").groups == ("db",)


def test_a_long_queue_is_cut_to_the_requested_length() -> None:
    waiting = [
        a_maintenance(f"M{number}", events=[an_event(f"e{number}", group="web")])
        for number in range(9)
    ]
    slice_ = a_slice(maintenances=[running(), *waiting])
    now = NOON + 15 * MINUTE
    for maintenance in waiting:
        whole = explain(slice_, maintenance, now, RULES)
        shortened = explain(slice_, maintenance, now, RULES, limit=3)
        assert shortened.waits == whole.waits[:3]
        assert (shortened.due, shortened.starts_at_latest) == (
            True,
            whole.starts_at_latest,
        )


def test_waits_that_determine_the_latest_start_are_never_cut() -> None:
    maintenance = a_maintenance(host="host-a", events=[MINE, THEIRS])
    held_by = running(done=("web-9",))
    slice_ = a_slice(maintenances=[held_by, maintenance])
    whole = explain(slice_, maintenance, NOON, RULES)
    assert len(whole.waits) == 3
    assert explain(slice_, maintenance, NOON, RULES, limit=1) == whole


def running(**changes: object) -> Maintenance:
    event = an_event("e-run", group="web", resources=("web-9",), update_domain=9)
    maintenance = a_maintenance("RUN", phase=Phase.STARTED, events=[event])
    return replace(maintenance, **changes)  # type: ignore[arg-type]  # fields by name


def due() -> Maintenance:
    return a_maintenance("DUE", events=[MINE], not_before=NOON)


def test_a_wait_names_its_blocker() -> None:
    explanation = explained(due(), running())
    wait = the_wait(explanation, "blocker")
    assert explanation.due
    assert wait.text == (
        "Waiting for the reboot of web-9, which started at 2026-01-05 12:00:00 UTC."
        " Only one update domain per group can be under maintenance at a time (group"
        " web)."
    )
    assert (wait.rule, wait.groups, wait.maintenance) == (
        "update-domain",
        ("web",),
        "RUN",
    )
    assert ways_out(wait) == ["that operation finishes"]
    assert (wait.since, wait.until) == (NOON, None)
    assert explanation.starts_at_latest is None


def test_a_blocker_ends_when_it_was_shown_long_enough() -> None:
    explanation = explained(due(), running(done=("web-9",)))
    assert the_wait(explanation, "blocker").until == NOON + 5 * SECOND
    assert explanation.starts_at_latest == NOON + 5 * SECOND


def test_a_stuck_blocker_shows_what_to_do() -> None:
    wait = the_wait(explained(due(), running(stuck_since=NOON)), "blocker")
    assert "stuck since" in wait.text
    assert ways_out(wait) == [
        "forewarn maintenance retry RUN",
        "forewarn maintenance close RUN",
    ]


def test_groups_that_wait_for_the_same_maintenance_share_a_sentence() -> None:
    events = [
        replace(MINE, id=f"e-{name}", group=name) for name in ("web", "db", "api")
    ]
    held = a_maintenance("DUE", events=events, not_before=NOON)
    stuck = replace(
        running(stuck_since=NOON + SECOND),
        events=tuple(
            an_event(f"r-{name}", group=name, resources=("web-9",), update_domain=9)
            for name in ("web", "db", "api")
        ),
    )
    (wait,) = explained(held, stuck).waits
    assert wait.groups == ("web", "db", "api")
    assert wait.text == (
        "Waiting for the reboot of web-9, which has been stuck since 2026-01-05"
        " 12:00:01 UTC. Only one update domain per group can be under maintenance at a"
        " time (groups web, db, api)."
    )


@pytest.mark.parametrize(
    ("changes", "until", "more"),
    [
        ({"done": ("web-9",), "duration": 600}, NOON + 10 * MINUTE, "started at"),
        ({}, None, "started at"),
        ({"stuck_since": NOON}, None, "stuck since 2026-01-05 12:00:00 UTC"),
    ],
    ids=["done", "in progress", "stuck"],
)
def test_a_group_that_blocks_maintenance_is_named_with_the_remedy(
    changes: Mapping[str, object], until: datetime | None, more: str
) -> None:
    own = {"source": EventSource.USER, "cause": Cause.USER_RESTART}
    held = replace(due(), events=(MINE, THEIRS))
    slice_ = a_slice(maintenances=[held, running(**own, **changes)])
    wait = the_wait(explain(slice_, held, NOON, RULES), "blocker")
    assert wait.text.startswith("Waiting for the reboot of web-9, which ")
    assert more in wait.text
    assert (wait.held_by, wait.until) == ("web", until)
    assert ways_out(wait) == ["forewarn maintenance complete RUN"]
    assert the_wait(explain(slice_, held, NOON, RULES, "web"), "blocker") == wait
    shown_to_others = explain(slice_, held, NOON, RULES, "db")
    for word in ("web", "RUN", "complete"):
        assert word not in repr(shown_to_others)


def leaving(*, approved: bool = False, cause: Cause = Cause.DEGRADED) -> Maintenance:
    """Return a redeploy of web-0, which leaves a degraded host."""
    event = an_event("e-leave", group="web", resources=("web-0",))
    if approved:
        event = replace(event, approved_at=NOON)
    return a_maintenance(
        "LEAVE",
        type_=EventType.REDEPLOY,
        cause=cause,
        host="host-a" if cause is Cause.DEGRADED else None,
        events=[event],
    )


def test_a_vm_on_a_degraded_host_can_be_redeployed_without_waiting() -> None:
    explanation = explained(leaving(), now=NOON + MINUTE)
    hint = explanation.hint or ""
    assert "does not wait for other VMs on the degraded host" in hint
    assert "`forewarn vm redeploy web-0`" in hint


def test_a_vm_that_is_being_redeployed_is_not_moved_off_its_host_again() -> None:
    redeploy = replace(
        leaving(cause=Cause.USER_REDEPLOY),
        id="RUN",
        source=EventSource.USER,
        phase=Phase.STARTED,
        started_at=NOON,
        done=("web-0",),
    )
    explanation = explained(leaving(approved=True), redeploy)
    wait = the_wait(explanation, "blocker")
    assert (wait.rule, wait.maintenance) == ("move", "RUN")
    assert wait.text.endswith("It is already moving VMs in group web.")
    assert explanation.starts_at_latest is None  # it may never start


def test_platform_maintenance_is_not_blocked_by_a_group() -> None:
    assert the_wait(explained(due(), running()), "blocker").held_by is None


def test_a_blocker_is_named_before_the_maintenance_is_due() -> None:
    maintenance = a_maintenance("LATER", events=[MINE])
    explanation = explained(maintenance, running())
    assert not explanation.due
    assert the_wait(explanation, "blocker").maintenance == "RUN"


def test_older_maintenance_runs_first_even_while_blocked() -> None:
    both = [MINE, THEIRS]
    older = a_maintenance("OLDER", events=both, not_before=NOON - MINUTE)
    younger = a_maintenance("DUE", events=[THEIRS], not_before=NOON)
    explanation = explained(younger, older, running())
    wait = the_wait(explanation, "blocker")
    assert wait.text.endswith("and therefore runs first in group db.")
    assert (wait.rule, wait.maintenance) == ("queue", "OLDER")


def test_older_maintenance_does_not_wait_for_younger() -> None:
    older = a_maintenance("OLDER", events=[MINE], not_before=NOON - MINUTE)
    younger = a_maintenance("YOUNGER", events=[MINE], not_before=NOON)
    waits = explained(older, younger, running()).waits
    assert "YOUNGER" not in {wait.maintenance for wait in waits}


def test_deletions_are_coupled() -> None:
    approved = replace(MINE, approved_at=NOON)
    first = a_maintenance(
        "ONE", type_=EventType.TERMINATE, events=[approved], coupled=("TWO",)
    )
    second = an_event("e2", group="web", resources=("web-2",))
    other = a_maintenance(
        "TWO",
        type_=EventType.TERMINATE,
        events=[second],
        not_before=NOON + 5 * MINUTE,
    )
    explanation = explained(first, other)
    wait = the_wait(explanation, "blocker")
    assert wait.maintenance == "TWO"
    assert "web-2" in wait.text
    assert wait.until == NOON + 5 * MINUTE
    assert "forewarn maintenance approve TWO" in ways_out(wait)
    assert explanation.starts_at_latest == NOON + 5 * MINUTE


def test_downtime_does_not_count_as_notice() -> None:
    maintenance = a_maintenance(events=[MINE], promised=900)
    explanation = explained(
        maintenance, now=NOON + 30 * MINUTE, outage=an_outage(1, 30)
    )
    wait = the_wait(explanation, "blocker")
    assert "was down for 29 min, and downtime does not count" in wait.text
    assert wait.until == NOON + 44 * MINUTE
    assert explanation.starts_at_latest == NOON + 44 * MINUTE


# --- after it has started ----------------------------------------------------


def test_the_lead_time_comes_before_the_work() -> None:
    rules = Rules(lead=timedelta(seconds=2))
    explanation = explained(running(), now=NOON + SECOND, rules=rules)
    assert the_wait(explanation, "lead").until == NOON + 2 * SECOND
    assert explanation.starts_at_latest is None


def test_it_waits_for_the_driver() -> None:
    explanation = explained(running(), now=NOON + MINUTE)
    wait = the_wait(explanation, "work")
    assert wait.text == "Waiting for the driver to finish work on web-9."
    assert [reason.kind.value for reason in explanation.waits] == ["work"]


def test_stuck_maintenance_waits_for_an_operator() -> None:
    wait = the_wait(explained(running(stuck_since=NOON + SECOND)), "work")
    assert wait.since == NOON + SECOND
    assert ways_out(wait) == [
        f"forewarn maintenance {verb} RUN" for verb in ("retry", "complete", "close")
    ]


def test_the_driver_error_is_shown() -> None:
    stuck = running(stuck_since=NOON)
    slice_ = a_slice(maintenances=[stuck])
    explanation = explain(slice_, stuck, NOON, RULES, failure="virsh: no route.")
    text = "Stuck: the driver failed on web-9. Reason: virsh: no route."
    assert the_wait(explanation, "work").text == text


def test_automatic_retries_are_mentioned() -> None:
    stuck = running(stuck_since=NOON, tries=1)
    wait = the_wait(explained(stuck, rules=Rules(retries=1)), "work")
    assert ways_out(wait)[0] == "an automatic retry succeeds"


def test_it_waits_for_its_minimum_display_time() -> None:
    explanation = explained(running(done=("web-9",)), now=NOON + SECOND)
    assert the_wait(explanation, "time").until == NOON + 5 * SECOND


def test_a_failure_lasts_until_the_host_recovers() -> None:
    failed = running(cause=Cause.HOST_FAILURE, host="host-a")
    wait = the_wait(explained(failed), "work")
    assert "forewarn host recovered host-a" in ways_out(wait)


def test_finished_maintenance_waits_for_nothing() -> None:
    explanation = explained(a_maintenance(phase=Phase.COMPLETED, events=[MINE]))
    assert (explanation.due, explanation.waits, explanation.starts_at_latest) == (
        False,
        (),
        None,
    )
    assert explanation.summary.endswith("completed at 2026-01-05 12:00:00 UTC.")
