"""The life of a maintenance, told in order."""

from datetime import datetime, timedelta
from typing import Any

from tests.stories.world import NOON, World, rfc3339

STORY = ["notice_given_seconds", "notice_used_seconds", "entries", "sentences"]


def told(world: World, made: Any) -> Any:
    """A story that has all its keys, and goes on in time."""
    story = world.story(made)
    assert [*story] == STORY
    assert all([*entry] == ["at", "what"] for entry in story["entries"])
    times = [datetime.fromisoformat(entry["at"]) for entry in story["entries"]]
    assert times == sorted(times)
    assert story["sentences"]
    return story


def find(story: Any, *words: str) -> list[str]:
    """When entries with all of `words` happened."""
    return [
        entry["at"]
        for entry in story["entries"]
        if all(word.lower() in entry["what"].lower() for word in words)
    ]


def at(**after: int) -> str:
    """A time after noon."""
    return rfc3339(NOON + timedelta(**after))


def test_who_saw_and_who_approved_and_how(world: World) -> None:
    made = world.does("hosts/host-a/maintain", type="Reboot")
    world.wait(60)
    world.look("web-1")
    world.wait(60)
    world.approves("web-2", made)
    world.wait(60)
    (event,) = [each["id"] for each in made["events"] if each["group"] == "db"]
    assert world.post(f"events/{event}/approve").status == 200
    world.wait(60)
    world.approves("lone", made)
    world.wait(5)
    story = told(world, made)

    assert find(story, "announced") == [at()]
    assert find(story, "seen by web-1 ") == [at(minutes=1)]
    assert find(story, "approved", "web-2") == [at(minutes=2)]
    assert find(story, "approved", "admin") == [at(minutes=3)]
    assert find(story, "approved", "lone") == [at(minutes=4)]
    assert find(story, "started") == [at(minutes=4)]
    assert find(story, "completed") == [at(minutes=4, seconds=5)]
    assert (story["notice_given_seconds"], story["notice_used_seconds"]) == (900, 240)


def test_the_order_is_that_of_life(world: World) -> None:
    made = world.does("maintenances", type="Reboot", vms=["web-0"])
    world.look("web-1")
    world.approves("web-1", made)
    world.wait(5)
    entries = [each["what"].lower() for each in told(world, made)["entries"]]

    def first(word: str) -> int:
        return next(place for place, what in enumerate(entries) if word in what)

    places = [first(each) for each in ("announced", "approved", "started", "completed")]
    assert places == sorted(places)
    assert places[0] == 0
    assert places[-1] == len(entries) - 1


def test_whoever_approves_has_seen_it_before(world: World) -> None:
    made = world.does("maintenances", type="Reboot", vms=["web-0"])
    world.look("web-0")
    world.approves("web-1", made)
    whats = [each["what"] for each in told(world, made)["entries"]]
    (seen,) = [n for n, what in enumerate(whats) if what.startswith("seen by web-1")]
    (approved,) = [n for n, what in enumerate(whats) if "by web-1," in what]
    assert seen < approved


def test_nobody_approved(world: World) -> None:
    made = world.does("maintenances", type="Reboot", vms=["web-0"], notice_seconds=1200)
    world.wait(minutes=30)
    story = told(world, made)
    assert find(story, "approved by") == []
    assert find(story, "started") == [at(minutes=20)]
    assert (story["notice_given_seconds"], story["notice_used_seconds"]) == (1200, 1200)


def test_what_has_not_started_has_used_no_notice(world: World) -> None:
    made = world.does("maintenances", type="Redeploy", vms=["web-0"])
    world.wait(minutes=5)
    story = told(world, made)
    assert (story["notice_given_seconds"], story["notice_used_seconds"]) == (600, None)
    world.tells(made, "cancel")
    story = told(world, made)
    assert find(story, "canceled") == [at(minutes=5)]
    assert story["notice_used_seconds"] is None


def test_what_started_at_once_gave_no_notice(world: World) -> None:
    made = world.does("hosts/host-a/failed")
    world.wait(minutes=1)
    assert world.post("hosts/host-a/recovered", {"reason": "new fuse"}).status == 200
    story = told(world, made)
    assert (story["notice_given_seconds"], story["notice_used_seconds"]) == (0, 0)
    assert find(story, "started") == [at()]
    assert find(story, "completed") == [at(minutes=1)]


def test_one_that_is_held_is_told_so(worked: World) -> None:
    first = worked.does("maintenances", type="Reboot", vms=["web-0"])
    made = worked.does("maintenances", type="Reboot", vms=["web-1"])
    worked.wait(minutes=20)
    worked.tells(first, "complete")
    story = told(worked, made)
    assert find(story, "started") == [at(minutes=20)]
    assert (story["notice_given_seconds"], story["notice_used_seconds"]) == (900, 1200)


def test_who_has_moved_away_is_told_of(world: World) -> None:
    made = world.does("hosts/host-c/maintain", type="Reboot")
    world.wait(minutes=1)
    world.moves("FrontEnd_IN_0", host="host-d")
    story = told(world, made)
    assert find(story, "FrontEnd_IN_0", "left") == [at(minutes=1)]
    assert find(story, "withdrawn", "roles") == [at(minutes=1)]
