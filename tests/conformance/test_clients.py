"""Requests as real clients send them (13.0, 16)."""

import pytest
from tests.conformance.facts import fact
from tests.conformance.raw_connection import ReceivedResponse
from tests.conformance.temporary_fleet import TemporaryFleet
from tests.conformance.test_headers import CONTENT_TYPES, HEADER_ERROR
from tests.conformance.vm import EVENTS, NEWEST, VERSIONS, VM, approval, events

PROMPT = 2.0  # seconds: the shortest timeout of any known client
FORM = "Content-Type: application/x-www-form-urlencoded"
JSON = "Content-Type: application/json"
CLOSE = "Connection: close"


def name(vm: VM, version: str) -> object:
    """Read `compute.name` in `version`."""
    return vm.send(f"/metadata/instance?api-version={version}")["compute"]["name"]


def assert_approved(vm: VM, response: ReceivedResponse) -> None:
    """Check that the response was 200 and the event has started."""
    assert response.status == 200
    assert vm.statuses == ["Started"]


# --- individual clients ------------------------------------------------------


@fact("13.0a")
def test_requests_from_a_cluster_agent(fleet: TemporaryFleet) -> None:
    vm, event = fleet.announce_to_vm()
    assert name(vm, "2021-12-13") == vm.name
    assert vm.event("2020-07-01")["EventId"] == event
    agent = ("User-Agent: An-Agent/0.20", FORM, CLOSE)
    assert_approved(vm, vm.post(approval(event), *agent, version="2019-08-01"))


@fact("13.0b")
def test_requests_from_an_older_cluster_agent(fleet: TemporaryFleet) -> None:
    vm, event = fleet.announce_to_vm()
    assert name(vm, "2019-08-01") == vm.name
    assert vm.event("2019-08-01")["EventId"] == event
    response = vm.post(approval(event), FORM, CLOSE, version="2019-08-01")
    assert_approved(vm, response)


@fact("13.0c")
def test_requests_from_a_node_drainer(vm: VM) -> None:
    responses = [
        vm.get("Accept-Encoding: gzip", version="2020-07-01") for _ in range(3)
    ]
    assert {response.status for response in responses} == {200}
    assert (
        min(response.seconds for response in responses) < 5
    )  # the others may be slow by chance
    assert {type(response["DocumentIncarnation"]) for response in responses} == {int}


@fact("13.0d", "16.6")
def test_requests_from_a_typed_client(fleet: TemporaryFleet) -> None:
    vm, event = fleet.announce_to_vm()
    document = vm.document("2019-08-01")
    assert type(document["DocumentIncarnation"]) is int
    compute = vm.send("/metadata/instance?api-version=2019-08-01")["compute"]
    fields = ("name", "tags", "platformFaultDomain", "platformUpdateDomain", "zone")
    assert all(isinstance(compute[field], str) for field in fields), compute
    assert_approved(vm, vm.post(approval(event), version="2019-08-01"))


@fact("13.0e")
def test_requests_from_another_node_drainer(fleet: TemporaryFleet) -> None:
    vm, event = fleet.announce_to_vm()
    assert vm.get(JSON, version="2019-08-01").status == 200
    assert_approved(vm, vm.post(approval(event), JSON, version="2019-08-01"))


@fact("13.0f")
def test_requests_from_a_client_that_reads_its_name_as_text(
    fleet: TemporaryFleet,
) -> None:
    vm, event = fleet.announce_to_vm()
    target = "/metadata/instance/compute/name?api-version=2019-06-01&format=text"
    response = vm.send(target)
    assert response.body == vm.name.encode()
    assert (response.header("Content-Type") or "").startswith("text/plain")
    assert_approved(vm, vm.post(approval(event), version="2019-08-01"))


@fact("13.0g")
def test_requests_from_a_client_that_reads_all_fields(fleet: TemporaryFleet) -> None:
    vm, event = fleet.announce_to_vm()
    assert len(vm.event("2020-07-01")) == 9
    assert name(vm, "2021-02-01") == vm.name
    assert_approved(vm, vm.post(approval(event), JSON))


@fact("13.0h")
def test_requests_from_a_client_that_polls_every_second_with_a_tag(
    fleet: TemporaryFleet,
) -> None:
    (vm, _) = fleet.group()
    tag, seen = "0", []
    for step in range(4):
        response = vm.get(f"If-None-Match: {tag}", JSON, CLOSE)
        tag = response.header("ETag") or "null"
        seen.append(response.status)
        if step == 1:
            fleet.announce("Reboot", vm)
    assert seen == [200, 304, 200, 304]
    post = vm.post(
        approval(vm.event()["EventId"]), f"If-None-Match: {tag}", JSON, CLOSE
    )
    assert_approved(vm, post)


@fact("13.0i")
@pytest.mark.parametrize("version", VERSIONS)
def test_requests_from_the_samples_in_the_documentation(
    fleet: TemporaryFleet, version: str
) -> None:
    vm, event = fleet.announce_to_vm()
    assert vm.event(version)["EventId"] == event
    assert vm.event(version)["NotBefore"].replace(" GMT", "")
    assert_approved(vm, vm.post(approval(event), FORM, version=version))


@fact("13.0j")
def test_requests_from_a_client_that_omits_the_header(vm: VM, unknown: str) -> None:
    assert vm.send("/metadata/instance?api-version=2017-08-01").status == 200
    assert vm.get(version="2017-11-01").status == 200
    response = vm.post(approval(unknown), version="2017-11-01", marked=False)
    assert (response.status, response.body) == (400, HEADER_ERROR)


@fact("13.0k")
def test_requests_from_a_script(vm: VM) -> None:
    headers = ("User-Agent: a-tool/8.5", "Accept: */*", "Metadata:true")
    assert vm.get(*headers, marked=False).status == 200


@fact("13.0l")
def test_requests_from_a_client_that_opens_a_new_connection_each_time(vm: VM) -> None:
    request = vm.request(events("2020-07-01"), "Accept: */*")
    seen = []
    for _ in range(3):
        with vm.line() as line:
            line.write(request)
            seen.append(line.read().status)
    assert seen == [200, 200, 200]


@fact("13.0m")
def test_requests_from_a_machine_at_boot(vm: VM) -> None:
    target = "/metadata/instance?api-version=2021-08-01&extended=true"
    assert vm.send(target)["compute"]
    assert vm.send("/metadata/instance?api-version=2019-06-01")["compute"]


@fact("13.0o")
@pytest.mark.parametrize(
    "target", ["/metadata/instance", "/metadata/instance/compute/location?format=text"]
)
def test_requests_from_a_client_that_discovers_versions_by_sending_none(
    vm: VM, target: str
) -> None:
    response = vm.send(target)
    assert response.status == 400
    newest = response["newest-versions"][0]
    join = "&" if "?" in target else "?"
    assert vm.send(f"{target}{join}api-version={newest}").status == 200


# --- findings from running clients -------------------------------------------


@fact("16.1")
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_connection_close_is_confirmed_and_honored(vm: VM, method: str) -> None:
    body = b"{}" if method == "POST" else None
    with vm.line() as line:
        line.write(vm.request(events(NEWEST), CLOSE, method=method, body=body))
        response = line.read(method)
        assert (response.header("Connection") or "").lower() == "close"
        assert line.is_ended()


@fact("16.3")
@pytest.mark.parametrize("mark", ["Metadata: True", "metadata: true", "Metadata:true"])
@pytest.mark.parametrize(
    "query",
    [f"format=json&api-version={NEWEST}", f"api-version={NEWEST}&format=json"],
)
def test_the_header_and_parameters_are_accepted_in_all_forms_in_use(
    vm: VM, mark: str, query: str
) -> None:
    assert vm.send(f"{EVENTS}?{query}", mark, marked=False).status == 200


@fact("16.4")
@pytest.mark.parametrize("content_type", CONTENT_TYPES)
@pytest.mark.parametrize(
    "incarnation", ["", '"DocumentIncarnation":"1",', '"DocumentIncarnation":1,']
)
def test_approvals_are_accepted_in_all_forms_in_use(
    fleet: TemporaryFleet, content_type: str | None, incarnation: str
) -> None:
    vm, event = fleet.announce_to_vm()
    body = f'{{{incarnation}"StartRequests":[{{"EventId":"{event}"}}]}}'
    headers = [] if content_type is None else [content_type]
    assert_approved(vm, vm.post(body.encode(), *headers))


@fact("16.5")
@pytest.mark.parametrize("version", VERSIONS)
def test_an_approval_without_the_header_is_accepted_in_2017_03_01_only(
    fleet: TemporaryFleet, version: str
) -> None:
    vm, event = fleet.announce_to_vm()
    response = vm.post(approval(event), version=version, marked=False)
    assert response.status == (200 if version == "2017-03-01" else 400)
    started = vm.statuses == ["Started"]
    assert started == (version == "2017-03-01")


@fact("16.7")
def test_responses_take_less_than_two_seconds(fleet: TemporaryFleet) -> None:
    vm, event = fleet.announce_to_vm()
    tries = [
        [vm.get(), vm.get("If-None-Match: *"), vm.approve(event)] for _ in range(3)
    ]
    for same in zip(*tries, strict=True):
        assert (
            min(response.seconds for response in same) < PROMPT
        )  # the others may be slow by chance
