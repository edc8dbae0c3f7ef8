"""A service that was away: what VMs and operators see of it."""

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
    Reception,
    a_reception,
    shown,
)
from tests.server.support.service import RunningService, a_service, be_away
from tests.stores.builders import sqlite_store

from forewarn.core.lifecycle.facts import ListeningBegan
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
def kept(folder: Path) -> Iterator[RunningService]:
    """A service whose store is a file in `folder`."""
    with a_service(folder, store=f"sqlite:///{folder / STORE}") as service:
        yield service


def now(service: RunningService) -> str:
    return str(service.get("/v1/clock")["now"])


# --- in the handler ----------------------------------------------------------


def away(reception: Reception, since: timedelta, until: timedelta) -> None:
    """Tell the plane of an outage, between two times after noon."""
    outage = Outage(since=NOON + since, until=NOON + until)
    reception.handler.directory.update(DocumentUpdate(position=1, outages=[outage]))


def test_an_outage_makes_no_group_silent() -> None:
    reception = a_reception(shown(replace(QUIET, last_request=NOON)))
    away(reception, HOUR, 31 * HOUR)
    reception.set_clock(NOON + 31 * HOUR)
    answer = reception.ask(EVENTS, 'If-None-Match: "e0.0"', address="10.0.0.3")
    assert answer.status == 304


@pytest.mark.parametrize(("more", "waits"), [(-SECOND, False), (0 * SECOND, True)])
def test_24_hours_in_which_it_could_ask_make_a_group_silent(
    more: timedelta, waits: bool
) -> None:
    reception = a_reception(shown(replace(QUIET, last_request=NOON)))
    away(reception, HOUR, 31 * HOUR)
    away(reception, 40 * HOUR, 50 * HOUR)
    reception.set_clock(NOON + (24 + 30 + 10) * HOUR + more)
    answer = reception.send(address="10.0.0.3")
    assert isinstance(answer, EnableFirst) is waits


def test_a_vm_that_asks_first_after_the_clock_was_set_forward_keeps_its_tag() -> None:
    """Nobody has noticed the outage when it asks; its own request does."""
    store = sqlite_store(MEMORY)
    store.open()
    clock, directory = SystemTime(), Directory(is_open=True)
    engine = an_engine(store, clock)

    def hand_over(update: DocumentUpdate) -> None:
        directory.update(update)

    documents = Documents(store, hand_over)
    engine.after_commit = documents.catch_up
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
    again = handler.handle_again(request, b"", "127.0.0.1", may_wait=True)
    assert isinstance(again, bytes)
    (said,) = read(again, ["GET"])
    began = [e.fact for e in store.facts(0, 99) if isinstance(e.fact, ListeningBegan)]
    assert said.header(b"etag") == f'"{began[0].epoch}.0"'.encode()
    assert len(began) == 1
    store.close()


# --- with both planes --------------------------------------------------------


def test_after_30_hours_away_a_vm_goes_on_with_its_tag(tmp_path: Path) -> None:
    with kept(tmp_path) as service:
        service.as_vm("lone")
        service.announce(vms=["lone"], notice_seconds=7 * 24 * 3600)
        before = service.as_vm("lone")
    be_away(tmp_path / STORE, 30 * HOUR)
    with kept(tmp_path) as service:
        tag = before.headers["ETag"]
        assert service.as_vm("lone", If_None_Match=tag).status == 304
        assert service.as_vm("lone").body == before.body
        service.announce(vms=["lone"], notice_seconds=7 * 24 * 3600)
        assert service.document("lone")["DocumentIncarnation"] == 2
        assert len(service.facts("ListeningBegan")) == 1


def test_after_30_hours_away_a_day_of_silence_begins_anew(tmp_path: Path) -> None:
    with kept(tmp_path) as service:
        tag = service.as_vm("lone").headers["ETag"]
    be_away(tmp_path / STORE, 30 * HOUR)
    with kept(tmp_path) as service:
        service.advance(24 * 3600)
        assert service.as_vm("lone", If_None_Match=tag).status == 200
        assert len(service.facts("ListeningBegan")) == 2


def test_after_30_hours_away_a_user_still_gives_notice(tmp_path: Path) -> None:
    with kept(tmp_path) as service:
        service.as_vm("lone")
    be_away(tmp_path / STORE, 30 * HOUR)
    with kept(tmp_path) as service:
        made = service.announce(vms=["lone"], source="user")
        assert made["phase"] == "SCHEDULED"


def test_what_lost_its_notice_is_shown_as_before_until_it_starts(
    tmp_path: Path,
) -> None:
    with kept(tmp_path) as service:
        made = service.announce(vms=["web-0"])
        service.advance(60)
        before = service.as_vm("web-0")
    be_away(tmp_path / STORE, timedelta(minutes=29))
    with kept(tmp_path) as service:
        service.advance(14 * 60 - 1)
        after = service.as_vm("web-0")
        assert (after.body, after.headers["ETag"]) == (
            before.body,
            before.headers["ETag"],
        )
        service.advance(1)
        path = f"/v1/maintenances/{made['id']}"
        assert service.get(path)["started_at"] == now(service)
        (event,) = service.document("web-0")["Events"]
        assert event["EventStatus"] == "Started"


def test_the_journal_tells_of_an_outage(tmp_path: Path) -> None:
    with kept(tmp_path) as service:
        service.advance(60)
        since = now(service)
    be_away(tmp_path / STORE, HOUR)
    with kept(tmp_path) as service:
        (fact,) = service.facts("OutageEnded")
        until = now(service)
        assert fact == {
            "position": fact["position"],
            "at": until,
            "fact": "OutageEnded",
            "maintenance": None,
            "event": None,
            "group": None,
            "by": None,
            "via": None,
            "outage": {"since": since, "until": until},
        }


def test_an_outage_makes_no_group_silent_on_the_map(tmp_path: Path) -> None:
    def is_silent(service: RunningService) -> bool:
        groups = service.get("/v1/fleet/map")["groups"]
        (lone,) = [each for each in groups if each["name"] == "lone"]
        return bool(lone["is_silent"])

    with kept(tmp_path) as service:
        service.document("lone")
        service.advance(60)
    be_away(tmp_path / STORE, 30 * HOUR)
    with kept(tmp_path) as service:
        assert not is_silent(service)
        service.advance(24 * 3600)
        assert is_silent(service)


def test_a_restart_without_a_gap_is_not_told_of(tmp_path: Path) -> None:
    for _ in range(2):
        with kept(tmp_path) as service:
            service.advance(3600)
            assert service.facts("OutageEnded") == []
