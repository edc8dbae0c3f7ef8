"""Bundled scenarios: each one catches a faulty handler and reports the reason."""

import pytest
from tests.testing.support.inner_pytest import a_handler, rehearse, shortened

from forewarn.testing.scenario import parser

#: The faulty handler that each scenario catches, and part of the reported reason.
CAUGHT = {
    "user-reboot": ("approves_everything", "neighbour was approved by web-0"),
    "user-redeploy": ("remembers_types", "posted no approval of again"),
    "live-migration": ("knows_only_reboots", "posted no approval"),
    "host-maintenance": ("stops_after_approving", "web-0 asked last"),
    "canceled-maintenance": ("waits_for_the_start", "ended with exit code 1"),
    "degraded-hardware": ("remembers_types", "posted no approval of worse"),
    "host-failure": ("reads_every_date", "ended with exit code 1"),
    "spot-eviction": ("asks_once_a_minute", "batch_0 asked last"),
    "scale-in": ("approves_everything", "another was approved by workers_0"),
    "concurrent-events": ("looks_at_the_first_event", "posted no approval"),
    "silence": ("trusts_the_incarnation", "posted no approval of after"),
    "outage": ("ends_when_refused", "ended with exit code 1"),
}

#: Two quick scenarios; the others run only in the full lane.
USUAL = ("scale-in", "outage")


def test_every_bundled_scenario_has_a_faulty_handler() -> None:
    assert sorted(CAUGHT) == [*parser.bundled_names()]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in USUAL else pytest.mark.full)
        for name in CAUGHT
    ],
)
def test_a_faulty_handler_fails(name: str) -> None:
    fault, reason = CAUGHT[name]
    played = rehearse(
        shortened(parser.load_scenario(name)), a_handler(f"bad_handlers.{fault}")
    )
    assert not played.has_passed
    assert reason in " ".join(result.reason or "" for result in played.failed)
