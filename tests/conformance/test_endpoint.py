"""The endpoint: methods, paths and parameters (1)."""

import secrets
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from tests.conformance.facts import fact
from tests.conformance.raw_connection import ReceivedResponse
from tests.conformance.target import Serve, Settings
from tests.conformance.temporary_fleet import TemporaryFleet
from tests.conformance.vm import EVENTS, NEWEST, VM, approval, events

OTHERS = ("PUT", "PATCH", "DELETE", "OPTIONS")


@fact("1.1a")
def test_the_document_is_at_metadata_scheduledevents(vm: VM) -> None:
    response = vm.send(f"/metadata/scheduledevents?api-version={NEWEST}")
    assert response.status == 200
    assert {"DocumentIncarnation", "Events"} <= response.json.keys()


@fact("1.1c")
def test_responses_are_http_1_1(vm: VM) -> None:
    assert vm.get().protocol == "HTTP/1.1"


@fact("1.2a")
def test_get_reads_and_post_approves(vm: VM) -> None:
    assert vm.get().status == 200
    refused = vm.post(b'{"StartRequests":[]}')
    assert refused.status == 400, (
        "expected an error about the body, not about the method"
    )


@fact("1.2b")
@pytest.mark.parametrize("method", OTHERS)
def test_any_other_method_is_not_allowed(any_method_vm: VM, method: str) -> None:
    assert any_method_vm.send(events(NEWEST), method=method).status == 405


@fact("1.2c")
def test_a_head_without_the_header_is_a_bad_request(any_method_vm: VM) -> None:
    assert any_method_vm.send(events(NEWEST), method="HEAD", marked=False).status == 400


@fact("1.2e")
@pytest.mark.parametrize("method", OTHERS)
def test_a_405_response_lists_the_allowed_methods(
    any_method_vm: VM, method: str
) -> None:
    response = any_method_vm.send(events(NEWEST), method=method)
    assert response.header("Allow") == "GET, POST"
    assert response.error


@fact("1.2e")
def test_head_is_not_allowed_and_returns_no_body(any_method_vm: VM) -> None:
    response = any_method_vm.send(events(NEWEST), method="HEAD")
    assert (response.status, response.header("Allow")) == (405, "GET, POST")
    assert response.body == b""


@fact("1.3a")
@pytest.mark.parametrize(
    "path", ["/metadata/scheduledEvents", "/Metadata/ScheduledEvents"]
)
def test_the_path_is_case_insensitive(vm: VM, path: str) -> None:
    assert vm.send(f"{path}?api-version={NEWEST}").status == 200


@fact("1.3b")
def test_a_trailing_slash_is_ignored(vm: VM) -> None:
    response = vm.send(f"{EVENTS}/?api-version={NEWEST}")
    assert (response.status, response.body) == (200, vm.get().body)


@fact("1.3c")
def test_an_escaped_question_mark_separates_the_query(vm: VM) -> None:
    assert vm.send(f"{EVENTS}%3Fapi-version={NEWEST}").status == 200


@fact("1.4a")
@pytest.mark.parametrize(
    "query",
    [
        f"api-version={NEWEST}&api-version={NEWEST}",
        f"api-version={NEWEST}&api-version=2019-08-01",
        f"api-version={NEWEST}&format=json&format=json",
    ],
)
def test_a_repeated_parameter_is_rejected(vm: VM, query: str) -> None:
    assert vm.send(f"{EVENTS}?{query}").status == 400


@fact("1.4b")
@pytest.mark.parametrize(
    "query", [f"api-version={NEWEST}&extended=true", f"x=1&y=&api-version={NEWEST}"]
)
def test_unknown_parameters_are_ignored(vm: VM, query: str) -> None:
    assert vm.send(f"{EVENTS}?{query}").status == 200


@fact("1.4c")
@pytest.mark.parametrize("form", ["json", "text"])
def test_the_format_parameter_is_ignored(vm: VM, form: str) -> None:
    response = vm.send(f"{events(NEWEST)}&format={form}")
    assert response.status == 200
    assert response.header("Content-Type") == "application/json; charset=utf-8"
    assert isinstance(response["Events"], list)


@fact("1.5b")
def test_latest_is_not_a_version(vm: VM) -> None:
    assert vm.get(version="latest").status == 400


@fact("1.5c")
@pytest.mark.parametrize("name", ["latest", "%7Blatest%7D"])
def test_latest_is_rejected_like_any_unknown_version(vm: VM, name: str) -> None:
    assert vm.get(version=name).body == vm.get(version="2000-01-01").body


@pytest.fixture
def lenient(serve: Serve) -> VM:
    """Provide a VM with one event, on a service that accepts `latest`."""
    fleet = serve(Settings(latest="true"))
    vm, _ = fleet.announce_to_vm()
    return vm


@fact("1.5d")
def test_a_setting_makes_latest_an_alias_for_2017_03_01(lenient: VM) -> None:
    expected = lenient.document("2017-03-01")
    assert len(expected["Events"]) == 1
    assert lenient.document("latest") == expected


@fact("1.5d")
def test_a_post_with_latest_needs_no_header_if_latest_is_accepted(lenient: VM) -> None:
    body = approval(lenient.event()["EventId"])
    assert lenient.post(body, version="latest", marked=False).status == 200
    assert lenient.statuses == ["Started"]
    assert lenient.get(version="latest", marked=False).status == 400


@fact("1.5d")
def test_errors_do_not_recommend_latest_even_if_it_is_accepted(lenient: VM) -> None:
    assert "latest" not in lenient.send(EVENTS)["newest-versions"]


@fact("1.5e")
@pytest.mark.parametrize("name", ["latest", "Latest", "2017-03-01", NEWEST])
def test_the_same_setting_accepts_versions_in_the_path(lenient: VM, name: str) -> None:
    response = lenient.send(f"/metadata/{name}/scheduledevents")
    assert response.status == 200
    assert response.body == lenient.get(version=name.lower()).body


@fact("1.5e")
@pytest.mark.parametrize("name", ["latest", "2017-03-01", NEWEST])
def test_versions_in_the_path_return_404_by_default(vm: VM, name: str) -> None:
    assert vm.send(f"/metadata/{name}/scheduledevents").status == 404


@fact("1.7a")
def test_no_authentication_is_required(vm: VM) -> None:
    response = vm.get()
    assert response.status == 200
    assert response.header("WWW-Authenticate") is None


@fact("1.7b")
def test_clients_are_identified_by_their_address(fleet: TemporaryFleet) -> None:
    where = urlsplit(fleet.vm.endpoint)
    if where.hostname != "127.0.0.1":
        pytest.skip(
            "needs an endpoint on 127.0.0.1, to send requests from several addresses"
        )
    host = secrets.randbelow(200)
    pair = [f"127.{host + 1}.{secrets.randbelow(250)}.{address}" for address in (7, 8)]
    names = [fleet.add_standalone_vm(addresses=[address]).name for address in pair]
    plain = replace(fleet.vm, endpoint=f"http://{where.netloc}")
    target = "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
    seen = [
        replace(plain, source=address).send(target).body.decode() for address in pair
    ]
    assert seen == names


@fact("1.8a")
@pytest.mark.parametrize("value", ["10.0.0.1", "", "unknown"])
def test_a_forwarded_request_is_rejected(vm: VM, value: str) -> None:
    assert vm.get(f"X-Forwarded-For: {value}").status >= 400


@fact("1.8b")
@pytest.mark.parametrize(
    "target", [events(NEWEST), "/metadata/instance", "/metadata/versions", "/other"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
def test_a_forwarded_request_is_rejected_on_every_path(
    any_method_vm: VM, target: str, method: str
) -> None:
    response = any_method_vm.send(target, "X-Forwarded-For: 10.0.0.1", method=method)
    assert response.status == 400
    assert "proxy" in response.error


@fact("1.9a")
@pytest.mark.parametrize("header", ["Origin: null", "Sec-Fetch-Site: same-origin"])
@pytest.mark.parametrize("target", [events(NEWEST), "/metadata/instance", "/other"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_request_from_a_browser_is_rejected_on_every_path(
    vm: VM, target: str, header: str, method: str
) -> None:
    response = vm.send(target, header, method=method)
    assert response.status == 400
    assert "web page" in response.error


@fact("1.9b")
def test_a_request_from_node_js_succeeds(vm: VM) -> None:
    assert vm.get("Sec-Fetch-Mode: cors", "Accept-Language: *").status == 200


@fact("1.9c")
@pytest.mark.parametrize("host", ["a.example", "A.EXAMPLE.:80", "a.1.example"])
def test_a_host_with_an_unknown_name_is_rejected(vm: VM, host: str) -> None:
    response = _get_from(vm, host)
    assert response.status == 400
    assert "--metadata-host" in response.error


@fact("1.9c")
@pytest.mark.parametrize(
    "host", ["169.254.169.254", "[fe80::1]:80", "localhost", "metadata:8254", ""]
)
def test_a_host_without_a_dot_or_with_an_address_is_accepted(vm: VM, host: str) -> None:
    assert _get_from(vm, host).status == 200


def _get_from(vm: VM, host: str) -> ReceivedResponse:
    request = vm.request(events(NEWEST)).split(b"\r\n")
    request[1] = f"Host: {host}".encode()
    with vm.line() as line:
        line.write(b"\r\n".join(request))
        return line.read()
