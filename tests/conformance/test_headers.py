"""Request headers: required ones, and those that must not matter (2)."""

import pytest
from tests.conformance.facts import fact
from tests.conformance.temporary_fleet import TemporaryFleet
from tests.conformance.vm import VERSIONS, VM, approval

CONTENT_TYPES = (
    "Content-Type: application/x-www-form-urlencoded",
    "Content-Type: application/json",
    "Content-Type: text/plain; charset=utf-8",
    None,
)

HEADER_ERROR = b'{ "error": "Bad request: . Required metadata header not specified" }'


@fact("2.1a")
@pytest.mark.parametrize("name", ["Metadata", "metadata", "METADATA", "mEtAdAtA"])
def test_the_header_name_is_case_insensitive(vm: VM, name: str) -> None:
    assert vm.get(f"{name}: true", marked=False).status == 200


@fact("2.1b")
@pytest.mark.parametrize("value", ["True", "TRUE"])
def test_the_header_value_is_case_insensitive(vm: VM, value: str) -> None:
    assert vm.get(f"Metadata: {value}", marked=False).status == 200


@fact("2.1c")
def test_the_header_needs_no_space_after_the_colon(vm: VM) -> None:
    assert vm.get("Metadata:true", marked=False).status == 200


@fact("2.1d")
def test_a_header_with_false_is_rejected_like_a_missing_header(vm: VM) -> None:
    response = vm.get("Metadata: false", marked=False)
    assert response.status == 400
    assert response.body == vm.get(marked=False).body


@fact("2.2a")
@pytest.mark.parametrize("version", VERSIONS[1:])
def test_from_2017_08_01_on_a_get_needs_the_header(vm: VM, version: str) -> None:
    assert vm.get(version=version, marked=False).status == 400


@fact("2.2a")
@pytest.mark.parametrize("version", VERSIONS[1:])
def test_from_2017_08_01_on_a_post_needs_the_header(
    vm: VM, version: str, unknown: str
) -> None:
    response = vm.post(approval(unknown), version=version, marked=False)
    assert response.status == 400
    assert response.body == vm.get(version=version, marked=False).body


@fact("2.2b")
def test_with_2017_03_01_a_post_without_the_header_returns_no_header_error(
    vm: VM,
) -> None:
    response = vm.post(b"{}", version="2017-03-01", marked=False)
    assert response.body != vm.get(marked=False).body


@fact("2.2b")
def test_with_2017_03_01_an_approval_needs_no_header(fleet: TemporaryFleet) -> None:
    vm, event = fleet.announce_to_vm()
    response = vm.post(approval(event), version="2017-03-01", marked=False)
    assert response.status == 200
    assert vm.statuses == ["Started"]


@fact("2.2c")
def test_with_2017_03_01_a_get_needs_the_header(vm: VM) -> None:
    response = vm.get(version="2017-03-01", marked=False)
    assert (response.status, response.body) == (400, HEADER_ERROR)


@fact("2.3")
@pytest.mark.parametrize("content_type", CONTENT_TYPES)
def test_an_approval_is_accepted_with_any_content_type(
    fleet: TemporaryFleet, content_type: str | None
) -> None:
    vm, event = fleet.announce_to_vm()
    headers = [] if content_type is None else [content_type]
    assert vm.post(approval(event), *headers).status == 200
    assert vm.statuses == ["Started"]


@fact("2.3")
def test_the_content_type_of_an_invalid_approval_has_no_effect(
    vm: VM, unknown: str
) -> None:
    responses = [
        vm.post(approval(unknown), *([] if item is None else [item]))
        for item in CONTENT_TYPES
    ]
    assert len({(item.status, item.body) for item in responses}) == 1


@fact("2.4a")
def test_a_get_may_have_a_content_type(vm: VM) -> None:
    assert vm.get("Content-Type: application/json").status == 200


@fact("2.4b")
@pytest.mark.parametrize("matching", [True, False])
def test_a_post_may_have_if_none_match(fleet: TemporaryFleet, matching: bool) -> None:
    vm, event = fleet.announce_to_vm()
    tag = vm.get().header("ETag") if matching else "null"
    assert vm.post(approval(event), f"If-None-Match: {tag}").status == 200
    assert vm.statuses == ["Started"]


@fact("2.5")
@pytest.mark.parametrize(
    "header",
    [
        "x-ms-client-request-id: 3f1b0a52-0d2f-4f3a-9a51-6d0a4f1c7f55",
        "User-Agent: An-Agent/0.20 A-System/12",
        "Accept: application/json",
        "Accept-Encoding: gzip, deflate",
    ],
)
def test_other_headers_are_ignored(vm: VM, header: str) -> None:
    response, plain = vm.get(header), vm.get()
    assert (response.status, response.body) == (200, plain.body)
    assert response.header("Content-Type") == plain.header("Content-Type")
