"""Precedence of errors (8.1)."""

import pytest
from tests.conformance.facts import fact
from tests.conformance.temporary_fleet import TemporaryFleet
from tests.conformance.test_errors import UNMARKED
from tests.conformance.vm import EVENTS, NEWEST, VM, events

FORWARDED = "X-Forwarded-For: 10.0.0.1"
LARGE_HEAD = f"X-Large: {'x' * 16 * 1024}"
LARGE_BODY = b" " * (64 * 1024 + 1)


@fact("8.1a")
def test_large_headers_are_reported_first(vm: VM) -> None:
    response = vm.send("/nowhere", FORWARDED, LARGE_HEAD, marked=False)
    assert response.status == 431
    assert response.error


@fact("8.1a")
def test_a_large_body_is_reported_first(vm: VM) -> None:
    response = vm.send(
        "/nowhere", FORWARDED, method="POST", body=LARGE_BODY, marked=False
    )
    assert response.status == 413
    assert response.error


@fact("8.1a")
def test_a_body_of_64_kib_is_accepted(vm: VM) -> None:
    response = vm.post(LARGE_BODY[1:])
    assert response.status == 400


@fact("8.1b")
def test_forwarding_is_reported_before_a_missing_header(vm: VM) -> None:
    response = vm.get(FORWARDED, marked=False)
    assert response.status == 400
    assert response.body != UNMARKED
    assert "proxy" in response.error


@fact("8.1b")
def test_browser_headers_are_reported_after_forwarding_and_before_a_missing_header(
    vm: VM,
) -> None:
    origin = "Origin: http://a.example"
    assert "proxy" in vm.get(FORWARDED, origin).error
    assert "web page" in vm.get(origin, marked=False).error


@fact("8.1c")
@pytest.mark.parametrize("target", ["/metadata/nothing", "/nowhere"])
def test_a_missing_header_is_reported_before_a_bad_path(vm: VM, target: str) -> None:
    response = vm.send(target, marked=False)
    assert (response.status, response.body) == (400, UNMARKED)


@fact("8.1d")
def test_a_bad_path_is_reported_before_a_bad_method(any_method_vm: VM) -> None:
    assert any_method_vm.send("/metadata/nothing", method="PUT").status == 404


@fact("8.1e")
def test_a_bad_method_is_reported_before_a_bad_version(any_method_vm: VM) -> None:
    assert any_method_vm.send(EVENTS, method="PUT").status == 405


@fact("8.1f")
def test_a_bad_version_is_reported_before_an_unknown_caller(
    fleet: TemporaryFleet,
) -> None:
    nobody = fleet.endpoint_of(f"{fleet.prefix}-nobody")
    assert nobody.send(EVENTS).status == 400
    response = nobody.get()
    assert response.status == 404
    assert nobody.name in response.error


@fact("8.1g")
def test_an_unknown_caller_is_reported_before_a_bad_body(fleet: TemporaryFleet) -> None:
    nobody = fleet.endpoint_of(f"{fleet.prefix}-nobody")
    assert nobody.post(b"nonsense").status == 404


@fact("8.1i")
def test_a_missing_header_is_reported_even_with_a_valid_version(vm: VM) -> None:
    response = vm.get(marked=False)
    assert "metadata header" in response.error


@fact("8.1j")
@pytest.mark.parametrize("target", [EVENTS, "/metadata/instance"])
def test_a_bad_version_is_reported_if_the_header_is_present(
    vm: VM, target: str
) -> None:
    response = vm.send(target)
    assert response.status == 400
    assert "api-version" in response.error
    assert response["newest-versions"]


@fact("8.1j")
def test_a_bad_version_is_reported_before_a_bad_body(vm: VM) -> None:
    response = vm.send(EVENTS, method="POST", body=b"nonsense")
    assert response["newest-versions"]
    assert vm.send(events(NEWEST), method="POST", body=b"nonsense").status == 400
