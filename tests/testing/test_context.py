"""Rehearsals without pytest: in scripts and in unittest."""

import os
import signal
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import forewarn.testing
from forewarn import Client
from forewarn.errors import Conflict, ForewarnError
from forewarn.testing import Rehearsal, scheduled_events


def test_environment_points_to_the_service_until_the_block_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FOREWARN_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.delenv("FOREWARN_MARK_URL", raising=False)
    with scheduled_events(vms=["a"]) as events:
        event = events.reboot("a")
        with Client() as client:
            client.approve(*client.document().events)
        event.assert_approved(by="a")
        assert os.environ["FOREWARN_MARK_URL"] == events.mark_url
    assert os.environ["FOREWARN_ENDPOINT"] == "http://127.0.0.1:1"
    assert "FOREWARN_MARK_URL" not in os.environ


def test_environment_is_restored_after_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("FOREWARN_ENDPOINT", raising=False)
    with pytest.raises(AssertionError), scheduled_events() as events:
        events.reboot().assert_approved(within=0)
    assert "FOREWARN_ENDPOINT" not in os.environ


def test_rehearsal_class_leaves_the_environment_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("FOREWARN_ENDPOINT", raising=False)
    with Rehearsal() as rehearsal:
        assert "FOREWARN_ENDPOINT" not in os.environ
        assert repr(rehearsal) == f"<Rehearsal {rehearsal.endpoint}>"


def test_rehearsal_that_is_not_open_is_refused() -> None:
    rehearsal = Rehearsal()
    assert repr(rehearsal) == "<Rehearsal (not open)>"
    with pytest.raises(Conflict, match="not open"):
        rehearsal.reboot()
    with rehearsal, pytest.raises(Conflict, match="only be opened once"):
        rehearsal.open()
    with pytest.raises(Conflict, match="not open"):
        _ = rehearsal.control  # would start a control plane that never ends


def test_concurrent_access_to_the_control_plane_starts_one() -> None:
    with Rehearsal() as rehearsal, ThreadPoolExecutor(4) as pool:
        addresses = [*pool.map(lambda _: rehearsal.control, range(4))]
    assert len({*addresses}) == 1


def test_forked_process_may_leave_the_block() -> None:
    with Rehearsal() as rehearsal:
        child = os.fork()
        if child == 0:
            signal.alarm(10)
            try:
                rehearsal.close()
            finally:
                os._exit(0)
        assert os.waitpid(child, 0) == (child, 0)
        with Client(rehearsal.endpoint) as client:
            client.document()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"vm": 3}, "VM 3 is not in the fleet"),
        ({"vms": 3}, "vms must be a list of names"),
        ({"fleet": 3}, "fleet must be a file, or a table"),
        ({"fleet": {}}, "the fleet has no VMs"),
        ({"settings": 3}, "settings must be a table"),
        ({"settings": {"requests": 1}}, "unknown setting 'requests'"),
        ({"settings": {"clock": "x60"}}, "setting 'clock' cannot be changed"),
    ],
)
def test_invalid_arguments_are_refused_with_a_message(
    arguments: dict[str, Any], error: str
) -> None:
    with pytest.raises(ForewarnError, match=error):
        Rehearsal(**arguments)


def test_vms_may_be_any_iterable() -> None:
    names = (f"vm-{number}" for number in range(2))
    assert [*Rehearsal(vms=names).fleet.vms] == ["vm-0", "vm-1"]  # type: ignore[arg-type]  # a common mistake, accepted


def test_unittest_can_enter_it_as_a_context() -> None:
    class Case(unittest.TestCase):
        def setUp(self) -> None:
            self.events = self.enterContext(scheduled_events(vms=["a"]))

        def test_an_approval(self) -> None:
            event = self.events.reboot()
            event.approve(by="a")
            event.assert_approved()

        def test_none(self) -> None:
            self.events.reboot().assert_approved(within="10ms")

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(result)
    assert (result.testsRun, result.errors) == (2, [])
    ((_, message),) = result.failures
    assert "was not approved within 0.01 s" in message


def test_package_exports_its_documented_names() -> None:
    assert forewarn.testing.__all__ == ["Event", "Rehearsal", "scheduled_events"]
    for name in forewarn.testing.__all__:
        assert getattr(forewarn.testing, name)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = forewarn.testing.nothing
