"""A program's conduct: its requests, its approvals and the verdicts (pure)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from forewarn.formats import count
from forewarn.server.metadata.faults.observer import RequestRecord
from forewarn.testing.rehearsal.program import describe_exit
from forewarn.testing.scenario.model import Throughout
from forewarn.testing.scenario.results import StepResult, StepVerdict

_SLACK = 0.25  # seconds; shared machines are sometimes slow


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramApproval:
    """An event that the program has approved."""

    event: str
    name: str | None  # its name in the scenario, if any
    resources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramConduct:
    """The program's behavior from its start to the end of the rehearsal."""

    vm: str
    began: float  # monotonic, like all other times in this class
    until: float  # end of the rehearsal or of the program
    outages: Sequence[tuple[float, float]] = ()  # start and end of each
    arrivals: Sequence[float] = ()  # arrival times, even of requests without responses
    requests: Sequence[RequestRecord] = ()
    approvals: Sequence[ProgramApproval] = ()
    has_ended: bool = False  # without being stopped by the player
    code: int | None = None  # exit code; None if it has not ended


# --- expectations for the whole scenario -------------------------------------


def judge_conduct(
    throughout: Throughout, conduct: ProgramConduct
) -> Iterator[StepResult]:
    """Yield the verdict on each expectation for the whole scenario."""
    if throughout.keeps_running:
        yield _result("the program keeps running", _exit_problem(conduct))
    if throughout.polls_at_least_every is not None:
        every = throughout.polls_at_least_every
        what = f"{conduct.vm} polls at least every {every:g} s"
        yield _result(what, _polling_problem(conduct, every))
    if throughout.never_approves:
        names = ", ".join(throughout.never_approves)
        what = f"{conduct.vm} never approves {names}"
        yield _result(what, _forbidden_problem(conduct, throughout.never_approves))
    if throughout.approves_nothing:
        yield _result(f"{conduct.vm} approves nothing", _approval_problem(conduct))
    if throughout.approves_only_its_own:
        what = f"{conduct.vm} approves only events that list it"
        yield _result(what, _ownership_problem(conduct))


def _result(what: str, reason: str | None) -> StepResult:
    verdict = StepVerdict.PASSED if reason is None else StepVerdict.FAILED
    return StepResult(what=what, verdict=verdict, reason=reason)


def _exit_problem(conduct: ProgramConduct) -> str | None:
    return f"the program {describe_exit(conduct.code)}" if conduct.has_ended else None


def _polling_problem(conduct: ProgramConduct, every: float) -> str | None:
    gap, since = max(_gaps(conduct), default=(0.0, 0.0))
    if gap <= every + _SLACK:
        return None
    at = since - conduct.began
    return (
        f"{conduct.vm} did not poll for {gap:.1f} s, starting {at:.1f} s after the"
        " program started"
    )


def _gaps(conduct: ProgramConduct) -> Iterator[tuple[float, float]]:
    """Yield the length and start of each period without open requests or outages."""
    answered = {request.since: request.at for request in conduct.requests}
    spans = [(at, answered.get(at, conduct.until)) for at in conduct.arrivals]
    spans += [*conduct.outages, (conduct.until, conduct.until)]
    last = conduct.began
    for since, until in sorted(spans):
        if since > last:
            yield since - last, last
        last = max(last, until)


def _forbidden_problem(conduct: ProgramConduct, names: Sequence[str]) -> str | None:
    approved = [
        approval.name for approval in conduct.approvals if approval.name in names
    ]
    return f"it approved {', '.join(map(str, approved))}" if approved else None


def _approval_problem(conduct: ProgramConduct) -> str | None:
    names = [approval.name or approval.event for approval in conduct.approvals]
    return f"it approved {', '.join(names)}" if names else None


def _ownership_problem(conduct: ProgramConduct) -> str | None:
    for approval in conduct.approvals:
        if conduct.vm.lower() not in {name.lower() for name in approval.resources}:
            listed = ", ".join(approval.resources)
            return (
                f"it approved {approval.name or approval.event}, which lists {listed}"
            )
    return None


# --- reasons -----------------------------------------------------------------


def why_unapproved(
    conduct: ProgramConduct, event: str, *, is_seen: bool, since: float
) -> str:
    """Explain, using requests after `since`, why `event` was probably not approved."""
    if conduct.has_ended:
        return f"the program {describe_exit(conduct.code)} before approving it"
    posts = [request for request in conduct.requests if request.method == "POST"]
    refused = [
        request for request in posts if request.at > since and request.status >= 400
    ]
    if refused:
        last = refused[-1]
        return f"its last approval failed with {last.status}{_header(last)}"
    if not is_seen:
        return why_unseen(conduct, since)
    number = sum(at > since for at in conduct.arrivals)
    if not number:
        return f"{conduct.vm} received the event, but has sent no requests since"
    sent = count(number, "request")
    others = ", ".join(posts[-1].events) if posts else ""
    return (
        f"{conduct.vm} received the event and has sent {sent} since, but no approval"
        + (f" of {event}, only of {others}" if posts else "")
    )


def why_unseen(conduct: ProgramConduct, since: float) -> str:
    """Explain why there was no successful poll after `since`."""
    if conduct.has_ended:
        return f"the program {describe_exit(conduct.code)}"
    if not conduct.arrivals:
        return (
            "the program sent no requests; does it use the address in"
            " $FOREWARN_ENDPOINT?"
        )
    latest = [request for request in conduct.requests if request.at > since]
    bad = [
        request for request in latest if request.status >= 400 and request.fault is None
    ]
    if bad:
        last = bad[-1]
        return f"{last.method} {last.path} failed with {last.status}{_header(last)}"
    silent = conduct.until - conduct.arrivals[-1]
    return (
        f"{conduct.vm} sent its last request {silent:.1f} s ago; requests in total:"
        f" {len(conduct.arrivals)}"
    )


def _header(request: RequestRecord) -> str:
    if request.is_marked:
        return "" if request.version else ": it has no api-version"
    return ": it has no `Metadata: true` header"
