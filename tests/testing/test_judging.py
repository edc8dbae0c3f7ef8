"""What is expected all the time is judged by what was seen, and the reason is told."""

from tests.testing.conducts import a_conduct, an_approval, an_asked

from forewarn.testing.judging import Conduct, judge, unapproved, unseen
from forewarn.testing.scenario import Throughout
from forewarn.testing.verdicts import Result, Verdict

POLLS = Throughout(keeps_running=False, polls_at_least_every=2.0)


def the_only(throughout: Throughout, conduct: Conduct) -> Result:
    (result,) = judge(throughout, conduct)
    return result


def test_a_program_that_runs_to_the_end_keeps_running() -> None:
    assert the_only(Throughout(), a_conduct()).verdict is Verdict.PASSED


def test_a_program_that_ends_is_told_with_its_code() -> None:
    found = the_only(Throughout(), a_conduct(has_ended=True, code=3))
    assert found.verdict is Verdict.FAILED
    assert found.reason == "the program ended with exit code 3"


def test_a_program_that_is_killed_is_told_with_the_signal() -> None:
    found = the_only(Throughout(), a_conduct(has_ended=True, code=-9))
    assert found.reason == "the program was killed by signal 9"


def test_steady_polls_are_often_enough() -> None:
    steady = [an_asked(float(second)) for second in range(1, 10)]
    assert the_only(POLLS, a_conduct(asked=steady)).verdict is Verdict.PASSED


def test_a_pause_between_polls_is_told_with_its_length_and_beginning() -> None:
    asked = [an_asked(1.0), an_asked(6.0), an_asked(7.5), an_asked(9.0)]
    found = the_only(POLLS, a_conduct(asked=asked))
    assert found.reason == (
        "web-0 did not ask for 5.0 s, beginning 1.0 s after the program's start"
    )


def test_a_program_that_stops_asking_is_found_out_at_the_end() -> None:
    found = the_only(POLLS, a_conduct(asked=[an_asked(1.0), an_asked(2.0)]))
    assert found.reason is not None
    assert "for 8.0 s, beginning 2.0 s" in found.reason


def test_a_pause_may_be_a_little_longer_on_a_busy_machine() -> None:
    late, too_late = a_conduct(came=[2.2], until=4), a_conduct(came=[2.3], until=4)
    assert the_only(POLLS, late).verdict is Verdict.PASSED
    assert the_only(POLLS, too_late).verdict is Verdict.FAILED


def test_a_short_request_beside_one_that_is_held_makes_no_pause() -> None:
    both = [an_asked(9.0, since=1.0), an_asked(2.0)]
    assert the_only(POLLS, a_conduct(asked=both)).verdict is Verdict.PASSED


def test_a_request_that_is_held_is_no_pause() -> None:
    held = [an_asked(6.0, since=1.0), an_asked(9.0, since=6.1)]
    assert the_only(POLLS, a_conduct(asked=held)).verdict is Verdict.PASSED


def test_a_request_that_is_still_held_at_the_end_is_no_pause() -> None:
    conduct = a_conduct(came=[1.0], asked=[])
    assert the_only(POLLS, conduct).verdict is Verdict.PASSED


def test_while_the_service_is_away_nobody_must_ask() -> None:
    asked = [an_asked(1.0), an_asked(9.0)]
    away = the_only(POLLS, a_conduct(asked=asked, away=[(1.5, 8.5)]))
    assert away.verdict is Verdict.PASSED


def test_what_must_never_be_approved_is_named_if_it_was() -> None:
    throughout = Throughout(keeps_running=False, never_approves=("first",))
    fine = the_only(throughout, a_conduct(approvals=[an_approval("second")]))
    bad = the_only(throughout, a_conduct(approvals=[an_approval("first")]))
    assert fine.verdict is Verdict.PASSED
    assert bad.reason == "it approved first"


def test_one_who_must_approve_nothing_is_told_what_he_approved() -> None:
    throughout = Throughout(keeps_running=False, approves_nothing=True)
    assert the_only(throughout, a_conduct()).verdict is Verdict.PASSED
    found = the_only(throughout, a_conduct(approvals=[an_approval(None)]))
    assert found.reason == "it approved E0"


def test_approving_what_lists_only_others_is_found() -> None:
    throughout = Throughout(keeps_running=False, approves_only_its_own=True)
    own = an_approval("own", ("web-1", "WEB-0"))
    other = an_approval("other", ("web-1", "web-2"))
    assert the_only(throughout, a_conduct(approvals=[own])).verdict is Verdict.PASSED
    found = the_only(throughout, a_conduct(approvals=[own, other]))
    assert found.reason == "it approved other, which lists web-1, web-2"


# --- reasons -----------------------------------------------------------------


def test_whoever_never_asked_is_pointed_to_the_variable() -> None:
    assert "$FOREWARN_ENDPOINT" in unseen(a_conduct(), 0.0)


def test_whoever_is_refused_learns_which_header_is_missing() -> None:
    conduct = a_conduct(asked=[an_asked(5.0, status=400, is_marked=False)])
    assert unseen(conduct, 1.0) == (
        "GET /metadata/scheduledevents was answered 400: it sent no"
        " `Metadata: true` header"
    )


def test_whoever_gives_no_version_learns_it() -> None:
    conduct = a_conduct(asked=[an_asked(5.0, status=400, version="")])
    assert "it gave no api-version" in unseen(conduct, 1.0)


def test_whoever_fell_silent_is_told_since_when() -> None:
    conduct = a_conduct(asked=[an_asked(1.0), an_asked(2.0)])
    assert unseen(conduct, 3.0) == "web-0 asked last 8.0 s ago; requests in all: 2"


def test_one_who_saw_and_did_not_post_is_told_so() -> None:
    conduct = a_conduct(asked=[an_asked(1.0), an_asked(2.0)])
    found = unapproved(conduct, "reboot", is_seen=True, since=0.5)
    assert found == (
        "web-0 was shown it and has asked 2 times since, but it posted no approval"
    )


def test_one_who_posted_another_id_is_told_which() -> None:
    post = an_asked(3.0, method="POST", events=("E9",))
    found = unapproved(a_conduct(asked=[post]), "reboot", is_seen=True, since=0.5)
    assert found.endswith("posted no approval of reboot, only of E9")


def test_a_refused_approval_is_the_reason() -> None:
    post = an_asked(3.0, method="POST", status=400, is_marked=False)
    found = unapproved(a_conduct(asked=[post]), "reboot", is_seen=True, since=0.5)
    assert found.startswith("its last approval was answered 400: it sent no `Metadata")


def test_of_several_refused_approvals_the_last_since_then_is_told() -> None:
    posts = [
        an_asked(at, method="POST", status=status)
        for at, status in [(0.2, 400), (3.0, 429), (4.0, 503)]
    ]
    asked = a_conduct(asked=posts)
    found = unapproved(asked, "reboot", is_seen=True, since=0.5)
    assert found == "its last approval was answered 503"
    later = unapproved(asked, "reboot", is_seen=True, since=5.0)
    assert "was answered" not in later


def test_what_the_scenario_spoils_is_not_laid_to_the_program() -> None:
    spoilt = an_asked(5.0, status=503, fault="503")
    assert unseen(a_conduct(asked=[spoilt]), 1.0).startswith("web-0 asked last 5.0 s")


def test_an_end_before_the_approval_is_the_reason() -> None:
    conduct = a_conduct(has_ended=True, code=1)
    found = unapproved(conduct, "reboot", is_seen=True, since=0.5)
    assert found == "the program ended with exit code 1 before it approved"
