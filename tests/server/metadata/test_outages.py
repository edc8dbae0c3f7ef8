"""Service outages as VMs and operators see them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.engine.support.system_time import SystemTime, an_engine
from tests.server.support.dialogs import a_request, read
from tests.server.support.handlers import (
    EVENTS,
    HOUR,
    NOON,
    QUIET,
    SECOND,
    HandlerHarness,
    a_harness,
    shown,
)
from tests.server.support.service import RunningService, a_service, simulate_outage
from tests.stores.builders import sqlite_store

from forewarn.core.lifecycle.facts import Enabled
from forewarn.core.outages import Outage
from forewarn.engine.observations import PendingObservations
from forewarn.engine.readers.documents import Documents, DocumentUpdate
from forewarn.server.metadata.directory import Directory
from forewarn.server.metadata.handler import EnableFirst, MetadataHandler
from forewarn.server.metadata.transport.requests import parse_head
from forewarn.server.metadata.transport.responses import ResponseHead
from forewarn.stores.sqlite import MEMORY

STORE = "kept.db"


@contextmanager
def a_durable_service(folder: Path) -> Iterator[RunningService]:
    """Run a service whose store is a file in `folder`."""
    with a_service(folder, store=f"sqlite:///{folder / STORE}") as service:
        yield service


def now(service: RunningService) -> str:
    return str(service.get("/v1/clock")["now"])


# --- metadata handler --------------------------------------------------------


def report_outage(harness: HandlerHarness, since: timedelta, until: timedelta) -> None:
    """Report an outage between two times after noon to the plane."""
    outage = Outage(since=NOON + since, until=NOON + until)
    harness.handler.directory.update(DocumentUpdate(position=1, outages=[outage]))


def test_outage_disables_no_group() -> None:
    harness = a_harness(shown(replace(QUIET, last_request=NOON)))
    report_outage(harness, HOUR, 31 * HOUR)
    harness.set_clock(NOON + 31 * HOUR)
    answer = harness.request(EVENTS, 'If-None-Match: "e0.0"', address="10.0.0.3")
    assert answer.status == 304


@pytest.mark.parametrize(("more", "waits"), [(-SECOND, False), (0 * SECOND, True)])
def test_group_is_disabled_after_24_hours_outside_outages(
    more: timedelta, waits: bool
) -> None:
    harness = a_harness(shown(replace(QUIET, last_request=NOON)))
    report_outage(harness, HOUR, 31 * HOUR)
    report_outage(harness, 40 * HOUR, 50 * HOUR)
    harness.set_clock(NOON + (24 + 30 + 10) * HOUR + more)
    answer = harness.send(address="10.0.0.3")
    assert isinstance(answer, EnableFirst) is waits


def test_vm_keeps_its_etag_if_its_request_reveals_the_outage() -> None:
    """The outage is detected only by the VM's own request."""
    store = sqlite_store(MEMORY)
    store.open()
    clock, directory = SystemTime(), Directory(is_open=True)

    def hand_over(update: DocumentUpdate) -> None:
        directory.update(update)

    documents = Documents(store, hand_over)
    engine = an_engine(store, clock)
    engine.listen(["web"])
    documents.open()
    clock.run(30 * HOUR)
    handler = MetadataHandler(
        directory, PendingObservations(), ResponseHead(clock.now(), clock.name)
    )
    request = parse_head(a_request(f"/vm/web-0{EVENTS}", "Metadata: true"))
    answer = handler.handle(request, b"", "127.0.0.1")
    assert isinstance(answer, EnableFirst)
    engine.listen([answer.group])
    documents.catch_up()
    again = handler.handle_again(request, b"", "127.0.0.1", may_wait=True)
    assert isinstance(again, bytes)
    (response,) = read(again, ["GET"])
    enabled = [e.fact for e in store.facts(0, 99) if isinstance(e.fact, Enabled)]
    assert response.header(b"etag") == f'"{enabled[0].epoch}.0"'.encode()
    assert len(enabled) == 1
    store.close()


# --- whole service -----------------------------------------------------------


def test_vm_keeps_its_etag_after_an_outage_of_30_hours(tmp_path: Path) -> None:
    with a_durable_service(tmp_path) as service:
        service.as_vm("lone")
        service.announce(vms=["lone"], notice_seconds=7 * 24 * 3600)
        before = service.as_vm("lone")
    simulate_outage(tmp_path / STORE, 30 * HOUR)
    with a_durable_service(tmp_path) as service:
        tag = before.headers["ETag"]
        assert service.as_vm("lone", If_None_Match=tag).status == 304
        assert service.as_vm("lone").body == before.body
        service.announce(vms=["lone"], notice_seconds=7 * 24 * 3600)
        assert service.document("lone")["DocumentIncarnation"] == 2
        assert len(service.facts("Enabled")) == 1


def test_event_that_lost_notice_is_shown_unchanged_until_it_starts(
    tmp_path: Path,
) -> None:
    with a_durable_service(tmp_path) as service:
        maintenance = service.announce(vms=["web-0"])
        service.advance(60)
        before = service.as_vm("web-0")
    simulate_outage(tmp_path / STORE, timedelta(minutes=29))
    with a_durable_service(tmp_path) as service:
        service.advance(14 * 60 - 1)
        after = service.as_vm("web-0")
        assert (after.body, after.headers["ETag"]) == (
            before.body,
            before.headers["ETag"],
        )
        service.advance(1)
        path = f"/v1/maintenances/{maintenance['id']}"
        assert service.get(path)["started_at"] == now(service)
        (event,) = service.document("web-0")["Events"]
        assert event["EventStatus"] == "Started"


def test_outage_is_recorded_in_the_journal(tmp_path: Path) -> None:
    with a_durable_service(tmp_path) as service:
        service.advance(60)
        since = now(service)
    simulate_outage(tmp_path / STORE, HOUR)
    with a_durable_service(tmp_path) as service:
        (fact,) = service.facts("OutageEnded")
        until = now(service)
        assert fact == {
            "position": fact["position"],
            "at": until,
            "fact": "OutageEnded",
            "text": fact["text"],
            "maintenance": None,
            "event": None,
            "group": None,
            "by": None,
            "via": None,
            "outage": {"since": since, "until": until},
        }


def test_outage_disables_no_group_on_the_map(tmp_path: Path) -> None:
    def is_disabled(service: RunningService) -> bool:
        groups = service.get("/v1/fleet/map")["groups"]
        (lone,) = [group for group in groups if group["name"] == "lone"]
        return bool(lone["is_disabled"])

    with a_durable_service(tmp_path) as service:
        service.document("lone")
        service.advance(60)
    simulate_outage(tmp_path / STORE, 30 * HOUR)
    with a_durable_service(tmp_path) as service:
        assert not is_disabled(service)
        service.advance(24 * 3600)
        assert is_disabled(service)
