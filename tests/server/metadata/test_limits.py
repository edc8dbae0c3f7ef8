"""Connection limits of the metadata plane: per VM and in total."""

import logging
import tracemalloc
from dataclasses import replace

import pytest
from tests.server.support.connections import ClientConnection, FakePlane
from tests.server.support.dialogs import a_request
from tests.server.support.handlers import EVENTS, HOUR, NOON, VMS, a_harness, shown

from forewarn.engine.readers.documents import DocumentUpdate
from forewarn.server.metadata.limits import (
    Admission,
    ConnectionLimits,
    MetadataLimit,
    RateLimit,
    Refusals,
    Stranger,
)

GET = a_request(EVENTS, "Metadata: true")
ADMITTED, REFUSED, DROPPED = Admission.ADMITTED, Admission.REFUSED, Admission.DROPPED
FULL = Admission.FULL

OTHER = "10.0.0.2"


def test_connection_over_the_vm_limit_gets_503() -> None:
    plane = FakePlane(per_vm=2)
    admitted = [ClientConnection(plane) for _ in range(2)]
    more = ClientConnection(plane)
    (response,) = more.responses
    assert response.status == 503
    assert response.header(b"retry-after") == b"1"
    assert response.header(b"connection") == b"close"
    assert b'"error"' in response.body
    assert more.socket.done == ["write_eof"]
    for line in admitted:
        line.send(GET)
        assert line.statuses == [200]


def test_refused_connection_is_closed_after_two_seconds() -> None:
    plane = FakePlane(per_vm=1)
    ClientConnection(plane)
    more = ClientConnection(plane)
    more.send(GET)
    more.wait(3)
    assert more.statuses == [503]
    assert more.socket.done[-1] == "abort"


def test_all_addresses_of_a_vm_count_together() -> None:
    plane = FakePlane(per_vm=1)
    lines = [ClientConnection(plane, peer) for peer in (OTHER, "fd00::2", "10.0.0.1")]
    assert [line.statuses for line in lines] == [[], [503], []]


@pytest.mark.parametrize(("is_open", "refused"), [(False, [503]), (True, [])])
def test_unknown_clients_are_limited_only_on_a_closed_plane(
    is_open: bool, refused: list[int]
) -> None:
    plane = FakePlane(a_harness(is_open=is_open), per_vm=1)
    peers = ("10.9.9.1", "10.9.9.1", "10.9.9.2")
    lines = [ClientConnection(plane, peer) for peer in peers]
    assert [line.statuses for line in lines] == [[], refused, []]


def test_closed_connection_makes_room_for_another() -> None:
    plane = FakePlane(per_vm=2)
    lines = [ClientConnection(plane) for _ in range(2)]
    for _ in range(10):
        assert ClientConnection(plane).statuses == [503]
        lines.pop(0).hang_up()
        lines.append(ClientConnection(plane))
        lines[-1].send(GET)
        assert lines[-1].statuses == [200]


def test_closing_a_refused_connection_makes_no_room() -> None:
    plane = FakePlane(per_vm=1)
    ClientConnection(plane)
    ClientConnection(plane).hang_up()
    assert ClientConnection(plane).statuses == [503]


def test_connection_counts_for_its_vm_at_arrival() -> None:
    plane = FakePlane(per_vm=1)
    line = ClientConnection(plane, "10.0.0.7")
    moved = replace(VMS[0], addresses=("10.0.0.7",))
    plane.change(DocumentUpdate(position=1, shown=[shown()], placed=[moved]))
    lines = [ClientConnection(plane, "10.0.0.7") for _ in range(2)]
    assert [new_line.statuses for new_line in lines] == [[], [503]]
    line.hang_up()
    assert ClientConnection(plane, "10.0.0.7").statuses == [503]


def test_connection_over_the_total_limit_is_dropped() -> None:
    plane = FakePlane(total=2)
    admitted = [ClientConnection(plane), ClientConnection(plane, OTHER)]
    more = ClientConnection(plane, "10.0.0.3")
    assert (more.socket.written, more.socket.done) == (b"", ["abort"])
    more.hang_up()
    admitted[0].hang_up()
    again = ClientConnection(plane, "10.0.0.3")
    assert again.socket.done == []


def test_flooding_client_takes_no_room_from_others() -> None:
    connections = ConnectionLimits(per_vm=1, total=200)
    connections.admit("a")
    flood = [connections.admit("a") for _ in range(1000)]
    assert flood.count(REFUSED) == 64
    assert flood.count(DROPPED) == 936
    assert [connections.admit(f"vm-{n}") for n in range(135)] == [ADMITTED] * 135


def test_client_that_stops_flooding_gets_503_again() -> None:
    connections = ConnectionLimits(per_vm=1, total=200)
    connections.admit("a")
    for _ in range(200):
        assert connections.admit("a") is REFUSED
        connections.release("a", REFUSED)


def test_closed_connections_use_no_memory() -> None:
    connections = ConnectionLimits(per_vm=1, total=200)
    tracemalloc.start()
    for number in range(10_000):
        connections.release(str(number), connections.admit(str(number)))
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 100_000


def test_count_is_correct_after_many_connections() -> None:
    connections = ConnectionLimits(per_vm=3, total=5)
    for _ in range(50):
        verdicts = [(who, connections.admit(who)) for who in ("a", None) * 8]
        assert [v for _, v in verdicts].count(ADMITTED) == 5
        for who, verdict in verdicts:
            connections.release(who, verdict)


@pytest.mark.parametrize("who", ["a", None])
def test_limit_is_logged_once_until_it_recovers(
    who: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    connections = ConnectionLimits(per_vm=4 if who else 99, total=99 if who else 4)

    def complaints() -> int:
        with caplog.at_level(logging.WARNING):
            refused = connections.admit(who)
        assert refused is not ADMITTED
        connections.release(who, refused)
        return len(caplog.records)

    for _ in range(4):
        connections.admit(who)
    assert [complaints(), complaints()] == [1, 1]
    connections.release(who, ADMITTED)
    connections.admit(who)
    assert complaints() == 1
    for _ in range(2):
        connections.release(who, ADMITTED)
    for _ in range(2):
        connections.admit(who)
    assert [complaints(), complaints()] == [2, 2]


# --- strangers ---------------------------------------------------------------


def test_all_strangers_share_an_eighth_of_the_connections() -> None:
    connections = ConnectionLimits(per_vm=4, total=800)
    flood = [
        (caller, connections.admit(caller))
        for number in range(200)
        for caller in [Stranger.at(f"10.9.9.{number}")] * 4
    ]
    assert [admission for _, admission in flood].count(ADMITTED) == 100
    assert [connections.admit(f"vm-{number}") for number in range(600)] == (
        [ADMITTED] * 600
    )
    connections.release(*flood[0])
    assert connections.admit(Stranger.at("10.9.8.1")) is ADMITTED
    assert connections.admit(Stranger.at("10.9.8.1")) is not ADMITTED


def test_strangers_have_at_most_1024_connections() -> None:
    connections = ConnectionLimits(per_vm=1, total=100_000)
    flood = [
        connections.admit(Stranger.at(f"10.{n >> 8}.{n & 255}.1")) for n in range(2000)
    ]
    assert flood.count(ADMITTED) == 1024


def test_addresses_of_one_ipv6_network_are_one_stranger() -> None:
    plane = FakePlane(per_vm=2)
    peers = ("fd00:9::1", "fd00:9::2", "fd00:9::ffff:0:1", "fd00:9:0:1::1")
    lines = [ClientConnection(plane, peer) for peer in peers]
    assert [line.statuses for line in lines] == [[], [], [503], []]


def test_refusal_names_who_has_too_many_connections() -> None:
    plane = FakePlane(per_vm=1)
    peers = ("10.0.0.1", "10.0.0.1", "10.9.9.1", "10.9.9.1")
    _, vm, _, stranger = [ClientConnection(plane, peer).socket for peer in peers]
    assert b"This VM has too many connections" in vm.written
    assert b"addresses that belong to no VM" in stranger.written


def test_strangers_take_turns_as_one_caller() -> None:
    plane = FakePlane()
    names = [
        ClientConnection(plane, peer).wire._turn_name
        for peer in ("10.9.9.1", "10.9.9.2", "fd00:9::1", "10.0.0.1")
    ]
    assert len(set(names[:3])) == 1
    assert names[3] == "web-0"


# --- refusals ----------------------------------------------------------------


def test_refused_connections_are_counted_for_their_vm() -> None:
    plane = FakePlane(per_vm=1, total=6)
    refusals = plane.handler.refusals
    for peer in ("10.0.0.1", "10.0.0.1", "10.9.9.1", "10.9.9.1", OTHER, "10.0.0.3"):
        ClientConnection(plane, peer)
    assert refusals.totals[MetadataLimit.CONNECTIONS] == 1
    assert refusals.totals[MetadataLimit.STRANGERS] == 1
    ClientConnection(plane, OTHER)  # there are 6, two of which are being refused
    assert refusals.totals[MetadataLimit.TOTAL_CONNECTIONS] == 1
    assert [vm.name for vm in refusals.recent(NOON)] == ["web-0"]


def test_refused_requests_are_counted_for_their_vm() -> None:
    harness = a_harness(rate=RateLimit(1, lambda: 0.0))
    for address in ("10.0.0.1", "10.0.0.1", "10.0.0.1", OTHER):
        harness.request(address=address)
    (limited,) = harness.handler.refusals.recent(NOON)
    assert (limited.name, limited.counts) == ("web-0", {MetadataLimit.REQUESTS: 2})
    ids = ",".join(f'{{"EventId":"E{number}"}}' for number in range(101))
    body = f'{{"StartRequests":[{ids}]}}'.encode()
    harness = a_harness()
    harness.request(method="POST", body=body)
    (limited,) = harness.handler.refusals.recent(NOON)
    assert limited.counts == {MetadataLimit.APPROVED_EVENTS: 1}


def test_limited_vms_are_listed_for_an_hour_latest_first() -> None:
    refusals = Refusals()
    refusals.add(MetadataLimit.REQUESTS, "web-0", NOON)
    refusals.add(MetadataLimit.APPROVALS, "web-1", NOON)
    refusals.add(MetadataLimit.APPROVALS, "web-0", NOON + HOUR)
    recent = refusals.recent(NOON + HOUR)
    assert [(vm.name, vm.refused) for vm in recent] == [("web-0", 2), ("web-1", 1)]
    refusals.add(MetadataLimit.REQUESTS, "web-1", NOON + 2 * HOUR)
    recent = refusals.recent(NOON + 2 * HOUR)
    assert [(vm.name, vm.refused) for vm in recent] == [("web-1", 1), ("web-0", 2)]
    assert refusals.recent(NOON + 4 * HOUR) == []


def test_a_bounded_number_of_limited_vms_is_remembered() -> None:
    refusals = Refusals()
    for number in range(1500):
        refusals.add(MetadataLimit.REQUESTS, f"vm-{number}", NOON)
    recent = refusals.recent(NOON)
    assert (len(recent), recent[0].name) == (1000, "vm-1499")
    assert refusals.totals[MetadataLimit.REQUESTS] == 1500
