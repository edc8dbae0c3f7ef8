"""Error responses (8.0, 8.2, 8.4)."""

import json

import pytest
from tests.conformance.facts import fact
from tests.conformance.raw_connection import ReceivedResponse
from tests.conformance.vm import EVENTS, NEWEST, VM, events

UNMARKED = b'{ "error": "Bad request: . Required metadata header not specified" }'
NOT_FOUND = b'{ "error": "Not found" }'
BAD_VERSION = (
    '{ "error": "Bad request. api-version is invalid or was not specified in the'
    " request. For more information refer to aka.ms/azureimds"
    '", "newest-versions": [ %s ] }'
)
INSTANCE = "/metadata/instance"


def versions_error(*versions: str) -> bytes:
    """Return the error about versions that names these `versions`."""
    return (BAD_VERSION % ", ".join(f'"{version}"' for version in versions)).encode()


def newest(response: ReceivedResponse) -> list[str]:
    listed = response["newest-versions"]
    assert isinstance(listed, list)
    return listed


@fact("8.0a")
@pytest.mark.parametrize("target", [events(NEWEST), INSTANCE, "/metadata/versions"])
def test_a_missing_header_is_named_in_the_error(vm: VM, target: str) -> None:
    response = vm.send(target, marked=False)
    assert (response.status, response.body) == (400, UNMARKED)


@fact("8.0b")
@pytest.mark.parametrize("target", [EVENTS, events("1999-01-01"), INSTANCE])
def test_an_unsupported_version_returns_an_error_with_supported_versions(
    vm: VM, target: str
) -> None:
    response = vm.send(target)
    assert response.status == 400
    assert newest(response)


@fact("8.0c")
def test_a_repeated_parameter_is_explained_in_the_error(vm: VM) -> None:
    response = vm.send(f"{events(NEWEST)}&x=1&x=2")
    assert response.status == 400
    assert "more than once" in response.error


@fact("8.0c")
def test_a_forwarded_request_is_explained_in_the_error(vm: VM) -> None:
    response = vm.get("X-Forwarded-For: 10.0.0.1")
    assert response.status == 400
    assert "proxy" in response.error


@fact("8.0d")
@pytest.mark.parametrize("body", [b"", b"nonsense", b"[]"])
def test_a_malformed_approval_is_a_bad_request(vm: VM, body: bytes) -> None:
    assert vm.post(body).status == 400


@fact("8.0e")
@pytest.mark.parametrize(
    "target",
    [
        f"/metadata/nothing?api-version={NEWEST}",
        f"{EVENTS}/more?api-version={NEWEST}",
        "/metadata/instance/compute/nothing?api-version=2021-02-01&format=text",
        "/metadata/instance/nothing?api-version=2021-02-01",
    ],
)
def test_an_unknown_path_is_not_found(vm: VM, target: str) -> None:
    response = vm.send(target)
    assert (response.status, response.body) == (404, NOT_FOUND)


@fact("8.0f")
@pytest.mark.parametrize(
    ("target", "method"), [(events(NEWEST), "PUT"), (INSTANCE, "POST")]
)
def test_an_unsupported_method_is_named_in_the_error(
    any_method_vm: VM, target: str, method: str
) -> None:
    response = any_method_vm.send(target, method=method)
    assert response.status == 405
    assert method in response.error


@fact("8.0j")
def test_every_error_is_an_object_with_a_message(vm: VM) -> None:
    responses = [
        vm.get(marked=False),
        vm.send(EVENTS),
        vm.send("/metadata/nothing"),
        vm.send(f"{events(NEWEST)}&x=1&x=2"),
    ]
    assert [response.status for response in responses] == [400, 400, 404, 400]
    assert all(response.error for response in responses)


# --- versions ----------------------------------------------------------------


@fact("8.2a")
@pytest.mark.parametrize("target", [INSTANCE, f"{INSTANCE}?api-version=1999-01-01"])
def test_the_version_error_is_as_documented(vm: VM, target: str) -> None:
    listed = vm.send("/metadata/versions")["apiVersions"]
    assert vm.send(target).body == versions_error(*reversed(listed[-3:]))


@fact("8.2b")
@pytest.mark.parametrize("target", [INSTANCE, EVENTS])
def test_the_error_lists_three_versions_newest_first(vm: VM, target: str) -> None:
    listed = newest(vm.send(target))
    assert len(listed) == 3
    assert listed == sorted(listed, reverse=True)


@fact("8.2d")
@pytest.mark.parametrize("target", [INSTANCE, EVENTS])
@pytest.mark.parametrize(
    "choose", [lambda each: each[0], lambda each: sorted(each)[-1]]
)
def test_the_version_that_a_client_takes_from_the_error_works(
    vm: VM, target: str, choose: type[str]
) -> None:
    response = vm.send(target)
    assert response.error
    version = choose(newest(response))
    assert vm.send(f"{target}?api-version={version}").status == 200


@fact("8.2e")
@pytest.mark.parametrize("target", [EVENTS, events("2021-02-01"), events("latest")])
def test_a_scheduled_events_error_lists_its_own_versions(vm: VM, target: str) -> None:
    expected = versions_error("2020-07-01", "2019-08-01", "2019-04-01")
    assert vm.send(target).body == expected


# --- other paths -------------------------------------------------------------


@fact("8.4b")
@pytest.mark.parametrize("target", ["/", "/machine?comp=goalstate", "/metadatas"])
def test_paths_outside_metadata_return_404(vm: VM, target: str) -> None:
    response = vm.send(target)
    assert response.status == 404
    assert json.loads(response.body) == {"error": "Not found"}
