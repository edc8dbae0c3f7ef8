"""What a maintenance waits for, since when, and who could open it."""

from dataclasses import replace
from datetime import datetime, timedelta

from tests.core.builders import (
    MINUTE,
    NOON,
    RULES,
    SECOND,
    a_maintenance,
    a_slice,
    an_event,
    an_outage,
)

from forewarn.core.explaining import Explanation, Wait, explain
from forewarn.core.maintenance import Cause, Maintenance, Phase
from forewarn.core.outages import Outage
from forewarn.core.policy import Rules
from forewarn.protocol.types import EventType

MINE = an_event("e-mine", group="web", resources=("web-0", "web-1"))
THEIRS = an_event("e-theirs", group="db", resources=("db-0",))


def explained(
    one: Maintenance,
    *others: Maintenance,
    now: datetime = NOON,
    rules: Rules = RULES,
    outage: Outage | None = None,
) -> Explanation:
    """Explain `one` as it stands among the others."""
    outages = [] if outage is None else [outage]
    slice_ = a_slice(maintenances=[one, *others], outages=outages)
    return explain(slice_, one, now, rules)


def the_wait(explanation: Explanation, kind: str) -> Wait:
    (wait,) = [each for each in explanation.waits if each.kind.value == kind]
    return wait


def text(explanation: Explanation) -> str:
    return "\n".join(explanation.sentences)


# --- before it has started ---------------------------------------------------


def test_it_waits_for_each_group_that_has_not_approved_or_for_its_time() -> None:
    one = a_maintenance(host="host-a", events=[MINE, THEIRS])
    found = explained(one, now=NOON + MINUTE)
    assert not found.due
    assert [wait.kind.value for wait in found.waits] == ["approval", "approval", "time"]
    assert {wait.opens_at for wait in found.waits} == {NOON + 15 * MINUTE}
    assert {wait.since for wait in found.waits} == {NOON}
    assert found.starts_at_latest == NOON + 15 * MINUTE
    for name in ("group web", "e-mine", "web-0, web-1", "group db", "e-theirs"):
        assert name in text(found)
    assert "host host-a" in text(found)
    assert "(in 14 min)" in text(found)


def test_a_group_that_has_approved_is_not_waited_for() -> None:
    one = a_maintenance(events=[replace(MINE, approved_at=NOON), THEIRS])
    found = explained(one)
    assert the_wait(found, "approval").what.startswith("group db has not approved")
    assert "group web has not" not in text(found)


def test_a_withdrawn_event_is_not_waited_for() -> None:
    one = a_maintenance(events=[replace(MINE, withdrawn_at=NOON), THEIRS])
    assert "group db" in the_wait(explained(one), "approval").what


def test_of_a_long_queue_the_first_are_named_if_no_more_are_wanted() -> None:
    waiting = [
        a_maintenance(f"M{number}", events=[an_event(f"e{number}", group="web")])
        for number in range(9)
    ]
    slice_ = a_slice(maintenances=[running(), *waiting])
    now = NOON + 15 * MINUTE
    for each in waiting:
        whole = explain(slice_, each, now, RULES)
        some = explain(slice_, each, now, RULES, most=3)
        assert some.waits == whole.waits[:3]
        assert (some.due, some.starts_at_latest) == (True, whole.starts_at_latest)


def test_none_is_left_out_that_tells_when_it_starts_at_the_latest() -> None:
    one = a_maintenance(host="host-a", events=[MINE, THEIRS])
    held_by = running(done=("web-9",))
    slice_ = a_slice(maintenances=[held_by, one])
    whole = explain(slice_, one, NOON, RULES)
    assert len(whole.waits) == 4
    assert explain(slice_, one, NOON, RULES, most=1) == whole


def running(**changes: object) -> Maintenance:
    event = an_event("e-run", group="web", resources=("web-9",), update_domain=9)
    made = a_maintenance("RUN", phase=Phase.STARTED, events=[event])
    return replace(made, **changes)  # type: ignore[arg-type]  # fields by name


def due() -> Maintenance:
    return a_maintenance("DUE", events=[MINE], not_before=NOON)


def test_a_gate_names_what_holds_it() -> None:
    found = explained(due(), running())
    wait = the_wait(found, "gate")
    assert found.due
    for name in ("group web", "maintenance RUN", "web-9"):
        assert name in wait.what
    assert wait.opened_by == "maintenance RUN, when it is over"
    assert (wait.since, wait.opens_at) == (NOON, None)
    assert found.starts_at_latest is None
    assert "No longer waited for: group web has not approved" in text(found)


def test_a_gate_opens_when_what_holds_it_has_been_shown_long_enough() -> None:
    found = explained(due(), running(done=("web-9",)))
    assert the_wait(found, "gate").opens_at == NOON + 5 * SECOND
    assert found.starts_at_latest == NOON + 5 * SECOND


def test_a_gate_that_is_held_by_something_stuck_says_what_to_do() -> None:
    wait = the_wait(explained(due(), running(stuck_since=NOON)), "gate")
    assert "stuck since" in wait.what
    assert "forewarn events retry RUN" in (wait.opened_by or "")


def test_a_gate_is_named_before_it_is_due() -> None:
    one = a_maintenance("LATER", events=[MINE])
    found = explained(one, running())
    assert not found.due
    assert "A gate is shut, too" in text(found)


def test_the_older_comes_first_though_it_is_held_itself() -> None:
    both = [MINE, THEIRS]
    older = a_maintenance("OLDER", events=both, not_before=NOON - MINUTE)
    younger = a_maintenance("DUE", events=[THEIRS], not_before=NOON)
    found = explained(younger, older, running())
    wait = the_wait(found, "gate")
    assert "in group db the older comes first" in wait.what
    assert "maintenance OLDER" in wait.what


def test_the_older_does_not_wait_for_the_younger() -> None:
    older = a_maintenance("OLDER", events=[MINE], not_before=NOON - MINUTE)
    younger = a_maintenance("YOUNGER", events=[MINE], not_before=NOON)
    kinds = [wait.what for wait in explained(older, younger, running()).waits]
    assert all("YOUNGER" not in each for each in kinds)


def test_deletions_go_together() -> None:
    approved = replace(MINE, approved_at=NOON)
    one = a_maintenance(
        "ONE", type_=EventType.TERMINATE, events=[approved], coupled=("TWO",)
    )
    second = an_event("e2", group="web", resources=("web-2",))
    two = a_maintenance(
        "TWO",
        type_=EventType.TERMINATE,
        events=[second],
        not_before=NOON + 5 * MINUTE,
    )
    found = explained(one, two)
    wait = the_wait(found, "gate")
    assert "maintenance TWO" in wait.what
    assert "web-2" in wait.what
    assert wait.opens_at == NOON + 5 * MINUTE
    assert "forewarn events approve TWO" in (wait.opened_by or "")
    assert found.starts_at_latest == NOON + 5 * MINUTE


def test_an_outage_is_nobodys_notice() -> None:
    one = a_maintenance(events=[MINE], promised=900)
    found = explained(one, now=NOON + 30 * MINUTE, outage=an_outage(1, 30))
    wait = the_wait(found, "gate")
    assert "away for 29 min" in wait.what
    assert wait.opens_at == NOON + 44 * MINUTE
    assert found.starts_at_latest == NOON + 44 * MINUTE


# --- after it has started ----------------------------------------------------


def test_vms_see_started_before_anything_happens() -> None:
    rules = Rules(lead=timedelta(seconds=2))
    found = explained(running(), now=NOON + SECOND, rules=rules)
    assert the_wait(found, "lead").opens_at == NOON + 2 * SECOND
    assert found.starts_at_latest is None


def test_it_waits_for_the_driver() -> None:
    found = explained(running(), now=NOON + MINUTE)
    wait = the_wait(found, "work")
    assert "has not reported web-9 done" in wait.what
    assert [each.kind.value for each in found.waits] == ["work"]


def test_it_waits_for_whoever_knows_what_to_do_when_it_is_stuck() -> None:
    wait = the_wait(explained(running(stuck_since=NOON + SECOND)), "work")
    assert wait.since == NOON + SECOND
    assert wait.opened_by == "`forewarn events retry RUN`, `complete` or `close`"


def test_it_says_that_the_driver_is_called_again_by_itself() -> None:
    stuck = running(stuck_since=NOON, tries=1)
    wait = the_wait(explained(stuck, rules=Rules(retries=1)), "work")
    assert (wait.opened_by or "").startswith("the driver is called again by itself")


def test_it_waits_until_it_has_been_shown() -> None:
    found = explained(running(done=("web-9",)), now=NOON + SECOND)
    assert the_wait(found, "time").opens_at == NOON + 5 * SECOND


def test_a_failure_lasts_until_the_host_is_well() -> None:
    failed = running(cause=Cause.HOST_FAILURE, host="host-a")
    wait = the_wait(explained(failed), "work")
    assert "forewarn host recovered host-a" in (wait.opened_by or "")


def test_what_is_over_waits_for_nothing() -> None:
    found = explained(a_maintenance(phase=Phase.COMPLETED, events=[MINE]))
    assert (found.due, found.waits, found.starts_at_latest) == (False, (), None)
    assert "COMPLETED since 2026-01-05 12:00:00 UTC" in text(found)
