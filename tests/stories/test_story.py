"""Stories: the life of a maintenance in chronological order."""

from datetime import datetime, timedelta
from typing import Any

from tests.stories.harness import NOON, ServiceHarness, rfc3339

STORY = ["notice_given_seconds", "notice_used_seconds", "entries", "sentences"]


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


def at(**after: int) -> str:
    """Return a time after noon."""
    return rfc3339(NOON + timedelta(**after))


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
    assert find(story, "approved", "web-2") == [at(minutes=2)]
    assert find(story, "approved", "admin") == [at(minutes=3)]
    assert find(story, "approved", "lone") == [at(minutes=4)]
    assert find(story, "started") == [at(minutes=4)]
    assert find(story, "completed") == [at(minutes=4, seconds=5)]
    assert (story["notice_given_seconds"], story["notice_used_seconds"]) == (900, 240)


def test_entries_are_in_the_order_of_the_phases(harness: ServiceHarness) -> None:
    maintenance = harness.create("maintenances", type="Reboot", vms=["web-0"])
    harness.poll("web-1")
    harness.approve("web-1", maintenance)
    harness.wait(5)
    entries = [
        each["what"].lower() for each in read_story(harness, maintenance)["entries"]
    ]

    def first(word: str) -> int:
        return next(place for place, what in enumerate(entries) if word in what)

    places = [first(each) for each in ("announced", "approved", "started", "completed")]
    assert places == sorted(places)
    assert places[0] == 0
    assert places[-1] == len(entries) - 1


def test_a_vm_that_approves_has_seen_the_event_before(harness: ServiceHarness) -> None:
    maintenance = harness.create("maintenances", type="Reboot", vms=["web-0"])
    harness.poll("web-0")
    harness.approve("web-1", maintenance)
    whats = [entry["what"] for entry in read_story(harness, maintenance)["entries"]]
    (seen,) = [n for n, what in enumerate(whats) if what.startswith("seen by web-1")]
    (approved,) = [
        n for n, what in enumerate(whats) if "approved for group web by web-1" in what
    ]
    assert seen < approved


def test_a_story_without_an_approval(harness: ServiceHarness) -> None:
    maintenance = harness.create(
        "maintenances", type="Reboot", vms=["web-0"], notice_seconds=1200
    )
    harness.wait(minutes=30)
    story = read_story(harness, maintenance)
    assert find(story, "approved by") == []
    assert find(story, "started") == [at(minutes=20)]
    assert (story["notice_given_seconds"], story["notice_used_seconds"]) == (1200, 1200)


def test_a_maintenance_that_has_not_started_has_used_no_notice(
    harness: ServiceHarness,
) -> None:
    maintenance = harness.create("maintenances", type="Redeploy", vms=["web-0"])
    harness.wait(minutes=5)
    story = read_story(harness, maintenance)
    assert (story["notice_given_seconds"], story["notice_used_seconds"]) == (600, None)
    harness.send_command(maintenance, "cancel")
    story = read_story(harness, maintenance)
    assert find(story, "canceled") == [at(minutes=5)]
    assert story["notice_used_seconds"] is None


def test_a_maintenance_that_started_immediately_gave_no_notice(
    harness: ServiceHarness,
) -> None:
    maintenance = harness.create("hosts/host-a/failed")
    harness.wait(minutes=1)
    assert harness.post("hosts/host-a/recovered", {"reason": "new fuse"}).status == 200
    story = read_story(harness, maintenance)
    assert (story["notice_given_seconds"], story["notice_used_seconds"]) == (0, 0)
    assert find(story, "started") == [at()]
    assert find(story, "completed") == [at(minutes=1)]


def test_a_blocked_maintenance_uses_more_notice_than_given(
    operator_harness: ServiceHarness,
) -> None:
    first = operator_harness.create("maintenances", type="Reboot", vms=["web-0"])
    maintenance = operator_harness.create("maintenances", type="Reboot", vms=["web-1"])
    operator_harness.wait(minutes=20)
    operator_harness.send_command(first, "complete")
    story = read_story(operator_harness, maintenance)
    assert find(story, "started") == [at(minutes=20)]
    assert (story["notice_given_seconds"], story["notice_used_seconds"]) == (900, 1200)


def test_a_story_shows_which_vms_have_left(harness: ServiceHarness) -> None:
    maintenance = harness.create("hosts/host-c/maintain", type="Reboot")
    harness.wait(minutes=1)
    harness.change_vm("FrontEnd_IN_0", host="host-d")
    story = read_story(harness, maintenance)
    assert find(story, "FrontEnd_IN_0", "left") == [at(minutes=1)]
    assert find(story, "withdrawn", "roles") == [at(minutes=1)]
