"""Tests as users write them, which mypy checks; nothing runs them.

Each `type: ignore` marks a mistake. If mypy no longer finds the mistake, it reports an
unused comment.
"""

from collections.abc import Sequence
from typing import assert_type

from forewarn.testing import Event, Rehearsal
from forewarn.testing import scheduled_events as in_a_block
from forewarn.testing.plugin import MakeScheduledEvents


def correct(
    scheduled_events: Rehearsal, make_scheduled_events: MakeScheduledEvents
) -> None:
    """Use everything correctly."""
    event = scheduled_events.reboot("web-0", notice="15s", short_notice=True)
    assert_type(event, Event)
    assert_type(event.approved_by, str | None)
    assert_type(scheduled_events.announce("Freeze", "a", "b"), Sequence[Event])
    assert_type(scheduled_events.operate("restart", "web-0"), Event)
    assert_type(scheduled_events.fault("429", retry_after=3, on="read"), str)
    assert_type(scheduled_events.wait_output("ready", within="5s"), str)
    assert_type(make_scheduled_events(vms=["a"], seed=1), Rehearsal)
    with in_a_block(vms=["a"]) as events, events.run("handler.py", marks=["done"]):
        assert_type(events, Rehearsal)


def mistaken(
    scheduled_events: Rehearsal, make_scheduled_events: MakeScheduledEvents
) -> None:
    """Make one mistake per line."""
    scheduled_events.reboot(notise="20m")  # type: ignore[call-arg]  # misspelled
    scheduled_events.freeze(live_migration="yes")  # type: ignore[arg-type]  # not a bool
    scheduled_events.redeploy(3)  # type: ignore[arg-type]  # not a name
    scheduled_events.preempt(source="me")  # type: ignore[arg-type]  # no such source
    scheduled_events.terminate(["a", "b"])  # type: ignore[arg-type]  # two VMs
    scheduled_events.announce("Rebot", "a")  # type: ignore[arg-type]  # misspelled
    scheduled_events.operate("rebot", "a")  # type: ignore[arg-type]  # misspelled
    scheduled_events.fault("429", cuont=1)  # type: ignore[call-arg]  # misspelled
    scheduled_events.outage(lasts="1m")  # type: ignore[call-arg]  # an old name
    scheduled_events.run("handler.py", env={})  # type: ignore[call-arg]  # misspelled
    scheduled_events.reboot().assert_approved(until=3)  # type: ignore[call-arg]  # misspelled
    make_scheduled_events(size=3)  # type: ignore[call-arg]  # does not exist
    in_a_block(size=3)  # type: ignore[call-arg]  # does not exist
