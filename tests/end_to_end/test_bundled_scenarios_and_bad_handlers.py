"""Bundled scenarios: each one catches a faulty handler and reports the reason."""

import pytest
from tests.testing import clients
from tests.testing.support.inner_pytest import rehearse, shortened

from forewarn.testing.scenario import parser

#: The faulty handler that each scenario catches, and part of the reported reason.
CAUGHT = {
    "user-reboot": (clients.approves_everything, "neighbor was approved by web-0"),
    "user-redeploy": (clients.remembers_types, "but no approval of again"),
    "live-migration": (clients.knows_only_reboots, "but no approval"),
    "host-maintenance": (clients.stops_after_approving, "web-0 sent its last request"),
    "canceled-maintenance": (clients.waits_for_the_start, "ended with exit code 1"),
    "degraded-hardware": (clients.remembers_types, "but no approval of worse"),
    "host-failure": (clients.reads_every_date, "ended with exit code 1"),
    "spot-eviction": (clients.polls_once_a_minute, "batch_0 sent its last request"),
    "scale-in": (clients.approves_everything, "another was approved by workers_0"),
    "concurrent-events": (clients.looks_at_the_first_event, "but no approval"),
    "incarnation-restart": (clients.trusts_the_incarnation, "but no approval of after"),
    "outage": (clients.ends_when_refused, "ended with exit code 1"),
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
    played = rehearse(shortened(parser.load_scenario(name)), clients.command_of(fault))
    assert not played.has_passed
    assert reason in " ".join(result.reason or "" for result in played.failed)
