"""Agent with discovery: when it searches for the service, and which address it uses."""

import pytest

from forewarn.agent.discovery import DiscoveredService
from forewarn.client.responses import Instance, Reading
from forewarn.errors import (
    ClientClosed,
    ForewarnError,
    Misunderstood,
    Refused,
    Unreachable,
)
from forewarn.protocol.types import Document

OLD, NEW = "http://10.0.0.1", "http://10.0.0.2"
AWAY = Unreachable("nothing responds")


class OneService:
    """A client whose failure can be set; it records its requests."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.error: ForewarnError | None = None
        self.reads: list[tuple[str | None, float | None]] = []
        self.approved: list[str] = []
        self.is_closed = False

    def read(self, *, tag: str | None = None, wait: float | None = None) -> Reading:
        self.reads.append((tag, wait))
        self._fail()
        return Reading(document=Document(incarnation=1), tag='"1"', is_held=True)

    def instance(self) -> Instance:
        self._fail()
        return Instance(name="web-0")

    def approve(self, event: str) -> None:
        self._fail()
        self.approved.append(event)

    def close(self) -> None:
        self.is_closed = True

    def _fail(self) -> None:
        if self.is_closed:
            raise ClientClosed("closed")
        if self.error is not None:
            raise self.error


class Discovery:
    """A discovered service, what it finds, and a clock."""

    def __init__(self, *found: str | ForewarnError) -> None:
        self._found = [*found]
        self.searches = 0
        self.seconds = 0.0
        self.clients: dict[str, OneService] = {}
        self.service = DiscoveredService(
            self._search,
            self._connect,
            lost_after=30.0,
            monotonic=lambda: self.seconds,
        )

    def _search(self) -> str:
        self.searches += 1
        found = self._found.pop(0)
        if isinstance(found, ForewarnError):
            raise found
        return found

    def _connect(self, endpoint: str) -> OneService:
        self.clients[endpoint] = OneService(endpoint)
        return self.clients[endpoint]

    def fail_to_read(self) -> None:
        with pytest.raises(ForewarnError):
            self.service.read(tag='"1"', wait=15.0)


def test_the_first_read_searches_and_later_ones_do_not() -> None:
    discovery = Discovery(OLD)
    assert discovery.service.endpoint == ""
    assert discovery.service.instance().name == "web-0"
    discovery.service.read()
    assert (discovery.service.endpoint, discovery.searches) == (OLD, 1)


def test_a_failed_search_is_a_failed_read_and_is_repeated() -> None:
    discovery = Discovery(AWAY, OLD)
    with pytest.raises(Unreachable, match="nothing responds"):
        discovery.service.instance()
    with pytest.raises(Unreachable, match="has not been found yet"):
        discovery.service.approve("E0")
    assert discovery.service.instance().name == "web-0"
    discovery.service.approve("E0")
    assert discovery.clients[OLD].approved == ["E0"]


@pytest.mark.parametrize(
    "error", [AWAY, Misunderstood("a web page"), Refused("no such VM", 404)]
)
def test_a_lost_address_is_replaced(error: ForewarnError) -> None:
    discovery = Discovery(OLD, NEW)
    discovery.service.read()
    discovery.clients[OLD].error = error
    discovery.fail_to_read()
    discovery.seconds += 29
    discovery.fail_to_read()
    assert discovery.searches == 1
    discovery.seconds += 1
    discovery.service.read(tag='"1"', wait=15.0)
    assert discovery.service.endpoint == NEW
    assert discovery.clients[OLD].is_closed
    assert discovery.clients[NEW].reads == [(None, None)]  # tags of another service
    discovery.service.read(tag='"2"', wait=15.0)
    assert discovery.clients[NEW].reads[1:] == [('"2"', 15.0)]


def test_a_short_outage_starts_no_search() -> None:
    discovery = Discovery(OLD)
    discovery.service.read()
    for _ in range(3):
        discovery.clients[OLD].error = AWAY
        discovery.fail_to_read()
        discovery.seconds += 29
        discovery.fail_to_read()
        discovery.clients[OLD].error = None
        discovery.service.read()
    assert discovery.searches == 1


@pytest.mark.parametrize("status", [400, 429, 500, 503])
def test_a_service_that_refuses_is_not_lost(status: int) -> None:
    discovery = Discovery(OLD)
    discovery.service.read()
    discovery.clients[OLD].error = Refused("not now", status)
    discovery.fail_to_read()
    discovery.seconds += 3600
    discovery.fail_to_read()
    assert discovery.searches == 1


def test_the_old_address_stays_in_use_if_no_other_is_found() -> None:
    discovery = Discovery(OLD, AWAY)
    discovery.service.read()
    discovery.clients[OLD].error = AWAY
    discovery.fail_to_read()
    discovery.seconds += 30
    discovery.fail_to_read()  # searches
    discovery.fail_to_read()  # tries the old one again
    discovery.seconds += 29
    discovery.fail_to_read()
    assert (discovery.searches, discovery.service.endpoint) == (2, OLD)
    discovery.clients[OLD].error = None
    discovery.service.read(tag='"1"', wait=15.0)
    assert discovery.clients[OLD].reads[-1] == ('"1"', 15.0)


def test_an_address_that_is_found_again_keeps_its_client() -> None:
    discovery = Discovery(OLD, OLD)
    discovery.service.read()
    first = discovery.clients[OLD]
    first.error = AWAY
    discovery.fail_to_read()
    discovery.seconds += 30
    first.error = None
    discovery.service.read()
    assert discovery.searches == 2
    assert discovery.clients[OLD] is first
    assert not first.is_closed


def test_an_approval_during_a_change_of_address_can_be_retried() -> None:
    discovery = Discovery(OLD)
    discovery.service.read()
    discovery.clients[OLD].is_closed = True  # replaced by the poller's thread
    with pytest.raises(Unreachable, match="new address"):
        discovery.service.approve("E0")


def test_a_closed_service_searches_in_vain() -> None:
    discovery = Discovery(OLD)
    discovery.service.close()
    with pytest.raises(ClientClosed):
        discovery.service.read()
    assert discovery.clients == {}
