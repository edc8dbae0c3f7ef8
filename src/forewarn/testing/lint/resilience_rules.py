"""Lint rules on survival: a program must keep polling after documents and errors."""

from collections.abc import Sequence
from functools import partial

from forewarn.formats import format_times
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


def _ends_while_quiet(evidence: Evidence) -> RuleResult:
    if not evidence.polls_in(CoursePart.QUIET):
        return unseen("it asked nothing")
    ending = evidence.ending
    if ending is not None and evidence.last_part is CoursePart.QUIET:
        count = format_times(len(evidence.polls_in(CoursePart.QUIET)))
        return found(f"{describe_exit(ending.code)} when it had asked {count}")
    if evidence.span(CoursePart.SCHEDULED) is None:
        return unseen("nothing came that it could have missed")
    return passed("was running when something came")


def _stops(part: CoursePart, what: str, evidence: Evidence) -> RuleResult:
    if not evidence.polls_in(part):
        return unseen(f"it was not shown {what}")
    if evidence.last_part is not part:
        return passed(f"asked on after {what}")
    if evidence.ending is not None:
        return unseen(f"it ended after {what}")
    if evidence.silence < evidence.patience:
        return unseen(f"there was no more time after {what}")
    return found(f"asked no more for {format_seconds(evidence.silence)} after {what}")


def _ends(part: CoursePart, what: str, evidence: Evidence) -> RuleResult:
    if not evidence.polls_in(part):
        return unseen(f"it was not shown {what}")
    if evidence.ending is None or evidence.last_part is not part:
        return passed(f"ran on after {what}")
    waited = format_seconds(evidence.silence)
    return found(f"{describe_exit(evidence.ending.code)} {waited} after {what}")


def _gives_up(evidence: Evidence) -> RuleResult:
    met = [e for part in _FAULTY for e in evidence.polls_in(part)]
    bad = sorted({e.fault for e in met if e.fault is not None})
    if not bad:
        return unseen("it met no error")
    if evidence.last_part not in _FAULTY:
        return passed(f"asked on after {', '.join(bad)}")
    last = f"its last question got {met[-1].fault or met[-1].status}"
    if evidence.ending is not None:
        return found(f"{describe_exit(evidence.ending.code)}; {last}")
    if evidence.silence < evidence.patience:
        return unseen(f"there was no more time; {last}")
    return found(f"asked no more for {format_seconds(evidence.silence)}; {last}")


def _survives(
    part: CoursePart,
    what: str,
    *,
    severity: Severity,
    hurts: str,
    remedy: str,
    facts: tuple[str, ...],
) -> Sequence[LintRule]:
    """Return the rules that a program survives `what`, which it receives in `part`."""
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
        hurts="Events come at any time: who has ended is told of none.",
        remedy="Let it run as long as the VM does, and be started again if it ends.",
        facts=("6.1a", "10.2"),
        check=_ends_while_quiet,
    ),
    *_survives(
        CoursePart.SCHEDULED,
        "events that are Scheduled",
        severity=Severity.WARNING,  # it may be preparing
        hurts="Meanwhile nobody sees that the event is called off, or that another one"
        " comes.",
        remedy="Get ready in a thread or process of its own, and go on asking.",
        facts=("6.4a", "6.7"),
    ),
    *_survives(
        CoursePart.STARTED,
        "an event that has Started, with a blank NotBefore",
        severity=Severity.ERROR,
        hurts="A Freeze is over in seconds and the VM runs on, but nobody is told of"
        " what comes next.",
        remedy="Read a blank NotBefore as `now`, and go on asking until the event is"
        " gone and after.",
        facts=("5.7d", "6.3a", "6.6a"),
    ),
    *_survives(
        CoursePart.REBOOT,
        "a Reboot of its own VM",
        severity=Severity.WARNING,  # it may restart with the VM
        hurts="If the Reboot is called off the VM runs on, and nobody is told of what"
        " comes next.",
        remedy="Go on asking until the VM goes down.",
        facts=("6.7", "6.9"),
    ),
    *_survives(
        CoursePart.GONE,
        "a document from which all events are gone",
        severity=Severity.ERROR,
        hurts="After an event the next one comes, of which nobody is told.",
        remedy="Undo what was prepared, and go on asking.",
        facts=("5.6b", "6.7", "6.9"),
    ),
    *_survives(
        CoursePart.OTHER_VERSION,
        "a document with a type and with fields that it cannot know",
        severity=Severity.ERROR,
        hurts="Types and fields have come with almost every version; a program that"
        " cannot read past them is blind from the day they come.",
        remedy="Ignore fields that are not known, and take no type for granted.",
        facts=("3.0d", "3.0e", "3.0f", "3.0g", "3.0h"),
    ),
    *_survives(
        CoursePart.RESTART,
        "an incarnation that began again at 0",
        severity=Severity.ERROR,
        hurts="The incarnation begins again after a day in which nobody of the group"
        " asked.",
        remedy="Compare incarnations for being different, never for being greater.",
        facts=("5.1d", "5.1i", "10.2"),
    ),
    LintRule(
        id="gives-up-on-errors",
        severity=Severity.ERROR,
        hurts="The service is updated (410), fails (500) and rejects requests (429) now"
        " and then, and was seen to return 200 without a body. A proxy may return an"
        " error as 200. Events come afterwards.",
        remedy="Poll again after a pause, whatever went wrong, except after 400. Treat"
        " a response without a list of Events as an error.",
        facts=("4.5a", "4.7e", "8.0g", "8.0h", "8.0i", "8.3e"),
        check=_gives_up,
    ),
)
