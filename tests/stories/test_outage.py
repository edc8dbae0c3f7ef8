"""An outage from 12:01 to 12:30: downtime does not count as notice."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.server.support.service import be_away
from tests.stories.rows import SCHEDULED, STARTED
from tests.stories.world import NOON, ServiceHarness, a_world, rfc3339

MINUTE = timedelta(minutes=1)


@contextmanager
def kept(folder: Path) -> Iterator[ServiceHarness]:
    """Start a world with a store that survives a restart."""
    with a_world(folder, store=f"sqlite:///{folder / 'kept.db'}") as world:
        yield world


def away(folder: Path) -> Any:
    """Announce a Reboot at 12:00, with an outage from 12:01 to 12:30."""
    with kept(folder) as world:
        maintenance = world.does("maintenances", type="Reboot", vms=["web-0"])
        world.wait(minutes=1)
    be_away(folder / "kept.db", 29 * MINUTE)
    return maintenance


def test_a_reboot_announced_at_12_00_starts_at_12_44(tmp_path: Path) -> None:
    maintenance = away(tmp_path)
    with kept(tmp_path) as world:
        assert world.now == NOON + 30 * MINUTE
        (event,) = world.events("web-0")
        assert event["EventStatus"] == "Scheduled"
        assert event["NotBefore"].endswith(" 12:15:00 GMT")

        world.wait(13 * 60 + 59)
        assert world.phase(maintenance) == SCHEDULED
        assert world.events("web-0") == [event]
        world.wait(1)
        assert world.again(maintenance)["started_at"] == rfc3339(NOON + 44 * MINUTE)


def test_an_approved_event_does_not_wait_for_the_lost_notice(tmp_path: Path) -> None:
    maintenance = away(tmp_path)
    with kept(tmp_path) as world:
        world.approves("web-1", maintenance)
        assert world.phase(maintenance) == STARTED
        assert world.again(maintenance)["started_at"] == rfc3339(NOON + 30 * MINUTE)


def test_the_lost_notice_is_explained(tmp_path: Path) -> None:
    maintenance = away(tmp_path)
    with kept(tmp_path) as world:
        explanation = world.explains(maintenance)
    assert (explanation["phase"], explanation["due"]) == (SCHEDULED, True)
    gates = [wait for wait in explanation["waits"] if wait["kind"] == "gate"]
    assert [wait["opens_at"] for wait in gates] == [rfc3339(NOON + 44 * MINUTE)]
    assert explanation["starts_at_latest"] == rfc3339(NOON + 44 * MINUTE)
    assert "web" in " ".join(explanation["sentences"])


def test_a_host_failure_completes_after_an_outage(tmp_path: Path) -> None:
    with kept(tmp_path) as world:
        dead = world.does("hosts/host-a/failed", duration_seconds=600)
        world.wait(minutes=1)
    be_away(tmp_path / "kept.db", 29 * MINUTE)
    with kept(tmp_path) as world:
        world.wait(1)
        assert world.phase(dead) == "COMPLETED"
        assert world.sees("web-0") == []
