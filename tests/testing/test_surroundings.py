"""Rehearsals without pytest: in scripts, and in unittest."""

import os
import unittest

import pytest

import forewarn.testing
from forewarn import Client
from forewarn.testing import Rehearsal, scheduled_events


def test_a_script_finds_the_service_in_its_environment_until_the_block_ends(
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


def test_the_environment_is_as_before_also_after_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("FOREWARN_ENDPOINT", raising=False)
    with pytest.raises(AssertionError), scheduled_events() as events:
        events.reboot().assert_approved(within=0)
    assert "FOREWARN_ENDPOINT" not in os.environ


def test_a_rehearsal_alone_leaves_the_environment_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("FOREWARN_ENDPOINT", raising=False)
    with Rehearsal() as rehearsal:
        assert "FOREWARN_ENDPOINT" not in os.environ
        assert repr(rehearsal) == f"<Rehearsal {rehearsal.endpoint}>"


def test_unittest_enters_it_as_any_context() -> None:
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
    ((_, told),) = result.failures
    assert "was not approved within 10ms" in told


def test_what_the_package_gives_is_what_it_says() -> None:
    assert forewarn.testing.__all__ == ["Event", "Rehearsal", "scheduled_events"]
    for name in forewarn.testing.__all__:
        assert getattr(forewarn.testing, name)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = forewarn.testing.nothing
