"""Explanations and stories: what maintenance waits for, and what has happened."""

from datetime import datetime, timedelta
from typing import Any

from tests.stories.support.harness import NOON, ServiceHarness, rfc3339
from tests.stories.support.rows import COMPLETED, SCHEDULED, STARTED

EXPLANATION = ["phase", "due", "summary", "waits", "starts_at_latest", "hint"]
WAIT = [
    *("kind", "rule", "text", "groups", "maintenance", "held_by"),
    *("since", "until", "unblocked_by"),
]
STORY = ["notice_given_seconds", "notice_used_seconds", "entries", "sentences"]


def at(**after: int) -> str:
    """Return a time after noon."""
    return rfc3339(NOON + timedelta(**after))


def explained(harness: ServiceHarness, made: Any) -> Any:
    """Return an explanation after checking its keys and sentences."""
    explanation = harness.explanation(made)
    assert [*explanation] == EXPLANATION
    assert all([*wait] == WAIT for wait in explanation["waits"])
    sentences = [explanation["summary"], *(w["text"] for w in explanation["waits"])]
    assert all(text[0].isupper() and text[-1] == "." for text in sentences)
    return explanation


def kinds(explanation: Any) -> list[str]:
    return [wait["kind"] for wait in explanation["waits"]]


def test_maintenance_is_explained_from_its_announcement_to_its_end(
    operator_harness: ServiceHarness,
) -> None:
    holder = operator_harness.create("maintenances", type="Reboot", vms=["web-1"])
    operator_harness.approve("web-1", holder)
    operator_harness.wait(minutes=1)
    maintenance = operator_harness.create("hosts/host-a/maintain", type="Reboot")
    operator_harness.wait(minutes=1)
    operator_harness.approve("web-1", maintenance)
    early = explained(operator_harness, maintenance)
    assert (early["phase"], early["due"]) == (SCHEDULED, False)
    assert kinds(early) == ["approval", "time", "blocker"]
    assert {wait["since"] for wait in early["waits"]} == {at(minutes=1)}
    assert early["waits"][1]["until"] == at(minutes=16)
    assert early["waits"][0]["groups"] == ["db", "lone"]

    operator_harness.wait(minutes=15)
    blocked = explained(operator_harness, maintenance)
    assert (blocked["phase"], blocked["due"]) == (SCHEDULED, True)
    assert (kinds(blocked), blocked["starts_at_latest"]) == (["blocker"], None)
    assert holder["id"] == blocked["waits"][0]["maintenance"]

    operator_harness.send_command(holder, "complete")
    operator_harness.wait(1)
    lead = explained(operator_harness, maintenance)
    assert (lead["phase"], kinds(lead)) == (STARTED, ["lead", "work", "time"])
    assert lead["waits"][0]["until"] == at(minutes=17, seconds=2)

    operator_harness.wait(minutes=1)
    work = explained(operator_harness, maintenance)
    assert (kinds(work), work["waits"][0]["until"]) == (["work"], None)
    assert "to finish work on db-0, lone, web-0." in work["waits"][0]["text"]
    assert "complete" in work["waits"][0]["unblocked_by"][1]["command"]

    operator_harness.send_command(maintenance, "complete")
    over = explained(operator_harness, maintenance)
    assert (over["phase"], over["due"], over["waits"]) == (COMPLETED, False, [])


def read_story(harness: ServiceHarness, made: Any) -> Any:
    """Return a story after checking its keys and the order of its entries."""
    story = harness.story(made)
    assert [*story] == STORY
    assert all([*entry] == ["at", "what"] for entry in story["entries"])
    times = [datetime.fromisoformat(entry["at"]) for entry in story["entries"]]
    assert times == sorted(times)
    assert story["sentences"]
    return story


def find(story: Any, *words: str) -> list[str]:
    """Return the times of the entries that contain all of `words`."""
    return [
        entry["at"]
        for entry in story["entries"]
        if all(word.lower() in entry["what"].lower() for word in words)
    ]


def test_a_story_shows_who_saw_and_approved_an_event_and_how(
    harness: ServiceHarness,
) -> None:
    maintenance = harness.create("hosts/host-a/maintain", type="Reboot")
    harness.wait(60)
    harness.poll("web-1")
    harness.wait(60)
    harness.approve("web-2", maintenance)
    harness.wait(60)
    (event,) = [
        event_view["id"]
        for event_view in maintenance["events"]
        if event_view["group"] == "db"
    ]
    assert harness.post(f"events/{event}/approve").status == 200
    harness.wait(60)
    harness.approve("lone", maintenance)
    harness.wait(5)
    story = read_story(harness, maintenance)

    assert find(story, "announced") == [at()]
    assert find(story, "seen by web-1 ") == [at(minutes=1)]
    assert find(story, "seen by web-2 ") == [at(minutes=2)]
    assert find(story, "approved", "web-2") == [at(minutes=2)]
    assert find(story, "approved", "admin") == [at(minutes=3)]
    assert find(story, "approved", "lone") == [at(minutes=4)]
    assert find(story, "started") == [at(minutes=4)]
    assert find(story, "completed") == [at(minutes=4, seconds=5)]
    assert (story["notice_given_seconds"], story["notice_used_seconds"]) == (900, 240)
    whats = [entry["what"] for entry in story["entries"]]
    seen, approved = (
        next(place for place, what in enumerate(whats) if what.startswith(start))
        for start in ("seen by web-2", "approved for group web by web-2")
    )
    assert seen < approved
    assert whats[0].startswith("announced")
    assert whats[-1].startswith("completed")


def test_an_event_id_is_accepted_in_any_case(harness: ServiceHarness) -> None:
    maintenance = harness.create("maintenances", type="Reboot", vms=["web-0"])
    by_event = {"id": maintenance["events"][0]["id"].lower()}
    assert harness.explanation(by_event) == harness.explanation(maintenance)
    assert harness.story(by_event) == harness.story(maintenance)


def test_an_unknown_maintenance_gets_404(shared: ServiceHarness) -> None:
    for what in ("explain", "story"):
        response = shared.service.request("GET", f"/v1/maintenances/nothing/{what}")
        assert (response.status, bool(response.detail)) == (404, True)
