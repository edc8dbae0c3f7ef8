"""Discovery: where the client looks for the service, and in which order."""

from collections.abc import Mapping

import pytest
from tests.client.support.service import EMPTY, a_service, respond

from forewarn.client import Client, discovery
from forewarn.client import client as client_module
from forewarn.client.client import discover_endpoint
from forewarn.client.discovery import find, query_dhcp
from forewarn.client.endpoint import Endpoint
from forewarn.errors import InvalidInput, Unreachable


def discover(
    there: str, environment: Mapping[str, str] | None = None
) -> tuple[str | None, list[str]]:
    """Look for a service at `there`; return the endpoint found and the attempts."""
    tried: list[str] = []

    def answers(where: Endpoint) -> bool:
        tried.append(str(where))
        return str(where) == there

    def ask() -> str:
        tried.append("DHCP")
        return "10.0.0.3"

    try:
        return str(find(environment or {}, answers, ask)), tried
    except Unreachable:
        return None, tried


def test_the_well_known_address_comes_first() -> None:
    usual = "http://169.254.169.254"
    assert discover(usual, {"SCHEDULEDEVENTSIP": "10.0.0.2"}) == (usual, [usual])


def test_a_stored_address_is_tried_before_dhcp_on_both_ports() -> None:
    kept = {"SCHEDULEDEVENTSIP": "10.0.0.2"}
    endpoint, tried = discover("http://10.0.0.2:8080", kept)
    assert endpoint == "http://10.0.0.2:8080"
    assert tried[1:] == ["http://10.0.0.2", "http://10.0.0.2:8080"]


def test_dhcp_is_the_last_resort() -> None:
    endpoint, tried = discover("http://10.0.0.3:8080")
    assert endpoint == "http://10.0.0.3:8080"
    assert tried[1:] == ["DHCP", "http://10.0.0.3", "http://10.0.0.3:8080"]


def test_a_failed_discovery_lists_all_attempts() -> None:
    with pytest.raises(Unreachable, match=r"254, http://10\.0\.0\.3, "):
        find({}, lambda _: False, lambda: "10.0.0.3")


def test_an_invalid_stored_address_is_refused() -> None:
    with pytest.raises(InvalidInput, match="SCHEDULEDEVENTSIP"):
        discover("", {"SCHEDULEDEVENTSIP": "a b"})


@pytest.mark.parametrize("card", ["../lo", "nosuchcard0", "c" * 99, "lo"])
def test_an_invalid_network_card_is_refused(card: str) -> None:
    with pytest.raises(Unreachable, match=card):
        query_dhcp(card, 0.1)


def test_a_given_endpoint_overrides_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FOREWARN_ENDPOINT", "http://b")
    assert Client.discover("http://a").endpoint == "http://a"


def test_discovery_reports_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def query(interface: str | None, seconds: float) -> str:
        assert (interface, seconds) == (None, 3)
        return "10.0.0.3"

    monkeypatch.setattr(discovery, "query_dhcp", query)
    monkeypatch.setattr(
        client_module, "_responds", lambda candidate, **_: candidate.port == 8080
    )
    monkeypatch.setenv("FOREWARN_ENDPOINT", "http://ignored")
    monkeypatch.delenv("SCHEDULEDEVENTSIP", raising=False)
    steps: list[str] = []
    assert discover_endpoint(steps.append, dhcp_timeout=3) == "http://10.0.0.3:8080"
    assert steps == [
        "trying http://169.254.169.254",
        "requesting the address via DHCP, for up to 3 s",
        "trying http://10.0.0.3",
        "trying http://10.0.0.3:8080",
        "found the metadata service at http://10.0.0.3:8080",
    ]


def test_discover_returns_a_client_of_the_configured_endpoint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with a_service(respond(EMPTY)) as service:
        monkeypatch.setenv("FOREWARN_ENDPOINT", service.url)
        with Client.discover(patience=0, timeout=3) as client:
            assert client.endpoint == service.url
        assert service.connections == 0
