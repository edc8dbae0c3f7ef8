"""An outage from 12:01 to 12:30: downtime does not count as notice."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.server.support.service import simulate_outage
from tests.stories.harness import NOON, ServiceHarness, a_harness, rfc3339
from tests.stories.rows import SCHEDULED, STARTED

MINUTE = timedelta(minutes=1)


@contextmanager
def a_durable_harness(folder: Path) -> Iterator[ServiceHarness]:
    """Start a service with a store that survives a restart."""
    with a_harness(folder, store=f"sqlite:///{folder / 'kept.db'}") as harness:
        yield harness


def announce_and_stop(folder: Path) -> Any:
    """Announce a Reboot at 12:00, with an outage from 12:01 to 12:30."""
    with a_durable_harness(folder) as harness:
        maintenance = harness.create("maintenances", type="Reboot", vms=["web-0"])
        harness.wait(minutes=1)
    simulate_outage(folder / "kept.db", 29 * MINUTE)
    return maintenance


def test_a_reboot_announced_at_12_00_starts_at_12_44(tmp_path: Path) -> None:
    maintenance = announce_and_stop(tmp_path)
    with a_durable_harness(tmp_path) as harness:
        assert harness.now == NOON + 30 * MINUTE
        (event,) = harness.events("web-0")
        assert event["EventStatus"] == "Scheduled"
        assert event["NotBefore"].endswith(" 12:15:00 GMT")

        harness.wait(13 * 60 + 59)
        assert harness.phase(maintenance) == SCHEDULED
        assert harness.events("web-0") == [event]
        harness.wait(1)
        assert harness.reload(maintenance)["started_at"] == rfc3339(NOON + 44 * MINUTE)


def test_an_approved_event_does_not_wait_for_the_lost_notice(tmp_path: Path) -> None:
    maintenance = announce_and_stop(tmp_path)
    with a_durable_harness(tmp_path) as harness:
        harness.approve("web-1", maintenance)
        assert harness.phase(maintenance) == STARTED
        assert harness.reload(maintenance)["started_at"] == rfc3339(NOON + 30 * MINUTE)


def test_the_lost_notice_is_explained(tmp_path: Path) -> None:
    maintenance = announce_and_stop(tmp_path)
    with a_durable_harness(tmp_path) as harness:
        explanation = harness.explanation(maintenance)
    assert (explanation["phase"], explanation["due"]) == (SCHEDULED, True)
    gates = [wait for wait in explanation["waits"] if wait["kind"] == "gate"]
    assert [wait["opens_at"] for wait in gates] == [rfc3339(NOON + 44 * MINUTE)]
    assert explanation["starts_at_latest"] == rfc3339(NOON + 44 * MINUTE)
    assert "web" in " ".join(explanation["sentences"])


def test_a_host_failure_completes_after_an_outage(tmp_path: Path) -> None:
    with a_durable_harness(tmp_path) as harness:
        dead = harness.create("hosts/host-a/failed", duration_seconds=600)
        harness.wait(minutes=1)
    simulate_outage(tmp_path / "kept.db", 29 * MINUTE)
    with a_durable_harness(tmp_path) as harness:
        harness.wait(1)
        assert harness.phase(dead) == "COMPLETED"
        assert harness.event_lines("web-0") == []
