"""Judges what a program did, and says why it is not what was expected; pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from forewarn.server.witness import Asked
from forewarn.testing.scenario import Throughout
from forewarn.testing.verdicts import Result, Verdict

_SLACK = 0.25  # seconds; a shared machine is late now and then


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """An event that the program has approved."""

    event: str
    called: str | None  # as in the scenario; None: it has no name there
    resources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conduct:
    """What the program did from its start to the end of the rehearsal."""

    vm: str
    began: float  # monotonic, like all times here
    until: float  # the end of the rehearsal, or of the program
    away: Sequence[tuple[float, float]] = ()  # when nobody could have asked
    came: Sequence[float] = ()  # when it asked, answered or not
    asked: Sequence[Asked] = ()
    approvals: Sequence[Approval] = ()
    has_ended: bool = False  # by itself
    code: int | None = None  # what it ended with


def judge(throughout: Throughout, conduct: Conduct) -> Iterator[Result]:
    """Say for each thing that is expected all the time whether it was so."""
    if throughout.keeps_running:
        yield _result("the program keeps running", _ended(conduct))
    if throughout.polls_at_least_every is not None:
        every = throughout.polls_at_least_every
        what = f"{conduct.vm} asks at least every {every:g} s"
        yield _result(what, _rarely(conduct, every))
    if throughout.never_approves:
        names = ", ".join(throughout.never_approves)
        what = f"{conduct.vm} never approves {names}"
        yield _result(what, _forbidden(conduct, throughout.never_approves))
    if throughout.approves_nothing:
        yield _result(f"{conduct.vm} approves nothing", _anything(conduct))
    if throughout.approves_only_its_own:
        what = f"{conduct.vm} approves only events that list it"
        yield _result(what, _others(conduct))


def _result(what: str, reason: str | None) -> Result:
    verdict = Verdict.PASSED if reason is None else Verdict.FAILED
    return Result(what=what, verdict=verdict, reason=reason)


def _ended(conduct: Conduct) -> str | None:
    return f"the program {ending(conduct.code)}" if conduct.has_ended else None


def ending(code: int | None) -> str:
    """Say how a program ended."""
    if code is not None and code < 0:
        return f"was killed by signal {-code}"
    return f"ended with exit code {code}"


def _rarely(conduct: Conduct, every: float) -> str | None:
    gap, since = max(_gaps(conduct), default=(0.0, 0.0))
    if gap <= every + _SLACK:
        return None
    at = since - conduct.began
    return (
        f"{conduct.vm} did not ask for {gap:.1f} s, beginning {at:.1f} s after the"
        " program's start"
    )


def _gaps(conduct: Conduct) -> Iterator[tuple[float, float]]:
    """How long it left the service alone, and since when; one that waits, asks."""
    answered = {each.since: each.at for each in conduct.asked}
    spans = [(at, answered.get(at, conduct.until)) for at in conduct.came]
    spans += [*conduct.away, (conduct.until, conduct.until)]
    last = conduct.began
    for since, until in sorted(spans):
        if since > last:
            yield since - last, last
        last = max(last, until)


def _forbidden(conduct: Conduct, names: Sequence[str]) -> str | None:
    found = [each.called for each in conduct.approvals if each.called in names]
    return f"it approved {', '.join(map(str, found))}" if found else None


def _anything(conduct: Conduct) -> str | None:
    found = [each.called or each.event for each in conduct.approvals]
    return f"it approved {', '.join(found)}" if found else None


def _others(conduct: Conduct) -> str | None:
    for each in conduct.approvals:
        if conduct.vm.lower() not in {name.lower() for name in each.resources}:
            listed = ", ".join(each.resources)
            return f"it approved {each.called or each.event}, which lists {listed}"
    return None


def unapproved(conduct: Conduct, event: str, *, is_seen: bool, since: float) -> str:
    """Say why `event` was probably not approved, by what was seen since then."""
    if conduct.has_ended:
        return f"the program {ending(conduct.code)} before it approved"
    posts = [each for each in conduct.asked if each.method == "POST"]
    refused = [each for each in posts if each.at > since and each.status >= 400]
    if refused:
        last = refused[-1]
        return f"its last approval was answered {last.status}{_header(last)}"
    if not is_seen:
        return unseen(conduct, since)
    times = sum(at > since for at in conduct.came)
    return (
        f"{conduct.vm} was shown it and has asked {times} times since, but it posted"
        " no approval"
        + ("" if not posts else f" of {event}, only of {', '.join(posts[-1].events)}")
    )


def unseen(conduct: Conduct, since: float) -> str:
    """Say why the program has not seen what was there `since` then."""
    if conduct.has_ended:
        return f"the program {ending(conduct.code)}"
    if not conduct.came:
        return (
            "the program has asked for nothing at all; does it use the address in"
            " $FOREWARN_ENDPOINT?"
        )
    latest = [each for each in conduct.asked if each.at > since]
    bad = [each for each in latest if each.status >= 400 and each.fault is None]
    if bad:
        last = bad[-1]
        return f"{last.method} {last.path} was answered {last.status}{_header(last)}"
    silent = conduct.until - conduct.came[-1]
    return (
        f"{conduct.vm} asked last {silent:.1f} s ago; requests in all:"
        f" {len(conduct.came)}"
    )


def _header(asked: Asked) -> str:
    if asked.is_marked:
        return "" if asked.version else ": it gave no api-version"
    return ": it sent no `Metadata: true` header"
