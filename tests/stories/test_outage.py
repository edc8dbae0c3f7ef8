"""The story of a service that was down from 12:01 to 12:30."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.server.support.service import be_away
from tests.stories.rows import SCHEDULED, STARTED
from tests.stories.world import NOON, World, a_world, rfc3339

MINUTE = timedelta(minutes=1)


@contextmanager
def kept(folder: Path) -> Iterator[World]:
    """A world that remembers."""
    with a_world(folder, store=f"sqlite:///{folder / 'kept.db'}") as world:
        yield world


def away(folder: Path) -> Any:
    """Announce a Reboot at 12:00, and be away from 12:01 to 12:30."""
    with kept(folder) as world:
        made = world.does("maintenances", type="Reboot", vms=["web-0"])
        world.wait(minutes=1)
    be_away(folder / "kept.db", 29 * MINUTE)
    return made


def test_what_was_announced_at_12_00_starts_at_12_44(tmp_path: Path) -> None:
    made = away(tmp_path)
    with kept(tmp_path) as world:
        assert world.now == NOON + 30 * MINUTE
        (event,) = world.events("web-0")
        assert event["EventStatus"] == "Scheduled"
        assert event["NotBefore"].endswith(" 12:15:00 GMT")

        world.wait(13 * 60 + 59)
        assert world.phase(made) == SCHEDULED
        assert world.events("web-0") == [event]
        world.wait(1)
        assert world.again(made)["started_at"] == rfc3339(NOON + 44 * MINUTE)


def test_whoever_approves_need_not_wait_for_the_lost_notice(tmp_path: Path) -> None:
    made = away(tmp_path)
    with kept(tmp_path) as world:
        world.approves("web-1", made)
        assert world.phase(made) == STARTED
        assert world.again(made)["started_at"] == rfc3339(NOON + 30 * MINUTE)


def test_the_lost_notice_is_explained(tmp_path: Path) -> None:
    made = away(tmp_path)
    with kept(tmp_path) as world:
        told = world.explains(made)
    assert (told["phase"], told["due"]) == (SCHEDULED, True)
    gates = [each for each in told["waits"] if each["kind"] == "gate"]
    assert [each["opens_at"] for each in gates] == [rfc3339(NOON + 44 * MINUTE)]
    assert told["starts_at_latest"] == rfc3339(NOON + 44 * MINUTE)
    assert "web" in " ".join(told["sentences"])


def test_a_failed_host_is_told_of_after_an_outage_as_before(tmp_path: Path) -> None:
    with kept(tmp_path) as world:
        dead = world.does("hosts/host-a/failed", duration_seconds=600)
        world.wait(minutes=1)
    be_away(tmp_path / "kept.db", 29 * MINUTE)
    with kept(tmp_path) as world:
        world.wait(1)
        assert world.phase(dead) == "COMPLETED"
        assert world.sees("web-0") == []
