"""Agent loop, turn by turn: documents, impact and names."""

import json

import pytest
from tests.agent.support.agent_loop import (
    AWAY,
    BLANK,
    STARTED,
    Staging,
    a_document_read,
    endless_hook,
)
from tests.agent.support.events import MINUTE, NOON, SECOND, an_event
from tests.agent.support.hook_builders import ReadyPipe

from forewarn.agent.config.plan import ApprovalPolicy
from forewarn.agent.events.state import Impact, LastStatus
from forewarn.agent.poller import NameLearned
from forewarn.protocol.codec import decode


def test_only_the_third_empty_response_ends_an_event(agent_factory: Staging) -> None:
    agent = agent_factory()
    agent.turn(a_document_read(an_event()), BLANK, BLANK)
    assert agent.state().seen is LastStatus.SCHEDULED
    assert agent.metrics.value("readings_total", result="blank") == 2
    agent.turn(BLANK)
    assert agent.state().seen is LastStatus.GONE


def test_empty_responses_are_counted_from_the_last_document(
    agent_factory: Staging,
) -> None:
    agent = agent_factory()
    agent.turn(
        a_document_read(an_event()),
        BLANK,
        BLANK,
        a_document_read(an_event()),
        BLANK,
        BLANK,
    )
    assert agent.state().seen is LastStatus.SCHEDULED


def test_an_empty_response_means_no_events_after_a_restart(
    agent_factory: Staging, ready_pipe: ReadyPipe
) -> None:
    before = agent_factory(hooks={"resume": endless_hook(ready_pipe)})
    before.turn(a_document_read(an_event()))
    before.turn()
    before.turn(a_document_read(at=NOON + MINUTE))
    ready_pipe.read()
    agent = agent_factory()
    agent.turn(BLANK)
    agent.turn()
    assert agent.runs() == [("drain", "done", 1), ("resume", "done", 2)]


def test_a_reboot_that_disappears_while_nothing_could_be_read_may_have_taken_place(
    agent_factory: Staging,
) -> None:
    agent = agent_factory()
    event = an_event(not_before=NOON + MINUTE)
    agent.turn(a_document_read(event))
    agent.turn(AWAY, a_document_read(at=NOON + 2 * MINUTE))
    assert agent.state().started_at is not None
    assert agent.metrics.value("readings_total", result="failed") == 1


def test_a_reboot_that_disappears_in_plain_sight_did_not_take_place(
    agent_factory: Staging,
) -> None:
    agent = agent_factory()
    event = an_event(not_before=NOON + MINUTE)
    agent.turn(AWAY, a_document_read(event))
    agent.turn(a_document_read(at=NOON + 2 * MINUTE))
    assert agent.state().started_at is None


def test_a_measured_impact_is_recorded_for_the_event_once(
    agent_factory: Staging,
) -> None:
    agent = agent_factory()
    agent.turn(
        a_document_read(an_event())
    )  # it is near: from here on, the clocks are watched
    agent.clocks.seconds += 9.25
    agent.turn(a_document_read(STARTED, at=NOON + 15 * MINUTE))
    agent.turn(a_document_read(at=NOON + 16 * MINUTE))
    assert agent.state().impact == Impact(seconds=9.0, total=9.0)
    assert agent.lines("gone")[0]["impact"] == {"boots": 0, "seconds": 9, "total": 9}
    assert "forewarn_agent_impact_seconds_sum" in agent.metrics.render()


def test_impact_is_scaled_to_the_service_s_clock(agent_factory: Staging) -> None:
    agent = agent_factory()
    agent.turn(a_document_read(an_event(), rate=60.0))
    agent.clocks.seconds += 9.25
    agent.turn(a_document_read(an_event(), at=NOON + MINUTE, rate=60.0))
    assert agent.state().impact.seconds == 540.0


def test_a_service_clock_that_is_ahead_means_this_vm_stood_still(
    agent_factory: Staging,
) -> None:
    agent = agent_factory()
    for _ in range(3):
        agent.turn(a_document_read(an_event(), rate=1.0))
    agent.turn(a_document_read(an_event(), at=NOON + MINUTE, rate=1.0))
    assert agent.state().impact.seconds == pytest.approx(60, abs=5)


def test_nothing_is_measured_far_from_every_event(agent_factory: Staging) -> None:
    agent = agent_factory()
    far = an_event(not_before=NOON + 60 * MINUTE)
    agent.turn(a_document_read(far))
    agent.clocks.seconds += 9.25
    agent.turn(a_document_read(far, at=NOON + SECOND))
    assert agent.state().impact == Impact()


def test_a_restart_of_the_vm_counts_as_impact(agent_factory: Staging) -> None:
    agent_factory().turn(a_document_read(an_event()))
    agent = agent_factory(boot="boot-2", impact=Impact(seconds=30.0, total=30.0))
    agent.turn(a_document_read(at=NOON + 16 * MINUTE))
    assert agent.state().impact == Impact(boots=1, seconds=30.0, total=30.0)
    assert agent.metrics.value("boots_total") == 1


def test_metrics_show_the_events_of_the_document(agent_factory: Staging) -> None:
    agent = agent_factory()
    agent.turn(a_document_read(an_event(), an_event("E2", resources=["web-1"])))
    common = {"type": "Reboot", "status": "Scheduled"}
    assert agent.metrics.value("events", **common, mine="1") == 1
    assert agent.metrics.value("events", **common, mine="0") == 1
    due = (NOON + 15 * MINUTE).timestamp()
    labels = {"event": "E1", "type": "Reboot"}
    assert agent.metrics.value("not_before_timestamp_seconds", **labels) == due
    agent.turn(a_document_read())
    assert "forewarn_agent_events{" not in agent.metrics.render()


def test_a_learned_name_is_compared_with_events(
    agent_factory: Staging,
) -> None:
    agent = agent_factory(name=None)
    agent.turn(NameLearned(name="db-0"), a_document_read(an_event(resources=["db-0"])))
    assert agent.state().is_mine
    assert agent.executor.name == "db-0"


def test_a_name_learned_late_applies_to_known_events_and_is_kept(
    agent_factory: Staging,
) -> None:
    agent = agent_factory(name=None, approve=ApprovalPolicy.NEVER)
    agent.turn(NameLearned(name=None), a_document_read(an_event(resources=["db-0"])))
    assert not agent.state().is_mine
    agent.turn(NameLearned(name="db-0"), NameLearned(name=None))
    assert agent.state().is_mine
    assert agent.state().course is not None
    assert agent.executor.name == "db-0"


def test_a_name_mismatch_is_an_alarm(agent_factory: Staging) -> None:
    agent = agent_factory()
    agent.turn(NameLearned(name="db-0"))
    assert agent.metrics.value("name_mismatch") == 1
    assert "name-mismatch" in agent.conditions.active()
    assert len(agent.lines("name-mismatch")) == 1


def test_names_are_compared_again_with_every_document(agent_factory: Staging) -> None:
    agent = agent_factory(name=None)
    agent.turn(NameLearned(name="db-0"))
    assert agent.metrics.value("name_mismatch") == 0
    agent.turn(a_document_read(an_event(resources=["web-0"])))
    assert agent.metrics.value("name_mismatch") == 1


@pytest.mark.parametrize(
    "not_before",
    [
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59Z",
        "9999-12-31T23:59:59-14:00",
        "Mon, 01 Jan 0001 00:00:00 GMT",
    ],
)
def test_extreme_not_before_values_are_handled(
    agent_factory: Staging, not_before: str
) -> None:
    agent = agent_factory(approve=ApprovalPolicy.NEVER)
    shown = {
        "EventId": "E1",
        "EventType": "Reboot",
        "EventStatus": "Scheduled",
        "Resources": ["web-0"],
        "NotBefore": not_before,
    }
    (event,) = decode(json.dumps({"Events": [shown]}).encode()).events
    agent.turn(a_document_read(event))
    agent.turn()
    agent.turn(a_document_read(STARTED, at=NOON + MINUTE))
    agent.turn()
    agent.turn(a_document_read(at=NOON + 2 * MINUTE))
    agent.turn()
    assert agent.state().over_at is not None
