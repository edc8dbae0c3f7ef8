"""Stories: the history of a maintenance in chronological order."""

from dataclasses import replace

from tests.core.support.builders import (
    MINUTE,
    NOON,
    SECOND,
    a_maintenance,
    an_event,
    an_outage,
)

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Cause, Maintenance, Phase, Via
from forewarn.core.queries.story import Story, story_of

EVENT = an_event("e0", group="web", resources=("web-0",))
ONE = a_maintenance(host="host-a", events=[EVENT])


def announced(one: Maintenance = ONE) -> f.Announced:
    return f.Announced(at=NOON, by="ops", maintenance="m0", announced=one)


def approved(via: Via = Via.METADATA) -> f.Approved:
    return f.Approved(
        at=NOON + 3 * MINUTE,
        by=None if via is Via.POLICY else "web-0",
        via=via,
        maintenance="m0",
        event="e0",
        group="web",
    )


def a_story(*facts: f.Fact, one: Maintenance = ONE, sights: int = 0) -> Story:
    seen = [f.Sight(event="e0", vm="web-0", at=NOON + MINUTE)] * sights
    return story_of(one, facts, seen, [])


def lines(story: Story) -> list[str]:
    return [line.what for line in story.entries]


def test_it_shows_the_announcement_with_actor_and_reason() -> None:
    maintenance = replace(ONE, reason="a new kernel")
    assert lines(a_story(announced(maintenance), one=maintenance)) == [
        "announced by ops: Reboot of host-a (web-0), not before 2026-01-05"
        " 12:15:00 UTC (Platform, platform); reason: a new kernel"
    ]


def test_it_names_vms_that_left_a_degraded_host_on_their_own() -> None:
    maintenance = replace(ONE, cause=Cause.DEGRADED, left=("web-0",))
    sentences = a_story(announced(maintenance), one=maintenance).sentences
    assert "Left the degraded host before this redeploy: web-0." in sentences
    assert "Left" not in " ".join(a_story(one=replace(ONE, left=("web-0",))).sentences)


def test_sightings_appear_in_chronological_order() -> None:
    assert lines(a_story(announced(), approved(), sights=1))[1:] == [
        "seen by web-0 (group web)",
        "approved for group web by web-0 via the metadata endpoint",
    ]


def a_complete_story(*, approved_at: object = None) -> Story:
    event = replace(EVENT, approved_at=NOON + 3 * MINUTE if approved_at else None)
    at = NOON + (3 * MINUTE if approved_at else 15 * MINUTE)
    maintenance = replace(ONE, events=(event,), started_at=at, phase=Phase.STARTED)
    return a_story(announced(), f.Started(at=at, maintenance="m0"), one=maintenance)


def test_it_shows_how_much_notice_was_given_and_used() -> None:
    story = a_complete_story(approved_at=NOON)
    assert lines(story)[-1] == "started after 3 min, approved by all groups"
    assert (story.notice_given_seconds, story.notice_used_seconds) == (900, 180)
    assert story.sentences == ("Notice given: 15 min; started after 3 min.",)


def test_it_shows_who_never_approved() -> None:
    story = a_complete_story()
    assert lines(story)[-1] == "started after 15 min, without approval from web"
    assert story.sentences[-1] == "Never approved by web."


def test_it_names_a_group_once_if_several_of_its_vms_never_approved() -> None:
    events = (EVENT, replace(EVENT, id="e1"))
    maintenance = replace(ONE, events=events, started_at=NOON, phase=Phase.STARTED)
    story = a_story(announced(maintenance), one=maintenance)
    assert story.sentences[-1] == "Never approved by web."


def test_maintenance_that_has_not_started_used_no_notice() -> None:
    story = a_story(announced())
    assert story.notice_used_seconds is None
    assert story.sentences == ("Notice given: 15 min.",)


def test_an_immediate_start_had_no_notice() -> None:
    maintenance = replace(ONE, at_once=True, not_before=NOON, started_at=NOON)
    story = a_story(f.Started(at=NOON, maintenance="m0"), one=maintenance)
    assert lines(story) == ["started without notice"]
    assert story.notice_given_seconds == 0
    assert story.sentences == ("Announced without notice.",)


def test_an_outage_is_shown_but_not_counted() -> None:
    maintenance = replace(ONE, started_at=NOON + 44 * MINUTE, phase=Phase.STARTED)
    story = story_of(
        maintenance, [announced()], [], [an_outage(1, 30), an_outage(60, 90)]
    )
    assert lines(story)[1:] == [
        "the service is back after 29 min of downtime (since 2026-01-05 12:01:00 UTC)"
    ]
    assert (
        "The service was down for 29 min of that time. Downtime does not count as"
        " notice." in story.sentences
    )


def test_every_fact_about_a_maintenance_has_a_sentence() -> None:
    second = NOON + SECOND
    kinds = [kind for kind in f.Fact.__args__ if "maintenance" in kind.__slots__]
    assert len(kinds) == 14
    for kind in kinds:
        values = {name: _VALUES[name] for name in kind.__slots__}
        assert lines(a_story(kind(**{**values, "at": second})))[0]


_VALUES = {
    "at": NOON,
    "by": "ops",
    "via": Via.CONTROL,
    "maintenance": "m0",
    "event": "e0",
    "group": "web",
    "announced": ONE,
    "vms": ("web-0",),
    "attempt": 1,
    "detail": "",
    "output": "",
    "reason": None,
}
