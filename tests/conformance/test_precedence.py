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
    answer = vm.send("/nowhere", FORWARDED, LARGE_HEAD, marked=False)
    assert answer.status == 431
    assert answer.error


@fact("8.1a")
def test_a_large_body_is_reported_first(vm: VM) -> None:
    answer = vm.send(
        "/nowhere", FORWARDED, method="POST", body=LARGE_BODY, marked=False
    )
    assert answer.status == 413
    assert answer.error


@fact("8.1a")
def test_a_body_of_64_kib_is_read(vm: VM) -> None:
    answer = vm.post(LARGE_BODY[1:])
    assert answer.status == 400


@fact("8.1b")
def test_forwarding_is_reported_before_the_header(vm: VM) -> None:
    answer = vm.get(FORWARDED, marked=False)
    assert answer.status == 400
    assert answer.body != UNMARKED
    assert "proxy" in answer.error


@fact("8.1b")
def test_a_browser_is_reported_after_forwarding_and_before_the_header(vm: VM) -> None:
    origin = "Origin: http://a.example"
    assert "proxy" in vm.get(FORWARDED, origin).error
    assert "browser" in vm.get(origin, marked=False).error


@fact("8.1c")
@pytest.mark.parametrize("target", ["/metadata/nothing", "/nowhere"])
def test_the_header_is_reported_before_the_path(vm: VM, target: str) -> None:
    answer = vm.send(target, marked=False)
    assert (answer.status, answer.body) == (400, UNMARKED)


@fact("8.1d")
def test_the_path_is_reported_before_the_method(any_method_vm: VM) -> None:
    assert any_method_vm.send("/metadata/nothing", method="PUT").status == 404


@fact("8.1e")
def test_the_method_is_reported_before_the_version(any_method_vm: VM) -> None:
    assert any_method_vm.send(EVENTS, method="PUT").status == 405


@fact("8.1f")
def test_the_version_is_reported_before_the_caller(fleet: TemporaryFleet) -> None:
    nobody = fleet.endpoint_of(f"{fleet.prefix}-nobody")
    assert nobody.send(EVENTS).status == 400
    answer = nobody.get()
    assert answer.status == 404
    assert nobody.name in answer.error


@fact("8.1g")
def test_the_caller_is_reported_before_the_body(fleet: TemporaryFleet) -> None:
    nobody = fleet.endpoint_of(f"{fleet.prefix}-nobody")
    assert nobody.post(b"nonsense").status == 404


@fact("8.1i")
def test_a_missing_header_is_reported_with_a_good_version(vm: VM) -> None:
    answer = vm.get(marked=False)
    assert "metadata header" in answer.error


@fact("8.1j")
@pytest.mark.parametrize("target", [EVENTS, "/metadata/instance"])
def test_a_bad_version_is_reported_with_the_header(vm: VM, target: str) -> None:
    answer = vm.send(target)
    assert answer.status == 400
    assert "api-version" in answer.error
    assert answer["newest-versions"]


@fact("8.1j")
def test_the_version_is_reported_before_the_body(vm: VM) -> None:
    answer = vm.send(EVENTS, method="POST", body=b"nonsense")
    assert answer["newest-versions"]
    assert vm.send(events(NEWEST), method="POST", body=b"nonsense").status == 400
