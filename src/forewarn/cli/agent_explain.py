"""`forewarn agent explain`: the rule that matches an event, and why."""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from forewarn.agent.matching import Reason, Situation, Verdict, judge
from forewarn.agent.names import Identity, host_name, identify
from forewarn.agent.plan import Approve, Hook, Plan, Rule, Step, Together
from forewarn.agent.values import SHELL
from forewarn.cli.agent_options import CONFIG, NAME, plan_of
from forewarn.cli.agent_shown import Shown, read_shown
from forewarn.cli.options import JSON, Option, Subcommands, add, add_command
from forewarn.cli.tables import complain, distance, moment, paragraph, write, write_json
from forewarn.cli.values import read_time
from forewarn.clocks import SystemClock
from forewarn.protocol.codec import iso8601
from forewarn.protocol.types import EventStatus, ScheduledEvent

_DESCRIPTION = """\
Say which rule of the agent's file each event of a document falls under, why,
and what would be done. Nothing is done, and nobody is asked. DOCUMENT is a
file, or - for the standard input, with a document, one event, or a line of the
agent's audit record that shows an event."""

_APPROVES: Mapping[Approve, str] = {
    Approve.AFTER_HOOKS: "approved when all of prepare has succeeded",
    Approve.AT_ONCE: "approved at once",
    Approve.NEVER: "never approved by this agent",
}
_WHO: Mapping[Together, str] = {
    Together.LEADER: "by {first}, the first of its resources",
    Together.EACH: "by every VM for itself",
    Together.WHEN_READY: "when {ready} says that all are ready",
}
#: Steps that are skipped once an event has started.
_BEFORE = frozenset({Step.PREPARE, Step.UNDO})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """One event and the verdict on it."""

    event: ScheduledEvent
    situation: Situation
    verdict: Verdict


def register(subcommands: Subcommands) -> None:
    """Add `agent explain`."""
    parser = add_command(
        subcommands,
        "explain",
        explain,
        summary="say which rule an event falls under, and why",
        description=_DESCRIPTION,
        example="forewarn agent explain document.json --name web-0",
        common=(JSON,),
    )
    parser.add_argument("document", metavar="DOCUMENT", help="a file, or -")
    add(
        parser,
        CONFIG,
        NAME,
        Option(
            flag="--at",
            metavar="TIME",
            read=read_time,
            help="when it is seen; now, or when the record says, if it is not given",
        ),
    )


def explain(args: argparse.Namespace) -> int:
    """Print what the agent would do about each event, and why."""
    plan = plan_of(args)
    shown = read_shown(args.document)
    at = args.at or shown.at or SystemClock().now()
    identity = identify(explicit=plan.name, compute_name=None, host_name=host_name())
    cases = [_case(plan, event, shown, at, identity) for event in shown.events]
    for warning in plan.warnings:
        complain(warning)
    if args.json:
        write_json(_plain(cases, at, identity))
    else:
        write("\n\n".join(_page(plan, cases, at, identity, shown)))
    return 0


def _case(
    plan: Plan, event: ScheduledEvent, shown: Shown, at: datetime, identity: Identity
) -> _Case:
    is_mine = identity.position(event.resources) is not None
    if plan.name is None and shown.is_mine is not None:
        is_mine = shown.is_mine
    notice = None
    if event.not_before is not None and event.status != EventStatus.STARTED:
        notice = max((event.not_before - at).total_seconds(), 0.0)
    situation = Situation(is_mine=is_mine, notice=notice, now=at)
    verdict = judge(plan.rules, event, situation)
    return _Case(event=event, situation=situation, verdict=verdict)


# --- text output -------------------------------------------------------------


def _page(
    plan: Plan, cases: list[_Case], at: datetime, identity: Identity, shown: Shown
) -> Iterator[str]:
    who = identity.name or "without a name"
    heading = f"Seen at {moment(at)} by {who}."
    if plan.name is None and shown.is_mine is None:
        heading = (
            f"Seen at {moment(at)} by {who}, which is the host name; the agent itself"
            " asks /metadata/instance. --name gives another."
        )
    yield paragraph(heading, 0)
    if not cases:
        yield "There are no events."
    for case in cases:
        yield "\n".join(_lines(plan, case))


def _lines(plan: Plan, case: _Case) -> Iterator[str]:
    yield from _head(case)
    rule = case.verdict.rule
    if rule is None:
        yield paragraph("  No rule matches: nothing is done, and it is not approved.")
    else:
        yield paragraph(f'  Rule "{rule.name}" matches: {_and(_why(case, rule.name))}.')
        yield from _consequences(plan, rule, case.event)
    for reason in case.verdict.reasons:
        if rule is None or reason.rule != rule.name:
            yield paragraph(f'  Rule "{reason.rule}" {_other(reason)}.')


def _head(case: _Case) -> Iterator[str]:
    event = case.event
    source = f", by {event.source}" if event.source else ""
    names = ", ".join(event.resources) or "nobody"
    yield paragraph(f"{event.id}: {event.type} of {names}, {event.status}{source}")
    if event.not_before is not None:
        far = distance(event.not_before, case.situation.now)
        yield f"  Not before {moment(event.not_before)}, {far}."


def _why(case: _Case, name: str) -> tuple[str, ...]:
    return next(reason.why for reason in case.verdict.reasons if reason.rule == name)


def _other(reason: Reason) -> str:
    if reason.holds:
        return f"would match, too, but comes later: {_and(reason.why)}"
    return f"does not match: {_and(reason.why)}"


def _and(sentences: tuple[str, ...]) -> str:
    return "; ".join(sentences)


def _consequences(plan: Plan, rule: Rule, event: ScheduledEvent) -> Iterator[str]:
    has_started = event.status == EventStatus.STARTED
    for step, names in rule.hooks.items():
        if has_started and step in _BEFORE:
            continue
        together = " (all at once)" if rule.parallel and len(names) > 1 else ""
        yield f"    {step}{together}:"
        for name in names:
            yield paragraph(f"      {name}: {_command(plan.hooks[name])}", 8)
    if has_started:
        yield "    It has started, so there is nothing to approve."
        return
    first = event.resources[0] if event.resources else "nobody"
    who = _WHO[rule.together].format(ready=rule.ready, first=first)
    ending = "" if rule.approve is Approve.NEVER else f", {who}"
    yield paragraph(f"    It is {_APPROVES[rule.approve]}{ending}.", 6)


def _command(hook: Hook) -> str:
    if hook.python is not None:
        return f"the function {hook.python}"
    if hook.command[:2] == SHELL:
        return hook.command[2]
    return " ".join(hook.command)


# --- JSON output -------------------------------------------------------------


def _plain(
    cases: list[_Case], at: datetime, identity: Identity
) -> Mapping[str, object]:
    events = [_plain_case(case) for case in cases]
    return {"at": iso8601(at), "name": identity.name, "events": events}


def _plain_case(case: _Case) -> Mapping[str, object]:
    rule = case.verdict.rule
    return {
        "event": case.event.id,
        "mine": case.situation.is_mine,
        "notice_seconds": case.situation.notice,
        "rule": None if rule is None else rule.name,
        "why": case.verdict.why,
        "hooks": {} if rule is None else rule.hooks,
        "approve": Approve.NEVER if rule is None else rule.approve,
        "together": None if rule is None else rule.together,
        "rules": [
            {"rule": reason.rule, "holds": reason.holds, "why": reason.why}
            for reason in case.verdict.reasons
        ],
    }
