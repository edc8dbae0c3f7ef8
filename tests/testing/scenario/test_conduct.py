"""Verdicts on expectations that hold throughout, and their reasons."""

from tests.testing.support.conduct_builders import (
    a_conduct,
    a_request_record,
    an_approval,
)

from forewarn.testing.scenario.conduct import (
    ProgramConduct,
    judge_conduct,
    why_unapproved,
    why_unseen,
)
from forewarn.testing.scenario.model import Throughout
from forewarn.testing.scenario.results import StepResult, StepVerdict

POLLS = Throughout(keeps_running=False, polls_at_least_every=2.0)


def the_only(throughout: Throughout, conduct: ProgramConduct) -> StepResult:
    (result,) = judge_conduct(throughout, conduct)
    return result


def test_program_that_runs_to_the_end_keeps_running() -> None:
    assert the_only(Throughout(), a_conduct()).verdict is StepVerdict.PASSED


def test_exit_code_of_an_ended_program_is_reported() -> None:
    result = the_only(Throughout(), a_conduct(has_ended=True, code=3))
    assert result.verdict is StepVerdict.FAILED
    assert result.reason == "the program ended with exit code 3"


def test_signal_that_killed_a_program_is_reported() -> None:
    result = the_only(Throughout(), a_conduct(has_ended=True, code=-9))
    assert result.reason == "the program was killed by signal 9"


def test_steady_polls_are_frequent_enough() -> None:
    steady = [a_request_record(float(second)) for second in range(1, 10)]
    assert the_only(POLLS, a_conduct(requests=steady)).verdict is StepVerdict.PASSED


def test_pause_between_polls_is_reported_with_length_and_start() -> None:
    requests = [
        a_request_record(1.0),
        a_request_record(6.0),
        a_request_record(7.5),
        a_request_record(9.0),
    ]
    result = the_only(POLLS, a_conduct(requests=requests))
    assert result.reason == (
        "web-0 did not ask for 5.0 s, beginning 1.0 s after the program's start"
    )


def test_program_that_stops_polling_fails_at_the_end() -> None:
    result = the_only(
        POLLS, a_conduct(requests=[a_request_record(1.0), a_request_record(2.0)])
    )
    assert result.reason is not None
    assert "for 8.0 s, beginning 2.0 s" in result.reason


def test_pause_may_be_slightly_longer_on_a_busy_machine() -> None:
    late, too_late = (
        a_conduct(arrivals=[2.2], until=4),
        a_conduct(arrivals=[2.3], until=4),
    )
    assert the_only(POLLS, late).verdict is StepVerdict.PASSED
    assert the_only(POLLS, too_late).verdict is StepVerdict.FAILED


def test_short_request_during_a_long_poll_is_not_a_pause() -> None:
    both = [a_request_record(9.0, since=1.0), a_request_record(2.0)]
    assert the_only(POLLS, a_conduct(requests=both)).verdict is StepVerdict.PASSED


def test_long_poll_is_not_a_pause() -> None:
    held = [a_request_record(6.0, since=1.0), a_request_record(9.0, since=6.1)]
    assert the_only(POLLS, a_conduct(requests=held)).verdict is StepVerdict.PASSED


def test_pending_long_poll_at_the_end_is_not_a_pause() -> None:
    conduct = a_conduct(arrivals=[1.0], requests=[])
    assert the_only(POLLS, conduct).verdict is StepVerdict.PASSED


def test_no_polls_are_expected_during_an_outage() -> None:
    requests = [a_request_record(1.0), a_request_record(9.0)]
    outages = the_only(POLLS, a_conduct(requests=requests, outages=[(1.5, 8.5)]))
    assert outages.verdict is StepVerdict.PASSED


def test_forbidden_approval_is_named() -> None:
    throughout = Throughout(keeps_running=False, never_approves=("first",))
    fine = the_only(throughout, a_conduct(approvals=[an_approval("second")]))
    bad = the_only(throughout, a_conduct(approvals=[an_approval("first")]))
    assert fine.verdict is StepVerdict.PASSED
    assert bad.reason == "it approved first"


def test_any_approval_fails_if_none_is_allowed() -> None:
    throughout = Throughout(keeps_running=False, approves_nothing=True)
    assert the_only(throughout, a_conduct()).verdict is StepVerdict.PASSED
    result = the_only(throughout, a_conduct(approvals=[an_approval(None)]))
    assert result.reason == "it approved E0"


def test_approving_an_event_of_others_fails() -> None:
    throughout = Throughout(keeps_running=False, approves_only_its_own=True)
    own = an_approval("own", ("web-1", "WEB-0"))
    other = an_approval("other", ("web-1", "web-2"))
    assert (
        the_only(throughout, a_conduct(approvals=[own])).verdict is StepVerdict.PASSED
    )
    result = the_only(throughout, a_conduct(approvals=[own, other]))
    assert result.reason == "it approved other, which lists web-1, web-2"


# --- reasons -----------------------------------------------------------------


def test_program_that_never_polled_is_pointed_to_the_variable() -> None:
    assert "$FOREWARN_ENDPOINT" in why_unseen(a_conduct(), 0.0)


def test_missing_header_is_the_reason_of_a_refusal() -> None:
    conduct = a_conduct(requests=[a_request_record(5.0, status=400, is_marked=False)])
    assert why_unseen(conduct, 1.0) == (
        "GET /metadata/scheduledevents was answered 400: it sent no"
        " `Metadata: true` header"
    )


def test_missing_api_version_is_the_reason_of_a_refusal() -> None:
    conduct = a_conduct(requests=[a_request_record(5.0, status=400, version="")])
    assert "it gave no api-version" in why_unseen(conduct, 1.0)


def test_reason_shows_the_time_of_the_last_poll() -> None:
    conduct = a_conduct(requests=[a_request_record(1.0), a_request_record(2.0)])
    assert why_unseen(conduct, 3.0) == "web-0 asked last 8.0 s ago; requests in all: 2"


def test_reason_shows_that_no_approval_was_posted() -> None:
    conduct = a_conduct(requests=[a_request_record(1.0), a_request_record(2.0)])
    reason = why_unapproved(conduct, "reboot", is_seen=True, since=0.5)
    assert reason == (
        "web-0 was shown it and has asked 2 times since, but it posted no approval"
    )


def test_reason_shows_the_id_that_was_approved_instead() -> None:
    post = a_request_record(3.0, method="POST", events=("E9",))
    reason = why_unapproved(
        a_conduct(requests=[post]), "reboot", is_seen=True, since=0.5
    )
    assert reason.endswith("posted no approval of reboot, only of E9")


def test_refused_approval_is_the_reason() -> None:
    post = a_request_record(3.0, method="POST", status=400, is_marked=False)
    reason = why_unapproved(
        a_conduct(requests=[post]), "reboot", is_seen=True, since=0.5
    )
    assert reason.startswith("its last approval was answered 400: it sent no `Metadata")


def test_last_of_several_refused_approvals_is_the_reason() -> None:
    posts = [
        a_request_record(at, method="POST", status=status)
        for at, status in [(0.2, 400), (3.0, 429), (4.0, 503)]
    ]
    conduct = a_conduct(requests=posts)
    reason = why_unapproved(conduct, "reboot", is_seen=True, since=0.5)
    assert reason == "its last approval was answered 503"
    later = why_unapproved(conduct, "reboot", is_seen=True, since=5.0)
    assert "was answered" not in later


def test_injected_faults_are_not_blamed_on_the_program() -> None:
    spoilt = a_request_record(5.0, status=503, fault="503")
    assert why_unseen(a_conduct(requests=[spoilt]), 1.0).startswith(
        "web-0 asked last 5.0 s"
    )


def test_exit_before_the_approval_is_the_reason() -> None:
    conduct = a_conduct(has_ended=True, code=1)
    reason = why_unapproved(conduct, "reboot", is_seen=True, since=0.5)
    assert reason == "the program ended with exit code 1 before it approved"
