"""Held requests in a whole service whose clock is moved by hand."""

import json
import time
from collections.abc import Callable

from tests.server.conftest import Serve
from tests.server.support.dialogs import Said
from tests.server.support.pollers import Poller
from tests.server.support.service import RunningService


def shown_by(said: Said) -> list[str]:
    """The states of the events of a document."""
    assert said.status == 200, said
    return [each["EventStatus"] for each in json.loads(said.body)["Events"]]


def test_an_announcement_answers_those_who_wait(service: RunningService) -> None:
    with Poller(service.metadata) as zero, Poller(service.metadata, "web-1") as one:
        zero.hold()
        one.hold()
        service.announce(vms=["web-2"])
        assert shown_by(zero.answer()) == shown_by(one.answer()) == ["Scheduled"]


def test_an_approval_answers_those_who_wait(service: RunningService) -> None:
    made = service.announce(vms=["web-0"])
    with Poller(service.metadata) as poller:
        poller.hold()
        service.approve_as("web-1", made["events"][0]["id"])
        assert shown_by(poller.answer()) == ["Started"]


def test_another_groups_events_answer_nobody(service: RunningService) -> None:
    with Poller(service.metadata) as poller:
        poller.hold()
        service.announce(vms=["db-0"])
        service.announce(vms=["lone"])
        assert not poller.is_answered()
        service.announce(vms=["web-0"])
        assert shown_by(poller.answer()) == ["Scheduled"]


def test_each_step_of_an_advance_answers_those_who_wait(
    service: RunningService,
) -> None:
    service.announce(vms=["web-0"], duration_seconds=60)
    with Poller(service.metadata) as poller:
        tag = poller.hold()
        service.advance(15 * 60)
        started = poller.answer()
        assert shown_by(started) == ["Started"]
        assert started.header(b"etag") != tag.encode()
        poller.hold()
        service.advance(24 * 60 * 60)
        assert shown_by(poller.answer()) == []


def test_whoever_waits_is_told_the_time_of_the_change(service: RunningService) -> None:
    made = service.announce(vms=["web-0"])
    with Poller(service.metadata) as poller:
        poller.hold()
        service.advance(3600)
        answer = poller.answer()
        assert shown_by(answer) == ["Started"]
        dated = answer.header(b"date")
    assert dated is not None
    started = service.get(f"/v1/maintenances/{made['id']}")["started_at"]
    told = time.strptime(dated.decode(), "%a, %d %b %Y %H:%M:%S %Z")
    assert time.strftime("%Y-%m-%dT%H:%M:%S", told) == started[:19]


def test_a_wait_is_real_time_though_the_clock_stands_or_leaps(
    service: RunningService,
) -> None:
    with Poller(service.metadata) as poller:
        begun = time.monotonic()
        poller.hold(wait=1)
        service.advance(600)
        assert poller.answer().status == 304
        assert time.monotonic() - begun >= 1


def test_those_who_wait_block_nobody(service: RunningService) -> None:
    pollers = [Poller(service.metadata) for _ in range(600)]
    for poller in pollers:
        poller.hold()
    service.announce(vms=["db-0"])
    service.advance(24 * 60 * 60)
    assert service.as_vm("web-1").status == 200
    made = service.announce(vms=["web-0"])
    assert service.approve_as("web-1", made["events"][0]["id"]).status == 200
    for poller in pollers:
        with poller:
            assert poller.answer().status == 200


# --- who asks ----------------------------------------------------------------


def test_a_first_request_that_would_wait_begins_the_listening(
    service: RunningService,
) -> None:
    with Poller(service.metadata, "lone") as poller:
        said = poller.ask('If-None-Match: "none"', "Prefer: wait=30")
        assert (said.status, said.header(b"preference-applied")) == (200, b"wait=30")
    assert len(service.facts("ListeningBegan")) == 1


def test_a_held_request_puts_the_silence_off(service: RunningService) -> None:
    with Poller(service.metadata, "lone") as poller:
        poller.hold()
        service.advance(23 * 60 * 60)
        service.announce(vms=["lone"])
        assert poller.answer().status == 200
        service.advance(23 * 60 * 60)
        assert poller.ask().status == 200
    assert len(service.facts("ListeningBegan")) == 1


def test_whoever_waits_through_a_day_of_silence_is_answered_anew(
    service: RunningService,
) -> None:
    with Poller(service.metadata, "lone") as poller:
        poller.hold(wait=3)
        service.advance(25 * 60 * 60)
        assert poller.answer().status == 200
    assert len(service.facts("ListeningBegan")) == 2


def test_what_those_who_waited_were_shown_is_written_down(
    service: RunningService,
) -> None:
    with Poller(service.metadata, "web-1") as poller:
        poller.hold()
        made = service.announce(vms=["web-0"])
        assert poller.answer().status == 200
    service.advance(1)
    (event,) = service.get(f"/v1/maintenances/{made['id']}")["events"]
    assert event["seen_by"] == ["web-1"]


# --- a changing fleet --------------------------------------------------------


def changed(
    service: RunningService, change: Callable[[], object], vm: str = "web-0"
) -> Said:
    """Wait as `vm` while the fleet is changed."""
    with Poller(service.metadata, vm) as poller:
        poller.hold()
        change()
        return poller.answer()


def test_a_vm_that_is_moved_is_answered_for_its_new_group(
    service: RunningService,
) -> None:
    service.announce(vms=["db-0"])
    body = {"group": "db", "update_domain": 1}
    said = changed(service, lambda: service.ask("PUT", "/v1/vms/web-0", body))
    assert shown_by(said) == ["Scheduled"]


def test_a_vm_that_is_removed_is_answered_404(service: RunningService) -> None:
    said = changed(service, lambda: service.ask("DELETE", "/v1/vms/web-0"))
    assert said.status == 404


def test_a_group_that_is_isolated_is_answered_anew(service: RunningService) -> None:
    service.announce(vms=["web-1"])
    body = {"kind": "availability-set", "listening": "always", "isolated": True}
    said = changed(service, lambda: service.ask("PUT", "/v1/groups/web", body))
    assert shown_by(said) == []


def test_a_fleet_that_is_applied_as_it_is_answers_nobody(serve: Serve) -> None:
    service = serve()
    with Poller(service.metadata) as poller:
        poller.hold()
        assert service.ask("PUT", "/v1/vms/more", {"group": "web"}).status < 300
        assert service.ask("DELETE", "/v1/vms/more").status < 300
        assert not poller.is_answered()
        service.announce(vms=["web-0"])
        assert poller.answer().status == 200
