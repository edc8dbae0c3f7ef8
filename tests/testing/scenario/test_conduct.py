"""Verdicts on expectations for the whole scenario, and their reasons."""

from collections.abc import Sequence

import pytest
from tests.testing.support.request_records import a_request_record

from forewarn.server.metadata.faults.observer import RequestRecord
from forewarn.testing.scenario.conduct import (
    ProgramApproval,
    ProgramConduct,
    judge_conduct,
    why_unapproved,
    why_unseen,
)
from forewarn.testing.scenario.model import Throughout
from forewarn.testing.scenario.results import StepResult, StepVerdict


def a_conduct(
    *,
    arrivals: Sequence[float] | None = None,
    requests: Sequence[RequestRecord] = (),
    until: float = 10.0,
    outages: Sequence[tuple[float, float]] = (),
    approvals: Sequence[ProgramApproval] = (),
    has_ended: bool = False,
    code: int | None = None,
) -> ProgramConduct:
    """Make the conduct of a program that started at 0."""
    return ProgramConduct(
        vm="web-0",
        began=0.0,
        until=until,
        outages=outages,
        arrivals=[request.since for request in requests]
        if arrivals is None
        else arrivals,
        requests=requests,
        approvals=approvals,
        has_ended=has_ended,
        code=code,
    )


def an_approval(
    called: str | None = "reboot", resources: tuple[str, ...] = ("web-0",)
) -> ProgramApproval:
    return ProgramApproval(event="E0", name=called, resources=resources)


POLLS = Throughout(keeps_running=False, polls_at_least_every=2.0)


def the_only(throughout: Throughout, conduct: ProgramConduct) -> StepResult:
    (result,) = judge_conduct(throughout, conduct)
    return result


def test_program_that_runs_to_the_end_keeps_running() -> None:
    assert the_only(Throughout(), a_conduct()).verdict is StepVerdict.PASSED


@pytest.mark.parametrize(
    ("code", "how"), [(3, "ended with exit code 3"), (-9, "was killed by signal 9")]
)
def test_end_of_a_program_is_reported(code: int, how: str) -> None:
    result = the_only(Throughout(), a_conduct(has_ended=True, code=code))
    assert result.verdict is StepVerdict.FAILED
    assert result.reason == f"the program {how}"


def test_pause_between_polls_is_reported_with_length_and_start() -> None:
    requests = [
        a_request_record(1.0),
        a_request_record(6.0),
        a_request_record(7.5),
        a_request_record(9.0),
    ]
    result = the_only(POLLS, a_conduct(requests=requests))
    assert result.reason == (
        "web-0 did not poll for 5.0 s, starting 1.0 s after the program started"
    )


def test_program_that_stops_polling_fails_at_the_end() -> None:
    result = the_only(
        POLLS, a_conduct(requests=[a_request_record(1.0), a_request_record(2.0)])
    )
    assert result.reason is not None
    assert "for 8.0 s, starting 2.0 s" in result.reason


def test_pause_may_be_slightly_longer_on_a_busy_machine() -> None:
    late, too_late = (
        a_conduct(arrivals=[2.2], until=4),
        a_conduct(arrivals=[2.3], until=4),
    )
    assert the_only(POLLS, late).verdict is StepVerdict.PASSED
    assert the_only(POLLS, too_late).verdict is StepVerdict.FAILED


@pytest.mark.parametrize(
    "conduct",
    [
        a_conduct(requests=[a_request_record(float(at)) for at in range(1, 10)]),
        a_conduct(
            requests=[
                a_request_record(6.0, since=1.0),
                a_request_record(9.0, since=6.1),
            ]
        ),
        a_conduct(requests=[a_request_record(9.0, since=1.0), a_request_record(2.0)]),
        a_conduct(arrivals=[1.0], requests=[]),
        a_conduct(
            requests=[a_request_record(1.0), a_request_record(9.0)],
            outages=[(1.5, 8.5)],
        ),
    ],
    ids=[
        "steady polls",
        "long polls",
        "a request during a long poll",
        "a long poll at the end",
        "an outage",
    ],
)
def test_polls_are_frequent_enough(conduct: ProgramConduct) -> None:
    assert the_only(POLLS, conduct).verdict is StepVerdict.PASSED


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


def test_approving_an_event_of_other_vms_fails() -> None:
    throughout = Throughout(keeps_running=False, approves_only_its_own=True)
    own = an_approval("own", ("web-1", "WEB-0"))
    other = an_approval("other", ("web-1", "web-2"))
    assert (
        the_only(throughout, a_conduct(approvals=[own])).verdict is StepVerdict.PASSED
    )
    result = the_only(throughout, a_conduct(approvals=[own, other]))
    assert result.reason == "it approved other, which lists web-1, web-2"


# --- reasons -----------------------------------------------------------------


def test_reason_for_a_program_that_never_polled_names_the_variable() -> None:
    assert "$FOREWARN_ENDPOINT" in why_unseen(a_conduct(), 0.0)


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (
            a_request_record(5.0, status=400, is_marked=False),
            "GET /metadata/scheduledevents failed with 400: it has no"
            " `Metadata: true` header",
        ),
        (
            a_request_record(5.0, status=400, version=""),
            "GET /metadata/scheduledevents failed with 400: it has no api-version",
        ),
        (
            a_request_record(0.5),
            "web-0 sent its last request 9.5 s ago; requests in total: 1",
        ),
        (
            a_request_record(5.0, status=503, fault="503"),
            "web-0 sent its last request 5.0 s ago; requests in total: 1",
        ),
    ],
    ids=["no header", "no api-version", "no poll since", "an injected fault"],
)
def test_reason_of_an_unseen_event(request_: RequestRecord, reason: str) -> None:
    assert why_unseen(a_conduct(requests=[request_]), 1.0) == reason


@pytest.mark.parametrize(
    ("requests", "reason"),
    [
        (
            [a_request_record(1.0), a_request_record(2.0)],
            "web-0 received the event and has sent 2 requests since, but no approval",
        ),
        (
            [a_request_record(3.0, method="POST", events=("E9",))],
            "web-0 received the event and has sent 1 request since, but no approval"
            " of reboot, only of E9",
        ),
        (
            [a_request_record(3.0, method="POST", status=400, is_marked=False)],
            "its last approval failed with 400: it has no `Metadata: true` header",
        ),
        (
            [
                a_request_record(at, method="POST", status=status)
                for at, status in [(0.2, 400), (3.0, 429), (4.0, 503)]
            ],
            "its last approval failed with 503",
        ),
    ],
    ids=["none", "of another event", "refused", "refused several times"],
)
def test_reason_of_a_missing_approval(
    requests: list[RequestRecord], reason: str
) -> None:
    conduct = a_conduct(requests=requests)
    assert why_unapproved(conduct, "reboot", is_seen=True, since=0.5) == reason


def test_program_that_sent_nothing_since_has_sent_no_requests() -> None:
    conduct = a_conduct(requests=[a_request_record(1.0)])
    reason = why_unapproved(conduct, "reboot", is_seen=True, since=2.0)
    assert reason == "web-0 received the event, but has sent no requests since"


def test_earlier_refusals_are_not_the_reason() -> None:
    early = a_request_record(4.0, method="POST", status=503)
    conduct = a_conduct(requests=[early, a_request_record(6.0)])
    reason = why_unapproved(conduct, "reboot", is_seen=True, since=5.0)
    assert "failed with" not in reason


def test_exit_before_the_approval_is_the_reason() -> None:
    conduct = a_conduct(has_ended=True, code=1)
    reason = why_unapproved(conduct, "reboot", is_seen=True, since=0.5)
    assert reason == "the program ended with exit code 1 before approving it"
