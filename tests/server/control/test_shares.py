"""Shares of connections: who gets a place, and who loses one."""

from dataclasses import dataclass, field

import pytest

from forewarn.server.control.http.shares import (
    ConnectionEnd,
    ConnectionPlaces,
    ConnectionShares,
    caller_network,
)

PLACES = ConnectionPlaces(total=16)  # 2 are reserved, an address may have 4


@dataclass(eq=False)
class FakeConnection:
    """A connection that notes whether it was dropped."""

    is_in_use: bool = False
    was_used: bool = False
    drops: list[str] = field(default_factory=list)

    def drop(self) -> None:
        self.drops.append("dropped")


def busy() -> FakeConnection:
    return FakeConnection(is_in_use=True, was_used=True)


def shares_with(
    *addresses: str, proxies: tuple[str, ...] = ()
) -> tuple[ConnectionShares, list[FakeConnection]]:
    """Return shares with one connection in use from each of `addresses`."""
    shares, connections = ConnectionShares(PLACES, proxies), []
    for address in addresses:
        connections.append(busy())
        assert shares.enter(connections[-1], address)
    return shares, connections


def test_an_address_cannot_use_more_than_its_share() -> None:
    shares, _ = shares_with(*["10.0.0.1"] * 4)
    assert not shares.enter(busy(), "10.0.0.1")
    assert shares.ended[ConnectionEnd.ADDRESS] == 1
    assert shares.enter(busy(), "10.0.0.2")


def test_an_ipv6_network_has_one_share() -> None:
    shares, _ = shares_with(*(f"2001:db8::{n}" for n in range(1, 5)))
    assert not shares.enter(busy(), "2001:db8::ffff")
    assert shares.enter(busy(), "2001:db8:0:1::1")


def test_loopback_has_reserved_places() -> None:
    shares, _ = shares_with(*(f"10.0.0.{n}" for n in range(14)))
    assert not shares.enter(busy(), "10.0.1.1")
    assert shares.ended[ConnectionEnd.TOTAL] == 1
    assert shares.enter(busy(), "127.0.0.1")
    assert shares.enter(busy(), "::1")
    assert not shares.enter(busy(), "127.0.0.1")
    assert shares.count == 16


def test_loopback_may_use_all_places() -> None:
    shares, _ = shares_with(*["127.0.0.1", "127.0.0.2"] * 8)
    assert not shares.enter(busy(), "127.0.0.3")


def test_strangers_do_not_replace_connections_in_the_reserved_places() -> None:
    shares = ConnectionShares(PLACES)
    kept = [FakeConnection(was_used=True) for _ in range(14)]
    for number, connection in enumerate(kept):
        assert shares.enter(connection, f"10.0.0.{number}")
    local = [FakeConnection(), FakeConnection()]
    for connection in local:
        assert shares.enter(connection, "127.0.0.1")
    assert shares.enter(FakeConnection(), "10.0.1.1")
    assert [connection.drops for connection in (*local, kept[0])] == [
        [],
        [],
        ["dropped"],
    ]


def test_a_trusted_proxy_may_use_all_places_that_are_not_reserved() -> None:
    shares, _ = shares_with(*["10.0.0.1"] * 14, proxies=("10.0.0.0/30", "::1/128"))
    assert not shares.enter(busy(), "10.0.0.1")
    assert shares.enter(busy(), "127.0.0.1")


def test_unused_connections_make_room_oldest_first() -> None:
    shares, _ = shares_with(*["127.0.0.1"] * 12)
    idle = [FakeConnection() for _ in range(4)]
    for connection in idle:
        assert shares.enter(connection, "127.0.0.1")
    assert shares.enter(FakeConnection(), "127.0.0.1")
    assert shares.enter(FakeConnection(), "127.0.0.1")
    assert [len(connection.drops) for connection in idle] == [1, 1, 0, 0]
    assert shares.ended[ConnectionEnd.REPLACED] == 2
    assert shares.count == 16


def test_a_connection_that_never_sent_a_request_is_replaced_first() -> None:
    shares = ConnectionShares(PLACES)
    kept, silent = FakeConnection(was_used=True), FakeConnection()
    for connection in (kept, silent, *(busy() for _ in range(14))):
        assert shares.enter(connection, "127.0.0.1")
    assert shares.enter(FakeConnection(), "127.0.0.1")
    assert (kept.drops, silent.drops) == ([], ["dropped"])


def test_the_address_with_most_connections_loses_one() -> None:
    shares = ConnectionShares(PLACES)
    modest = FakeConnection()
    assert shares.enter(modest, "10.0.0.9")
    greedy = [FakeConnection() for _ in range(13)]
    for number, connection in enumerate(greedy):
        assert shares.enter(connection, f"10.0.0.{number // 4}")
    assert shares.enter(FakeConnection(), "10.0.1.1")
    assert modest.drops == []
    assert sum(len(connection.drops) for connection in greedy) == 1


def test_an_address_beyond_its_share_replaces_only_its_own_connections() -> None:
    shares = ConnectionShares(PLACES)
    other = FakeConnection()  # the first to be replaced, if it were affected
    own = [FakeConnection(was_used=True) for _ in range(4)]
    assert shares.enter(other, "10.0.0.2")
    for connection in (*own, FakeConnection()):
        assert shares.enter(connection, "10.0.0.1")
    assert (other.drops, own[0].drops) == ([], ["dropped"])


def test_a_connection_that_left_frees_its_place_once() -> None:
    shares, connections = shares_with(*["10.0.0.1"] * 4)
    shares.leave(connections[0])
    shares.leave(connections[0])
    assert shares.enter(busy(), "10.0.0.1")
    assert not shares.enter(busy(), "10.0.0.1")


@pytest.mark.parametrize(
    ("address", "start"),
    [
        ("127.0.0.1", "there are 16 control plane connections"),
        ("10.0.0.1", "10.0.0.1 has 4 control plane connections"),
    ],
)
def test_a_reached_limit_is_logged_once_a_minute(
    address: str, start: str, caplog: pytest.LogCaptureFixture
) -> None:
    now = [0.0]
    shares = ConnectionShares(PLACES, monotonic=lambda: now[0])
    for _ in range(100):
        assert shares.enter(FakeConnection(), address)
    assert [message.startswith(start) for message in caplog.messages] == [True]
    now[0] = 60.0
    for _ in range(100):
        assert shares.enter(FakeConnection(), address)
    assert len(caplog.messages) == 2


@pytest.mark.parametrize(
    ("address", "caller"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8::5", "2001:db8::/64"),
        ("::5", "::/64"),
        ("::1", "::1"),
        ("<script>", "unknown"),
        ("", "unknown"),
    ],
)
def test_address_is_counted_for_its_caller(address: str, caller: str) -> None:
    assert caller_network(address) == caller
