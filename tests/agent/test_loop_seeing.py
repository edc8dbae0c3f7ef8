"""What the agent makes of what it sees, turn by turn."""

import json

import pytest
from tests.agent.hook_builders import Word
from tests.agent.lives import MINUTE, NOON, SECOND, an_event
from tests.agent.loop import AWAY, BLANK, STARTED, Staging, going_on, seeing

from forewarn.agent.eyes import Named
from forewarn.agent.lives import Impact, Seen
from forewarn.agent.plan import Approve
from forewarn.protocol.codec import decode


def test_only_the_third_answer_without_a_byte_ends_an_event(stage: Staging) -> None:
    now = stage()
    now.turn(seeing(an_event()), BLANK, BLANK)
    assert now.life().seen is Seen.SCHEDULED
    assert now.metrics.value("readings_total", result="blank") == 2
    now.turn(BLANK)
    assert now.life().seen is Seen.GONE


def test_answers_without_a_byte_are_counted_from_the_last_that_had_some(
    stage: Staging,
) -> None:
    now = stage()
    now.turn(seeing(an_event()), BLANK, BLANK, seeing(an_event()), BLANK, BLANK)
    assert now.life().seen is Seen.SCHEDULED


def test_an_answer_without_a_byte_is_no_events_where_none_is_known(
    stage: Staging, word: Word
) -> None:
    before = stage(hooks={"resume": going_on(word)})
    before.turn(seeing(an_event()))
    before.turn()
    before.turn(seeing(at=NOON + MINUTE))
    word.hear()
    now = stage()
    now.turn(BLANK)
    now.turn()
    assert now.runs() == [("drain", "done", 1), ("resume", "done", 2)]


def test_what_went_before_the_eyes_of_the_agent_did_not_take_place(
    stage: Staging,
) -> None:
    now = stage()
    event = an_event(not_before=NOON + MINUTE)
    now.turn(seeing(event))
    now.turn(seeing(at=NOON + 2 * MINUTE))
    assert now.life().started_at is None


def test_what_went_while_nothing_could_be_read_may_have_taken_place(
    stage: Staging,
) -> None:
    now = stage()
    event = an_event(not_before=NOON + MINUTE)
    now.turn(seeing(event))
    now.turn(AWAY, seeing(at=NOON + 2 * MINUTE))
    assert now.life().started_at is not None
    assert now.metrics.value("readings_total", result="failed") == 1


def test_having_been_away_ends_with_the_next_document(stage: Staging) -> None:
    now = stage()
    event = an_event(not_before=NOON + MINUTE)
    now.turn(AWAY, seeing(event))
    now.turn(seeing(at=NOON + 2 * MINUTE))
    assert now.life().started_at is None


def test_what_was_felt_is_told_of_the_event_and_counted_once(stage: Staging) -> None:
    now = stage()
    now.turn(seeing(an_event()))  # it is near: from here on, clocks are looked at
    now.clocks.seconds += 9.25
    now.turn(seeing(STARTED, at=NOON + 15 * MINUTE))
    now.turn(seeing(at=NOON + 16 * MINUTE))
    assert now.life().impact == Impact(seconds=9.0, total=9.0)
    assert now.lines("gone")[0]["impact"] == {"boots": 0, "seconds": 9, "total": 9}
    assert "forewarn_agent_impact_seconds_sum" in now.metrics.render()


def test_what_was_felt_is_counted_as_durations_are_announced(stage: Staging) -> None:
    now = stage()
    now.turn(seeing(an_event(), rate=60.0))
    now.clocks.seconds += 9.25
    now.turn(seeing(an_event(), at=NOON + MINUTE, rate=60.0))
    assert now.life().impact.seconds == 540.0


def test_a_service_that_is_ahead_tells_that_this_vm_stood_still(
    stage: Staging,
) -> None:
    now = stage()
    for _ in range(3):
        now.turn(seeing(an_event(), rate=1.0))
    now.turn(seeing(an_event(), at=NOON + MINUTE, rate=1.0))
    assert now.life().impact.seconds == pytest.approx(60, abs=5)


def test_far_from_every_event_nothing_is_measured(stage: Staging) -> None:
    now = stage()
    far = an_event(not_before=NOON + 60 * MINUTE)
    now.turn(seeing(far))
    now.clocks.seconds += 9.25
    now.turn(seeing(far, at=NOON + SECOND))
    assert now.life().impact == Impact()


def test_a_restart_of_the_vm_is_felt(stage: Staging) -> None:
    stage().turn(seeing(an_event()))
    now = stage(boot="boot-2", felt=Impact(seconds=30.0, total=30.0))
    now.turn(seeing(at=NOON + 16 * MINUTE))
    assert now.life().impact == Impact(boots=1, seconds=30.0, total=30.0)
    assert now.metrics.value("boots_total") == 1


def test_the_events_in_the_document_are_shown(stage: Staging) -> None:
    now = stage()
    now.turn(seeing(an_event(), an_event("E2", resources=["web-1"])))
    told = {"type": "Reboot", "status": "Scheduled"}
    assert now.metrics.value("events", **told, mine="1") == 1
    assert now.metrics.value("events", **told, mine="0") == 1
    due = (NOON + 15 * MINUTE).timestamp()
    labels = {"event": "E1", "type": "Reboot"}
    assert now.metrics.value("not_before_timestamp_seconds", **labels) == due
    now.turn(seeing())
    assert now.metrics.value("events", **told, mine="1") is None


def test_a_name_that_is_learned_is_what_events_are_compared_with(
    stage: Staging,
) -> None:
    now = stage(name=None)
    now.turn(Named(name="db-0"), seeing(an_event(resources=["db-0"])))
    assert now.life().is_mine
    assert now.hands.name == "db-0"


def test_a_name_that_does_not_fit_is_an_alarm(stage: Staging) -> None:
    now = stage()
    now.turn(Named(name="db-0"))
    assert now.metrics.value("name_mismatch") == 1
    assert "name-mismatch" in now.conditions.are_there()
    assert len(now.lines("name-mismatch")) == 1


def test_names_are_compared_again_with_every_document(stage: Staging) -> None:
    now = stage(name=None)
    now.turn(Named(name="db-0"))
    assert now.metrics.value("name_mismatch") == 0
    now.turn(seeing(an_event(resources=["web-0"])))
    assert now.metrics.value("name_mismatch") == 1


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
def test_a_time_at_the_end_of_the_calendar_is_lived_through(
    stage: Staging, not_before: str
) -> None:
    now = stage(approve=Approve.NEVER)
    shown = {
        "EventId": "E1",
        "EventType": "Reboot",
        "EventStatus": "Scheduled",
        "Resources": ["web-0"],
        "NotBefore": not_before,
    }
    (event,) = decode(json.dumps({"Events": [shown]}).encode()).events
    now.turn(seeing(event))
    now.turn()
    now.turn(seeing(STARTED, at=NOON + MINUTE))
    now.turn()
    now.turn(seeing(at=NOON + 2 * MINUTE))
    now.turn()
    assert now.life().over_at is not None
