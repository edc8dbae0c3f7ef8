"""Hook timeouts and retries, with real processes."""

import time
from pathlib import Path
from threading import Thread

import pytest
from tests.agent.support.hook_builders import (
    DEADLINE,
    LONG,
    ON_AND_ON,
    ReadyPipe,
    a_call,
    ran,
    seconds,
    sh,
)

from forewarn.agent.events.state import HookOutcome
from forewarn.agent.hooks.call import Cancellation
from forewarn.client.service_clock import ClockEstimate

# --- timeouts ----------------------------------------------------------------


@pytest.mark.slow
def test_it_ends_at_the_event_s_deadline() -> None:
    ended = ran(ON_AND_ON, a_call(left=1))
    assert (ended.outcome, ended.reason) == (HookOutcome.CUT, "time limit reached")
    assert 1 <= seconds(ended) < LONG / 2


def test_it_ends_at_its_own_timeout() -> None:
    ended = ran(sh(ON_AND_ON, timeout=0.1))
    assert (ended.outcome, ended.reason) == (
        HookOutcome.CUT,
        "it took longer than 0.1 s",
    )


def test_its_timeout_uses_the_service_s_clock() -> None:
    ended = ran(sh(ON_AND_ON, timeout=6), a_call(rate=60))
    assert 6 <= seconds(ended) < 60 * LONG / 2


def test_its_timeout_is_real_time_with_a_manual_clock() -> None:
    began = time.monotonic()
    ran(sh(ON_AND_ON, timeout=0.1), a_call(rate=0))
    assert 0.1 <= time.monotonic() - began < LONG / 2


def test_it_ends_when_a_manual_clock_has_moved(ready_pipe: ReadyPipe) -> None:
    call = a_call(rate=0)

    def move() -> None:
        ready_pipe.read()
        call.clock.update(ClockEstimate(date=DEADLINE, at=0.0, rate=0))

    moving = Thread(target=move)
    moving.start()
    ended = ran(f"echo up > {ready_pipe.path}; {ON_AND_ON}", call)
    moving.join()
    assert (ended.outcome, ended.reason) == (HookOutcome.CUT, "time limit reached")


def test_without_time_left_nothing_is_started(tmp_path: Path) -> None:
    ended = ran(f": > {tmp_path}/begun", a_call(left=0))
    assert ended.reason == "no time was left to start it"
    assert (ended.outcome, ended.code, ended.tries) == (HookOutcome.CUT, None, 0)
    assert not (tmp_path / "begun").exists()


def test_a_hook_cut_beforehand_is_not_started(tmp_path: Path) -> None:
    cut = Cancellation()
    cut.cancel("the agent stops")
    cut.cancel("something else")
    ended = ran(f": > {tmp_path}/begun", a_call(cut=cut))
    assert (ended.outcome, ended.reason) == (HookOutcome.CUT, "the agent stops")
    assert not (tmp_path / "begun").exists()


# --- retries -----------------------------------------------------------------


def test_it_is_retried_until_it_succeeds() -> None:
    ended = ran(sh("echo $FOREWARN_TRY; test $FOREWARN_TRY = 3", tries=5))
    assert (ended.outcome, ended.tries) == (HookOutcome.DONE, 3)
    assert ended.output == "1\n2\n3\n"


def test_it_is_tried_as_often_as_configured() -> None:
    ended = ran(sh("exit 4", tries=3))
    assert (ended.outcome, ended.tries, ended.code) == (HookOutcome.FAILED, 3, 4)


@pytest.mark.slow
def test_a_try_that_timed_out_is_followed_by_another() -> None:
    ended = ran(sh("test $FOREWARN_TRY = 2 || sleep 120", timeout=2, tries=2))
    assert (ended.outcome, ended.tries) == (HookOutcome.DONE, 2)


def test_a_retry_that_would_be_too_late_is_skipped() -> None:
    call = a_call(left=60)
    ended = ran(sh("exit 4", tries=3, retry_after=61), call)
    assert (ended.outcome, ended.tries, ended.code) == (HookOutcome.FAILED, 1, 4)
    assert seconds(ended) < LONG


def test_the_pause_between_tries_uses_the_service_s_clock() -> None:
    ended = ran(sh("exit 4", tries=2, retry_after=60), a_call(rate=600))
    assert ended.tries == 2
    assert 60 <= seconds(ended) < 600 * LONG


@pytest.mark.slow
def test_a_hook_past_the_event_s_deadline_is_not_retried() -> None:
    call = a_call(left=1)
    ended = ran(sh(ON_AND_ON, tries=5), call)
    assert (ended.outcome, ended.tries) == (HookOutcome.CUT, 1)


def test_a_cut_ends_the_pause_between_two_tries(ready_pipe: ReadyPipe) -> None:
    cut = Cancellation()

    def cut_soon() -> None:
        ready_pipe.read()
        cut.cancel("the agent stops")

    cutting = Thread(target=cut_soon)
    cutting.start()
    hook = sh(f"echo up > {ready_pipe.path}; exit 4", tries=2, retry_after=LONG)
    ended = ran(hook, a_call(cut=cut))
    cutting.join()
    assert ended.tries == 1
    assert seconds(ended) < LONG / 2
