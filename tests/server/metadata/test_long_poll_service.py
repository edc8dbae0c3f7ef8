"""Long polls in a complete service with a manual clock."""

import json
import time

from tests.server.support.dialogs import ParsedResponse
from tests.server.support.pollers import Poller
from tests.server.support.service import RunningService


def event_statuses(said: ParsedResponse) -> list[str]:
    """Return the status of each event of a document."""
    assert said.status == 200, said
    return [event["EventStatus"] for event in json.loads(said.body)["Events"]]


def test_announcement_ends_long_polls(service: RunningService) -> None:
    with Poller(service.metadata) as web_0, Poller(service.metadata, "web-1") as web_1:
        web_0.hold()
        web_1.hold()
        service.announce(vms=["web-2"])
        assert (
            event_statuses(web_0.answer())
            == event_statuses(web_1.answer())
            == ["Scheduled"]
        )


def test_each_step_of_an_advance_ends_long_polls(
    service: RunningService,
) -> None:
    service.announce(vms=["web-0"], duration_seconds=60)
    with Poller(service.metadata) as poller:
        tag = poller.hold()
        service.advance(15 * 60)
        started = poller.answer()
        assert event_statuses(started) == ["Started"]
        assert started.header(b"etag") != tag.encode()
        poller.hold()
        service.advance(24 * 60 * 60)
        assert event_statuses(poller.answer()) == []


def test_response_carries_the_time_of_the_change(service: RunningService) -> None:
    maintenance = service.announce(vms=["web-0"])
    with Poller(service.metadata) as poller:
        poller.hold()
        service.advance(3600)
        answer = poller.answer()
        assert event_statuses(answer) == ["Started"]
        dated = answer.header(b"date")
    assert dated is not None
    started = service.get(f"/v1/maintenances/{maintenance['id']}")["started_at"]
    response_time = time.strptime(dated.decode(), "%a, %d %b %Y %H:%M:%S %Z")
    assert time.strftime("%Y-%m-%dT%H:%M:%S", response_time) == started[:19]


def test_wait_is_real_time_whatever_the_clock(
    service: RunningService,
) -> None:
    with Poller(service.metadata) as poller:
        started = time.monotonic()
        poller.start_long_poll(1)
        service.advance(600)
        assert poller.answer().status == 304
        assert time.monotonic() - started >= 1


def test_waiters_block_no_other_request(service: RunningService) -> None:
    pollers = [Poller(service.metadata) for _ in range(600)]
    for poller in pollers:
        poller.hold()
    service.announce(vms=["db-0"])
    service.advance(24 * 60 * 60)
    assert service.as_vm("web-1").status == 200
    maintenance = service.announce(vms=["web-0"])
    assert service.approve_as("web-1", maintenance["events"][0]["id"]).status == 200
    for poller in pollers:
        with poller:
            assert poller.answer().status == 200
