"""Lint rules for resilience, which is continued polling after documents and errors."""

from collections.abc import Mapping, Sequence
from functools import partial

from forewarn.core.faults import FaultKind
from forewarn.formats import count, join_all
from forewarn.server.metadata.faults.observer import RequestRecord
from forewarn.testing.lint.evidence import CoursePart, Evidence
from forewarn.testing.lint.findings import (
    LintRule,
    RuleResult,
    Severity,
    format_seconds,
    found,
    passed,
    unseen,
)
from forewarn.testing.rehearsal.program import describe_exit

_FAULTY = (CoursePart.TOO_MANY, CoursePart.ERRORS)
#: What a program receives because of a fault, unless it is a status.
_FAULT_TEXTS: Mapping[str | None, str] = {
    kind.value: f"a {kind.text}" for kind in FaultKind if not kind.isdigit()
}


def _ends_while_quiet(evidence: Evidence) -> RuleResult:
    if not evidence.polls_in(CoursePart.QUIET):
        return unseen("it did not poll")
    ending = evidence.ending
    if ending is not None and evidence.last_part is CoursePart.QUIET:
        sent = count(len(evidence.polls_in(CoursePart.QUIET)), "poll")
        return found(f"{describe_exit(ending.code)} after {sent}", at=ending.at)
    if evidence.span(CoursePart.SCHEDULED) is None:
        return unseen("the run ended before its own events were announced")
    return passed("was still running when events were announced")


def _stops(part: CoursePart, what: str, evidence: Evidence) -> RuleResult:
    if not evidence.polls_in(part):
        return unseen(f"it did not receive {what}")
    if evidence.last_part is not part:
        return passed(f"kept polling after {what}")
    if evidence.ending is not None:
        return unseen(f"it ended after {what}")
    if evidence.silence < evidence.patience:
        return unseen(f"time ran out after {what}")
    silence = format_seconds(evidence.silence)
    return found(f"did not poll for {silence} after {what}", at=evidence.polls[-1].at)


def _ends(part: CoursePart, what: str, evidence: Evidence) -> RuleResult:
    if not evidence.polls_in(part):
        return unseen(f"it did not receive {what}")
    if evidence.ending is None or evidence.last_part is not part:
        return passed(f"kept running after {what}")
    ending, waited = evidence.ending, format_seconds(evidence.silence)
    return found(f"{describe_exit(ending.code)}, {waited} after {what}", at=ending.at)


def _gives_up(evidence: Evidence) -> RuleResult:
    met = [e for part in _FAULTY for e in evidence.polls_in(part)]
    bad = [e for e in met if e.fault is not None]
    if not bad:
        return unseen("it received no error")
    if evidence.last_part not in _FAULTY:
        texts = dict.fromkeys(map(_response_text, bad))
        return passed(f"kept polling after {join_all([*texts])}")
    last = f"its last poll received {_response_text(met[-1])}"
    if evidence.ending is not None:
        code = evidence.ending.code
        return found(f"{describe_exit(code)}; {last}", at=evidence.ending.at)
    silence = format_seconds(evidence.silence)
    if evidence.silence < evidence.patience:
        return unseen(f"time ran out; {last}")
    return found(f"did not poll for {silence}; {last}", at=met[-1].at)


def _response_text(poll: RequestRecord) -> str:
    """Describe the response to a poll by its fault or its status."""
    if poll.fault in _FAULT_TEXTS:
        return _FAULT_TEXTS[poll.fault]
    return str(poll.status) if poll.status else "no response"


def _survives(
    part: CoursePart,
    what: str,
    *,
    severity: Severity,
    hurts: str,
    remedy: str,
    facts: tuple[str, ...],
) -> Sequence[LintRule]:
    """Return rules requiring that the program survive `what`, sent during `part`."""
    return [
        LintRule(
            id=f"{verb}-after-{part.replace(' ', '-')}",
            severity=severity,
            hurts=hurts,
            remedy=remedy,
            facts=facts,
            check=partial(check, part, what),
        )
        for verb, check in (("stops", _stops), ("ends", _ends))
    ]


RULES: Sequence[LintRule] = (
    LintRule(
        id="ends-while-quiet",
        severity=Severity.ERROR,
        hurts=(
            "An event can be announced at any time, and a program that has ended"
            " misses it."
        ),
        remedy=(
            "Keep the program running as long as the VM runs, and restart it if it"
            " ends."
        ),
        facts=("6.1a", "10.2"),
        check=_ends_while_quiet,
    ),
    *_survives(
        CoursePart.NEIGHBOR,
        "an event for another VM",
        severity=Severity.ERROR,
        hurts="The event does not affect this VM, but the program misses this VM's own"
        " events.",
        remedy="Ignore events that do not list this VM, and keep polling.",
        facts=("7.1b", "7.1c"),
    ),
    *_survives(
        CoursePart.SCHEDULED,
        "a Scheduled event of its own VM",
        severity=Severity.WARNING,  # the program may be preparing
        hurts="The program does not notice if the event is canceled or if another one"
        " is announced.",
        remedy="Prepare in a separate thread or process, and keep polling.",
        facts=("6.4a", "6.7"),
    ),
    *_survives(
        CoursePart.STARTED,
        "a Started event with an empty NotBefore",
        severity=Severity.ERROR,
        hurts="A Freeze ends within seconds and the VM keeps running, but the program"
        " misses all later events.",
        remedy="Treat an empty NotBefore as `now`, and keep polling, even after the"
        " event has disappeared.",
        facts=("5.7d", "6.3a", "6.6a"),
    ),
    *_survives(
        CoursePart.REBOOT,
        "a Reboot of its own VM",
        severity=Severity.WARNING,  # the program may restart with the VM
        hurts="If the Reboot is canceled, the VM keeps running, but the program misses"
        " all later events.",
        remedy="Keep polling until the VM goes down.",
        facts=("6.7", "6.9"),
    ),
    *_survives(
        CoursePart.GONE,
        "a document without events",
        severity=Severity.ERROR,
        hurts="The program misses the next event.",
        remedy="Undo the preparation, and keep polling.",
        facts=("5.6b", "6.7", "6.9"),
    ),
    *_survives(
        CoursePart.OTHER_VERSION,
        "a document with an unknown event type and unknown fields",
        severity=Severity.ERROR,
        hurts="Almost every version has added event types or fields. A program that"
        " cannot handle new ones misses all events as soon as they appear.",
        remedy="Ignore unknown fields, and handle unknown event types.",
        facts=("3.0d", "3.0e", "3.0f", "3.0g", "3.0h"),
    ),
    *_survives(
        CoursePart.RESTART,
        "an incarnation that restarted at 0",
        severity=Severity.ERROR,
        hurts="The incarnation restarts when no VM in the group has polled for a day.",
        remedy=(
            "Check whether the incarnation has changed, not whether it has increased."
        ),
        facts=("5.1d", "5.1i", "10.2"),
    ),
    LintRule(
        id="gives-up-on-errors",
        severity=Severity.ERROR,
        hurts="The service is sometimes updated (410), fails (500) or rejects requests"
        " (429), and has been observed to return 200 without a body. A proxy may return"
        " an error as 200. A program that gives up misses all later events.",
        remedy="After any error except 400, wait and poll again. Treat a response"
        " without a list of Events as an error.",
        facts=("4.5a", "4.7e", "8.0g", "8.0h", "8.0i", "8.3e"),
        check=_gives_up,
    ),
)
