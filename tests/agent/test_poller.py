"""Document poller: repeated reads, long polls and pauses."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.agent.support.events import NOON

from forewarn.agent.config.plan import Plan
from forewarn.agent.poller import (
    DocumentPoller,
    NameLearned,
    PollResult,
    ReadFailed,
)
from forewarn.client.responses import Instance, Reading
from forewarn.client.service_clock import ClockEstimate
from forewarn.errors import ForewarnError, Misunderstood, Refused, Unreachable
from forewarn.protocol.types import Document

DOCUMENT = Document(incarnation=1)


def a_reading(
    *, is_news: bool = True, is_held: bool = False, rate: float = 1.0
) -> Reading:
    return Reading(
        document=DOCUMENT if is_news else None,
        tag='"1"',
        is_held=is_held,
        reckoning=ClockEstimate(date=NOON, at=0.0, rate=rate),
    )


class ScriptedSource:
    """A scripted source that records the requests it receives."""

    def __init__(
        self,
        *answers: Reading | ForewarnError,
        instances: Iterable[Instance | ForewarnError] = (Instance(name="web-0"),),
    ) -> None:
        self._answers = [*answers]
        self._instances = [*instances]
        self.asked: list[tuple[str | None, float | None]] = []
        self.names_asked = 0

    def read(self, *, tag: str | None = None, wait: float | None = None) -> Reading:
        self.asked.append((tag, wait))
        answer = self._answers.pop(0)
        if isinstance(answer, ForewarnError):
            raise answer
        return answer

    def instance(self) -> Instance:
        self.names_asked += 1
        answer = self._instances.pop(0)
        if isinstance(answer, ForewarnError):
            raise answer
        return answer


def poller_of(
    script: ScriptedSource,
    *,
    poll: float = 1.0,
    hold: float | None = 15.0,
    needs_name: bool = True,
) -> tuple[DocumentPoller, list[PollResult]]:
    looks: list[PollResult] = []
    plan = Plan(
        state=Path(),
        name=None if needs_name else "web-0",
        poll=poll,
        wait=hold is not None,
        blind_after=2 * (hold or 15.0),
    )
    return DocumentPoller(plan, script, looks.append), looks


def test_the_name_is_requested_first_and_once() -> None:
    poller, looks = poller_of(script := ScriptedSource(a_reading(), a_reading()))
    poller.poll_once()
    poller.poll_once()
    assert [type(look) for look in looks] == [NameLearned, Reading, Reading]
    assert looks[0] == NameLearned(name="web-0")
    assert script.names_asked == 1


def test_without_a_name_nothing_is_read_until_the_service_responds() -> None:
    away = Unreachable("nobody is there")
    script = ScriptedSource(a_reading(), instances=[away, Instance(name="web-0")])
    poller, looks = poller_of(script)
    assert poller.poll_once() >= 1.0
    assert looks == [ReadFailed(error=away)]
    poller.poll_once()
    assert [type(look) for look in looks[1:]] == [NameLearned, Reading]


def test_a_service_without_instance_metadata_is_read_anyway() -> None:
    for error in (Refused("not found", status=404), Misunderstood("HTML")):
        poller, looks = poller_of(ScriptedSource(a_reading(), instances=[error]))
        poller.poll_once()
        assert looks == [NameLearned(name=None), a_reading()]


def test_with_a_configured_name_reading_does_not_need_the_instance() -> None:
    script = ScriptedSource(a_reading(), instances=[Unreachable("nobody is there")])
    poller, looks = poller_of(script, needs_name=False)
    poller.poll_once()
    assert [type(look) for look in looks] == [NameLearned, Reading]


@pytest.mark.parametrize(
    ("hold", "rate", "wait"),
    [
        (15.0, 1.0, 15.0),
        (900.0, 1.0, 60.0),
        (0.9, 1.0, None),
        (None, 1.0, None),
        (15.0, 0.0, 1.0),  # only a response shows how far a manual clock was moved
    ],
)
def test_the_tag_is_sent_back_with_a_long_poll_of_at_most_a_minute(
    hold: float | None, rate: float, wait: float | None
) -> None:
    script = ScriptedSource(a_reading(rate=rate), a_reading())
    poller, _ = poller_of(script, hold=hold)
    poller.poll_once()
    poller.poll_once()
    assert script.asked == [(None, None), ('"1"', wait)]


def test_after_a_long_poll_change_the_next_request_follows_after_a_short_pause() -> (
    None
):
    poller, _ = poller_of(ScriptedSource(a_reading(), a_reading(is_held=True)))
    poller.poll_once()
    assert poller.poll_once() == 0.1


def test_no_setting_makes_the_pause_shorter_than_a_tenth_of_a_second() -> None:
    poller, _ = poller_of(ScriptedSource(a_reading()), poll=0.01, hold=None)
    assert poller.poll_once() == 0.1


def test_long_poll_support_is_probed_soon() -> None:
    poller, _ = poller_of(ScriptedSource(a_reading(), a_reading(is_news=False)))
    assert poller.poll_once() == 0.1
    assert poller.poll_once() == 1.0


def test_without_hold_it_pauses_after_the_first_request() -> None:
    poller, _ = poller_of(ScriptedSource(a_reading()), hold=None)
    assert poller.poll_once() == 1.0


def test_it_pauses_when_a_long_poll_returns_early_without_changes() -> None:
    leaving = a_reading(is_news=False, is_held=True)
    poller, _ = poller_of(ScriptedSource(a_reading(), leaving), poll=2.0)
    poller.poll_once()
    assert poller.poll_once() == 2.0


def test_without_long_poll_the_pause_is_the_poll_interval() -> None:
    quiet = a_reading(is_news=False)
    poller, _ = poller_of(ScriptedSource(a_reading(), a_reading(), quiet), poll=3.0)
    poller.poll_once()
    assert (poller.poll_once(), poller.poll_once()) == (3.0, 3.0)


def test_the_pause_grows_up_to_a_limit_while_the_service_is_down() -> None:
    away = Unreachable("nobody is there")
    poller, looks = poller_of(ScriptedSource(*[away] * 9, a_reading()), poll=0.1)
    pauses = [poller.poll_once() for _ in range(9)]
    assert pauses == sorted(pauses)
    assert pauses[0] < pauses[-1] == 2.0
    poller.poll_once()
    assert isinstance(looks[-1], Reading)


def test_a_permanent_refusal_is_retried_rarely() -> None:
    poller, looks = poller_of(ScriptedSource(Refused("no such version", status=400)))
    assert poller.poll_once() == 5.0
    assert isinstance(looks[-1], ReadFailed)


def test_retry_after_is_respected() -> None:
    busy = Refused("too many requests", status=429, retry_after=30.0)
    poller, _ = poller_of(ScriptedSource(busy))
    assert poller.poll_once() == 30.0


def test_an_unexpected_error_does_not_stop_polling() -> None:
    class FailingSource(ScriptedSource):
        def read(self, *, tag: str | None = None, wait: float | None = None) -> Reading:
            poller.stop()  # to end the pause
            raise RecursionError("nobody expected this")

    poller, looks = poller_of(FailingSource())
    poller.run()
    assert looks == [NameLearned(name="web-0")]


def test_a_missing_name_is_not_requested_with_every_read() -> None:
    nobody = Refused("there is no such page", status=404)
    poller, _ = poller_of(
        script := ScriptedSource(a_reading(), a_reading(), instances=[nobody])
    )
    poller.poll_once()
    poller.poll_once()
    assert script.names_asked == 1


def test_pauses_start_over_after_a_response() -> None:
    away = Unreachable("nobody is there")
    script = ScriptedSource(away, away, away, a_reading(), away)
    poller, _ = poller_of(script, poll=0.1)
    pauses = [poller.poll_once() for _ in range(5)]
    assert pauses[4] == pauses[0] < pauses[2]
