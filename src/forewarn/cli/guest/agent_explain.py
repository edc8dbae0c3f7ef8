"""`forewarn agent explain`: explain which rule matches each event and why."""

import argparse
import json
import socket
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from forewarn.agent.config.plan import (
    ApprovalPolicy,
    Hook,
    HookPoint,
    Plan,
    Rule,
    SharedApproval,
)
from forewarn.agent.config.schema import SHELL
from forewarn.agent.identity import VmIdentity
from forewarn.agent.rules import (
    MatchReason,
    RuleMatch,
    Situation,
    match_rule,
    notice_left,
)
from forewarn.cli.guest.agent import CONFIG, NAME, plan_of
from forewarn.cli.options import (
    JSON,
    Option,
    Subcommands,
    add,
    add_command,
)
from forewarn.cli.output import (
    format_distance,
    format_time,
    paragraph,
    write,
    write_error,
    write_json,
)
from forewarn.cli.values import read_time
from forewarn.clocks import SystemClock
from forewarn.configfile import values
from forewarn.errors import InvalidInput
from forewarn.protocol.codec import decode, iso8601, parse_date
from forewarn.protocol.types import EventStatus, ScheduledEvent

_DESCRIPTION = """\
Explain which rule in the agent's configuration file matches each event in a
document, why it matches, and what the agent would do. This command runs no hooks
and sends no requests. DOCUMENT is a file that contains a document, a single
event, or a line from the agent's audit log that includes an event."""

_APPROVES: Mapping[ApprovalPolicy, str] = {
    ApprovalPolicy.AFTER_HOOKS: "approved after all prepare hooks have succeeded",
    ApprovalPolicy.AT_ONCE: "approved immediately",
    ApprovalPolicy.NEVER: "never approved by this agent",
}
_APPROVERS: Mapping[SharedApproval, str] = {
    SharedApproval.LEADER: "by {first}, the first VM listed",
    SharedApproval.EACH: "by each VM for itself",
    SharedApproval.WHEN_READY: "when the {ready} hook reports that all VMs are ready",
}

#: Steps that are skipped once an event has started.
_BEFORE_START = frozenset({HookPoint.PREPARE, HookPoint.UNDO})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Input:
    """The events to explain, and the time and VM if the file contains them."""

    events: tuple[ScheduledEvent, ...]
    at: datetime | None = None  # None if the file has no time
    is_mine: bool | None = None  # None if the file has no such field


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """An event and the verdict on it."""

    event: ScheduledEvent
    situation: Situation
    verdict: RuleMatch


def register(subcommands: Subcommands) -> None:
    """Add `agent explain`."""
    parser = add_command(
        subcommands,
        "explain",
        explain,
        summary="explain which rule matches an event, and why",
        description=_DESCRIPTION,
        example="forewarn agent explain document.json --name web-0",
        common=(JSON,),
    )
    parser.add_argument(
        "document", metavar="DOCUMENT", help="file to read, or - for standard input"
    )
    add(
        parser,
        CONFIG,
        NAME,
        Option(
            flag="--at",
            metavar="TIME",
            read=read_time,
            help="time at which the agent sees the event",
            shown_default="the time in the audit log, otherwise now",
        ),
    )


def explain(args: argparse.Namespace) -> int:
    """Print what the agent would do about each event and why."""
    plan = plan_of(args)
    given = _read_input(args.document)
    at = args.at or given.at or SystemClock().now()
    identity = VmIdentity(explicit=plan.name, host_name=socket.gethostname())
    cases = [_case(plan, event, given, at, identity) for event in given.events]
    for warning in plan.warnings:
        write_error(warning)
    if args.json:
        write_json(_plain(cases, at, identity))
    else:
        write("\n\n".join(_page(plan, cases, at, identity, given)))
    return 0


def _case(
    plan: Plan,
    event: ScheduledEvent,
    given: _Input,
    at: datetime,
    identity: VmIdentity,
) -> _Case:
    is_mine = identity.position(event.resources) is not None
    if plan.name is None and given.is_mine is not None:
        is_mine = given.is_mine
    situation = Situation(is_mine=is_mine, notice=notice_left(event, at), now=at)
    verdict = match_rule(plan.rules, event, situation)
    return _Case(event=event, situation=situation, verdict=verdict)


# --- input -------------------------------------------------------------------


def _read_input(name: str) -> _Input:
    """Read a document, event or audit line from a file; `-` means standard input."""
    where = "standard input" if name == "-" else name
    try:
        content = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        plain = json.loads(content)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InvalidInput(f"cannot read {where}: {why}") from error
    except (ValueError, RecursionError):
        raise InvalidInput(f"{where} is not a JSON document") from None
    if not isinstance(plain, dict):
        raise InvalidInput(f"{where} is not a JSON object")
    if "Events" in plain or "EventId" in plain:
        return _Input(events=_events(plain, where))
    event = plain.get("event_as_shown")
    if isinstance(event, dict):
        mine = plain.get("mine")
        return _Input(
            events=_events(event, where),
            at=parse_date(plain.get("at")),
            is_mine=mine if isinstance(mine, bool) else None,
        )
    if "what" in plain:
        raise InvalidInput(
            f"{where} is an audit log line without an event; use a line with"
            ' "what": "seen"'
        )
    raise InvalidInput(f"{where} contains neither Events nor an EventId")


def _events(plain: Mapping[str, object], where: str) -> tuple[ScheduledEvent, ...]:
    document = plain if "Events" in plain else {"Events": [plain]}
    with values.at(where):
        return decode(json.dumps(document).encode()).events


# --- text output -------------------------------------------------------------


def _page(
    plan: Plan,
    cases: list[_Case],
    at: datetime,
    identity: VmIdentity,
    given: _Input,
) -> Iterator[str]:
    who = identity.name or "an unnamed VM"
    heading = f"Seen at {format_time(at)} by {who}."
    if plan.name is None and given.is_mine is None:
        heading = (
            f"Seen at {format_time(at)} by {who}, which is this machine's hostname. The"
            " agent uses the name from /metadata/instance; to set it here, use --name."
        )
    yield paragraph(heading, 0)
    if not cases:
        yield "No events."
    for case in cases:
        yield "\n".join(_case_lines(plan, case))


def _case_lines(plan: Plan, case: _Case) -> Iterator[str]:
    yield from _event_lines(case)
    rule = case.verdict.rule
    if rule is None:
        yield paragraph(
            "  No rule matches: the agent neither runs hooks nor approves the event."
        )
    else:
        yield paragraph(f'  Rule "{rule.name}" matches: {"; ".join(case.verdict.why)}.')
        yield from _consequences(plan, rule, case.event)
    for reason in case.verdict.reasons:
        if rule is None or reason.rule != rule.name:
            yield paragraph(f'  Rule "{reason.rule}" {_other_rule(reason)}.')


def _event_lines(case: _Case) -> Iterator[str]:
    event = case.event
    source = f", by {event.source}" if event.source else ""
    names = ", ".join(event.resources) or "no VM"
    yield paragraph(f"{event.id}: {event.type} of {names}, {event.status}{source}")
    if event.not_before is not None:
        far = format_distance(event.not_before, case.situation.now)
        yield f"  Not before {format_time(event.not_before)}, {far}."


def _other_rule(reason: MatchReason) -> str:
    verdict = "also matches, but comes later" if reason.holds else "does not match"
    return f"{verdict}: {'; '.join(reason.why)}"


def _consequences(plan: Plan, rule: Rule, event: ScheduledEvent) -> Iterator[str]:
    has_started = event.status == EventStatus.STARTED
    for step, names in rule.hooks.items():
        if has_started and step in _BEFORE_START:
            continue
        together = " (in parallel)" if rule.parallel and len(names) > 1 else ""
        yield f"    {step}{together}:"
        for name in names:
            yield paragraph(f"      {name}: {_command(plan.hooks[name])}", 8)
    if has_started:
        yield "    The event has started, so there is nothing to approve."
        return
    first = event.resources[0] if event.resources else "no VM"
    who = _APPROVERS[rule.together].format(ready=rule.ready, first=first)
    ending = "" if rule.approve is ApprovalPolicy.NEVER else f", {who}"
    yield paragraph(f"    The event is {_APPROVES[rule.approve]}{ending}.", 6)


def _command(hook: Hook) -> str:
    if hook.python is not None:
        return f"the function {hook.python}"
    if hook.command[:2] == SHELL:
        return hook.command[2]
    return " ".join(hook.command)


# --- JSON output -------------------------------------------------------------


def _plain(
    cases: list[_Case], at: datetime, identity: VmIdentity
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
        "approve": ApprovalPolicy.NEVER if rule is None else rule.approve,
        "together": None if rule is None else rule.together,
        "rules": [
            {"rule": reason.rule, "holds": reason.holds, "why": reason.why}
            for reason in case.verdict.reasons
        ],
    }
