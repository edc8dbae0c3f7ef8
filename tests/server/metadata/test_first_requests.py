"""First calls: when they are answered while their group is being switched on."""

from dataclasses import replace

import pytest
from tests.server.support.connections import Line, Plane, a_poll
from tests.server.support.dialogs import a_request
from tests.server.support.first_requests import (
    DELAY,
    GET,
    a_caller,
    a_first_call,
    a_plane,
    began,
    listen,
)
from tests.server.support.handlers import (
    HOUR,
    NOON,
    QUIET,
    a_reception,
    an_event,
    shown,
)

from forewarn.core.fleet import Listening
from forewarn.engine.readers.documents import DocumentUpdate
from forewarn.errors import Unavailable
from forewarn.server.metadata.handler import EnableFirst
from forewarn.server.metadata.limits import RateLimit

# --- who is answered when ----------------------------------------------------


def test_the_first_call_is_answered_after_the_delay() -> None:
    line = a_first_call()
    line.wait(DELAY - 1)
    assert line.statuses == []
    line.wait(1)
    assert line.statuses == [200]


def test_it_is_answered_with_the_document_as_it_is_then() -> None:
    line = a_first_call()
    line.wait(30)
    group = began().group
    line.plane.change(
        DocumentUpdate(position=2, shown=[shown(group, an_event(), epoch="e1")])
    )
    assert line.statuses == []
    line.wait(30)
    (said,) = line.said
    assert b'"DocumentIncarnation":1' in said.body


def test_whoever_asks_meanwhile_is_answered_at_the_same_moment() -> None:
    plane = a_plane()
    first, second, third = a_first_call(plane), a_caller(plane), a_caller(plane)
    second.send(GET)
    plane.wait(DELAY - 1)
    third.send(GET)
    assert (first.statuses, second.statuses, third.statuses) == ([], [], [])
    plane.wait(1)
    assert (first.statuses, second.statuses, third.statuses) == ([200], [200], [200])


def test_whoever_asked_before_the_group_began_is_answered_at_that_moment_too() -> None:
    plane = a_plane()
    first, second = a_caller(plane), a_caller(plane)
    first.send(GET)
    second.send(GET)
    listen(first)
    plane.wait(10)
    second.wire.enabled(None)
    plane.wait(DELAY - 10)
    assert (first.statuses, second.statuses) == ([200], [200])


def test_whoever_asks_later_is_answered_at_once() -> None:
    line = a_first_call()
    line.wait(DELAY)
    line.send(GET)
    other = a_caller(line.plane)
    other.send(GET)
    assert (line.statuses, other.statuses) == ([200, 200], [200])


def test_each_silence_ends_with_a_delay() -> None:
    line = a_first_call()
    line.wait(DELAY)
    line.plane.reception.set_clock(NOON + 24 * HOUR)
    line.send(GET)
    listen(line, at=NOON + 24 * HOUR)
    line.wait(DELAY - 1)
    assert line.statuses == [200]
    line.wait(1)
    assert line.statuses == [200, 200]


def test_other_groups_are_answered_at_once() -> None:
    plane = a_plane()
    a_first_call(plane)
    other = Line(plane, peer="10.0.0.1")
    other.send(GET)
    assert other.statuses == [200]


def test_a_group_that_always_listens_is_never_delayed() -> None:
    line = a_first_call()
    always = replace(began().group, listening=Listening.ALWAYS)
    line.plane.change(DocumentUpdate(position=2, shown=[shown(always, epoch="e1")]))
    other = a_caller(line.plane)
    other.send(GET)
    assert other.statuses == [200]


def test_a_group_that_listened_before_the_service_started_is_not_delayed() -> None:
    line = a_caller(a_plane(began()))
    line.send(GET)
    assert line.statuses == [200]


def test_without_a_delay_nobody_waits_though_the_silence_is_over() -> None:
    line = a_first_call(Plane(a_reception()))
    assert line.statuses == [200]
    assert line.plane.loop.alarms == []


@pytest.mark.parametrize(
    "target",
    [
        "/metadata/instance?api-version=2021-02-01",
        "/metadata/versions",
        "/metadata/scheduledevents",
    ],
)
def test_other_requests_of_the_group_are_not_delayed(target: str) -> None:
    other = a_caller(a_first_call().plane)
    other.send(a_request(target, "Metadata: true"))
    assert len(other.statuses) == 1


def test_a_group_that_could_not_begin_is_told_so_at_once() -> None:
    line = a_caller(a_plane())
    line.send(GET)
    line.wire.enabled(Unavailable("the disk is full"))
    assert line.statuses == [503]


def test_whoever_would_rather_wait_is_held_after_the_delay() -> None:
    line = a_first_call(data=a_poll("wait=30", tag='"e1.0"'))
    line.wait(DELAY + 29)
    assert line.statuses == []
    line.wait(1)
    assert line.statuses == [304]


def test_what_is_asked_behind_a_first_call_is_answered_after_it() -> None:
    line = a_first_call(data=GET + GET)
    line.wait(DELAY - 1)
    assert line.statuses == []
    line.wait(1)
    assert line.statuses == [200, 200]


def test_a_call_that_was_delayed_counts_once_for_the_rate() -> None:
    line = a_first_call(a_plane(rate=RateLimit(1, lambda: 0.0)))
    line.wait(DELAY)
    assert line.statuses == [200]


# --- time --------------------------------------------------------------------


def test_the_delay_does_not_run_on_the_service_s_clock() -> None:
    line = a_first_call()
    line.plane.reception.set_clock(NOON + HOUR)
    line.wait(DELAY - 1)
    assert line.statuses == []


def test_whoever_waits_is_not_silent_though_the_clock_leaps_a_day() -> None:
    line = a_first_call()
    line.plane.reception.set_clock(NOON + 25 * HOUR)
    line.wait(DELAY)
    assert line.statuses == [200]
    assert line.plane.reception.asked() == {"quiet": NOON + 25 * HOUR}


def test_if_nobody_has_waited_the_silence_is_counted_from_the_last_call() -> None:
    line = a_first_call()
    line.hang_up()
    line.plane.reception.set_clock(NOON + 25 * HOUR)
    line.wait(DELAY)
    other = a_caller(line.plane)
    other.send(GET)
    assert line.plane.deferred == [EnableFirst(group="quiet")] * 2


# --- what is noted -----------------------------------------------------------


def test_what_a_first_caller_did_not_wait_for_he_has_not_seen() -> None:
    plane = a_plane(shown(QUIET, an_event()))
    line = a_caller(plane)
    line.send(GET)
    group = began().group
    plane.change(
        DocumentUpdate(position=1, shown=[shown(group, an_event(), epoch="e1")])
    )
    line.wire.enabled(None)
    line.hang_up()
    plane.wait(DELAY)
    assert plane.reception.seen() == []


def test_every_call_is_noted_when_it_comes() -> None:
    line = a_first_call()
    line.plane.reception.asked()
    line.plane.reception.set_clock(NOON + HOUR)
    a_caller(line.plane).send(GET)
    assert line.plane.reception.asked() == {"quiet": NOON + HOUR}


def test_there_is_one_alarm_for_each_group_however_many_wait() -> None:
    plane = a_plane()
    a_first_call(plane)
    for _ in range(5):
        a_caller(plane).send(GET)
    assert plane.loop.alarms == [DELAY]


def test_a_group_is_switched_on_though_nobody_waits_for_it() -> None:
    plane = a_plane()
    plane.change(DocumentUpdate(position=1, shown=[began()]))
    group_state = plane.handler.directory.group_state("quiet")
    assert group_state is not None
    plane.first_requests.start(group_state)
    plane.wait(DELAY)
    line = a_caller(plane)
    line.send(GET)
    assert line.statuses == [200]
