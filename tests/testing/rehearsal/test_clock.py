"""The service's clock in a rehearsal and the machine's clock."""

from datetime import timedelta

from forewarn.clocks import ManualClock
from forewarn.testing import Rehearsal
from forewarn.testing.rehearsal.rehearsal import catch_up


def test_clock_catches_up_with_a_machine_that_is_ahead() -> None:
    with Rehearsal() as rehearsal:
        machine = ManualClock(rehearsal.now + timedelta(seconds=40, milliseconds=7))
        catch_up(rehearsal, machine)
        assert rehearsal.now == machine.now() - timedelta(milliseconds=7)
        assert rehearsal.preempt("batch_0").not_before > machine.now()


def test_clock_that_is_ahead_of_the_machine_is_not_set_back() -> None:
    with Rehearsal() as rehearsal:
        machine = ManualClock(rehearsal.now)
        now = rehearsal.advance("1h")
        catch_up(rehearsal, machine)
        assert rehearsal.now == now
