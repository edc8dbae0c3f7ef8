"""Long polls in a complete service with a manual clock."""

import json
import time
from collections.abc import Callable

from tests.server.conftest import Serve
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


def test_approval_ends_long_polls(service: RunningService) -> None:
    maintenance = service.announce(vms=["web-0"])
    with Poller(service.metadata) as poller:
        poller.hold()
        service.approve_as("web-1", maintenance["events"][0]["id"])
        assert event_statuses(poller.answer()) == ["Started"]


def test_events_of_other_groups_end_no_long_poll(service: RunningService) -> None:
    with Poller(service.metadata) as poller:
        poller.hold()
        service.announce(vms=["db-0"])
        service.announce(vms=["lone"])
        assert not poller.is_answered()
        service.announce(vms=["web-0"])
        assert event_statuses(poller.answer()) == ["Scheduled"]


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


def test_waiters_block_nobody(service: RunningService) -> None:
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


# --- enabling and recording --------------------------------------------------


def test_first_long_poll_enables_the_group(
    service: RunningService,
) -> None:
    with Poller(service.metadata, "lone") as poller:
        response = poller.request('If-None-Match: "none"', "Prefer: wait=30")
        assert (response.status, response.header(b"preference-applied")) == (
            200,
            b"wait=30",
        )
    assert len(service.facts("ListeningBegan")) == 1


def test_long_poll_keeps_the_group_enabled(service: RunningService) -> None:
    with Poller(service.metadata, "lone") as poller:
        poller.hold()
        service.advance(23 * 60 * 60)
        service.announce(vms=["lone"])
        assert poller.answer().status == 200
        service.advance(23 * 60 * 60)
        assert poller.request().status == 200
    assert len(service.facts("ListeningBegan")) == 1


def test_long_poll_across_a_day_enables_the_group_again(
    service: RunningService,
) -> None:
    with Poller(service.metadata, "lone") as poller:
        poller.start_long_poll(5)
        service.advance(25 * 60 * 60)
        assert poller.answer().status == 200
    assert len(service.facts("ListeningBegan")) == 2


def test_events_shown_by_long_polls_are_recorded(
    service: RunningService,
) -> None:
    with Poller(service.metadata, "web-1") as poller:
        poller.hold()
        maintenance = service.announce(vms=["web-0"])
        assert poller.answer().status == 200
    service.advance(1)
    (event,) = service.get(f"/v1/maintenances/{maintenance['id']}")["events"]
    assert event["seen_by"] == ["web-1"]


# --- a changing fleet --------------------------------------------------------


def changed(
    service: RunningService, change: Callable[[], object], vm: str = "web-0"
) -> ParsedResponse:
    """Hold a long poll as `vm` during a fleet change and return its response."""
    with Poller(service.metadata, vm) as poller:
        poller.hold()
        change()
        return poller.answer()


def test_moved_vm_gets_the_document_of_its_new_group(
    service: RunningService,
) -> None:
    service.announce(vms=["db-0"])
    body = {"group": "db", "update_domain": 1}
    response = changed(service, lambda: service.request("PUT", "/v1/vms/web-0", body))
    assert event_statuses(response) == ["Scheduled"]


def test_removed_vm_gets_404(service: RunningService) -> None:
    response = changed(service, lambda: service.request("DELETE", "/v1/vms/web-0"))
    assert response.status == 404


def test_vm_of_a_newly_isolated_group_gets_its_own_document(
    service: RunningService,
) -> None:
    service.announce(vms=["web-1"])
    body = {"kind": "availability-set", "listening": "always", "isolated": True}
    response = changed(service, lambda: service.request("PUT", "/v1/groups/web", body))
    assert event_statuses(response) == []


def test_change_that_leaves_the_document_alone_ends_no_long_poll(serve: Serve) -> None:
    service = serve()
    with Poller(service.metadata) as poller:
        poller.hold()
        assert service.request("PUT", "/v1/vms/more", {"group": "web"}).status < 300
        assert service.request("DELETE", "/v1/vms/more").status < 300
        assert not poller.is_answered()
        service.announce(vms=["web-0"])
        assert poller.answer().status == 200
