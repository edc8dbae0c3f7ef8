"""Judge of a history: a pure function that returns every broken promise.

1. The journal is the truth. Everything that a client saw must agree with it.
2. An unknown outcome permits both: done once, or not at all.
3. Each check is one promise; `docs/explanation/reliability.md` lists them.
"""

import json
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from email.utils import format_datetime
from functools import cached_property
from operator import itemgetter
from typing import Any

from benchmarks.journal_replay import JournalReplay, JournalRule, ShownEvent
from tests.faults.history import OUTAGE, Delivery, History, Operation, Outcome, Poll

#: Seconds that a response may take, besides its wait and faults that explain it.
LONGEST = 15.0

_UPTIME = 0.02  # seconds; /proc/uptime has a resolution of 0.01
_TAG = re.compile(r'"(\w+)\.(\d+)[^"]*"')
_NOTIFIED = frozenset(
    {
        *("Announced", "Approved", "Withdrawn", "Started", "WorkFailed"),
        *("Completed", "Canceled", "Closed", "OutageEnded"),
    }
)
#: The fact that must follow each command on a maintenance, or one of them.
_EVIDENCE: Mapping[str, tuple[str, ...]] = {
    "cancel": ("Canceled",),
    "complete": ("WorkEnded", "Completed"),
    "close": ("Closed",),
    "retry": ("WorkRetried",),
}
#: Commands whose response may list no maintenance, or some of earlier commands.
_UNNAMED = ("degraded", "failed", "recovered", "remove-vm", "start")
#: Statuses of polls: none, a document, and refusals for a while.
_POLLED = (0, 200, 304, 429, 503)
_FIRST = ("Freeze", "Reboot", "Redeploy")
_SPOT = (*_FIRST, "Preempt")
_ALL = (*_SPOT, "Terminate")
_TYPES = {"2017-03-01": _FIRST, "2017-08-01": _FIRST, "2017-11-01": _SPOT}

#: Every api-version of /metadata/scheduledevents.
VERSIONS = (*_TYPES, "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01")

_Texts = Iterator[str]


class Evidence:
    """A history with its journal replayed, and indexes that several checks use."""

    def __init__(self, history: History) -> None:
        """Replay the journal of `history`."""
        self.history = history
        self.journal = history.journal
        emergencies = {
            operation.token
            for operation in history.operations
            if operation.is_emergency
        }
        self.replay = JournalReplay(
            history.journal,
            is_emergency=lambda view: view["description"] in emergencies,
        )
        self.positions = {
            fact["position"]: number for number, fact in enumerate(self.journal)
        }

    @cached_property
    def by_maintenance(self) -> Mapping[tuple[str, str], Sequence[Any]]:
        """The facts of each kind and maintenance."""
        facts = defaultdict(list)
        for fact in self.journal:
            facts[fact["fact"], fact.get("maintenance") or ""].append(fact)
        return facts

    @cached_property
    def maintenance_of(self) -> Mapping[str, str]:
        """The maintenance of each event."""
        return {
            event["id"]: id_
            for id_, replayed in self.replay.maintenances.items()
            for event in replayed.view["events"]
        }

    @cached_property
    def by_token(self) -> Mapping[str, Sequence[Any]]:
        """The facts that carry the token of a command."""
        facts = defaultdict(list)
        for fact in self.journal:
            for token in _tokens(fact):
                facts[token].append(fact)
        return facts

    @cached_property
    def tokens(self) -> frozenset[str]:
        """The tokens of all commands."""
        return frozenset(operation.token for operation in self.history.operations)

    @cached_property
    def requests(self) -> frozenset[tuple[str, str, str | None]]:
        """Kind, target and VM of the commands that were not refused."""
        return frozenset(
            (operation.kind, operation.target, operation.vm)
            for operation in self.history.operations
            if operation.outcome is not Outcome.FAIL
        )

    @cached_property
    def publications(self) -> Mapping[str, Sequence[int]]:
        """The positions of each audience's documents, ascending."""
        positions = defaultdict(list)
        for (audience, _, _), (position, _) in self.replay.documents.items():
            positions[audience].append(position)
        return {audience: sorted(found) for audience, found in positions.items()}

    def published_with(self, fact: Any) -> Iterator[tuple[str, int]]:
        """Yield the documents published in the transaction of `fact`.

        The facts of a transaction have the same time.
        """
        for later in self.journal[self.positions[fact["position"]] :]:
            if later["at"] != fact["at"]:
                return
            if later["fact"] == "Published":
                yield later["audience"], later["position"]

    def document_of(self, poll: Poll) -> tuple[int, Sequence[ShownEvent]] | None:
        """Return position and events of the polled document; None if there is none."""
        match = _TAG.fullmatch(poll.tag)
        if match is None or poll.vm not in self.replay.vms:
            return None
        audience = self.replay.audience_of(poll.vm)
        return self.replay.documents.get((audience, match[1], int(match[2])))

    @cached_property
    def read(self) -> Sequence[Poll]:
        """The polls that got a document, in the order of their requests."""
        polls = (poll for poll in self.history.polls if poll.status in (200, 304))
        return sorted(polls, key=lambda poll: poll.invoked)


def judge(history: History) -> list[str]:
    """Return all violations, each with the name of the check that found it."""
    if not history.journal:
        return ["journal_has_no_gaps: the journal could not be read"]
    evidence = Evidence(history)
    return [
        f"{check.__name__.removeprefix('check_')}: {text}"
        for check in CHECKS
        for text in check(evidence)
    ]


# --- commands ----------------------------------------------------------------


def check_acknowledged_is_in_journal(evidence: Evidence) -> _Texts:
    """No acknowledged command is missing from the journal."""
    for operation in evidence.history.operations:
        if operation.outcome is Outcome.OK and not _is_in_journal(evidence, operation):
            yield f"{_text(operation)} is not in the journal"
    removed = Counter(
        name for fact in evidence.journal for name in fact.get("removed_vms", ())
    )
    for name, count in (_acknowledged(evidence, "remove-vm") - removed).items():
        yield f"{count} acknowledged removals of {name} are not in the journal"
    retried = Counter(
        fact["maintenance"]
        for fact in evidence.journal
        if fact["fact"] == "WorkRetried" and fact["by"] is not None
    )
    for name, count in (_acknowledged(evidence, "retry") - retried).items():
        yield f"{count} acknowledged retries of {name} are not in the journal"


def _acknowledged(evidence: Evidence, kind: str) -> Counter[str]:
    """Count acknowledged commands by target; one that was repeated counts once."""
    targets = {
        operation.token: operation.target
        for operation in evidence.history.operations
        if operation.kind == kind and operation.outcome is Outcome.OK
    }
    return Counter(targets.values())


def _is_in_journal(evidence: Evidence, operation: Operation) -> bool:
    facts, kind = evidence.by_maintenance, operation.kind
    if kind in _EVIDENCE:
        return any((fact, operation.target) in facts for fact in _EVIDENCE[kind])
    if kind in ("approve", "approve-as-vm"):
        return _approval_facts(evidence, operation.target) != []
    if kind == "put-vm":
        return operation.token in evidence.by_token
    if kind in _UNNAMED:
        return all(("Announced", id_) in facts for id_ in operation.ids)
    own = {fact["maintenance"] for fact in evidence.by_token.get(operation.token, ())}
    # A host may have no VMs at that time, and then nothing to announce.
    is_answered = bool(operation.ids) or kind == "maintain"
    return is_answered and own.issuperset(operation.ids)


def _approval_facts(evidence: Evidence, event: str) -> list[Any]:
    """Return the approval of `event`, or else what made it unnecessary, in order."""
    if event in evidence.replay.approvals:
        return [evidence.replay.approvals[event]]
    maintenance = evidence.maintenance_of.get(event, "")
    facts = [
        fact
        for kind in ("Started", "Canceled", "Withdrawn")
        for fact in evidence.by_maintenance.get((kind, maintenance), ())
        if fact.get("event") in (None, event)
    ]
    return sorted(facts, key=itemgetter("position"))


def check_command_is_done_once(evidence: Evidence) -> _Texts:
    """No command is done twice; an Idempotency-Key holds across kills."""
    for token, facts in evidence.by_token.items():
        done = Counter(_deed(fact) for fact in facts)
        for deed, count in done.items():
            if count > 1:
                yield f"{token} was done {count} times: {deed}"
    ids: dict[str, tuple[str, ...]] = {}
    for operation in evidence.history.operations:
        if operation.key is not None and operation.outcome is Outcome.OK:
            first = ids.setdefault(operation.key, operation.ids)
            if first != operation.ids:
                yield f"{_text(operation)}: another response for the same key"


def check_refused_is_not_done(evidence: Evidence) -> _Texts:
    """A refused command changed nothing, and nothing is done unrequested."""
    last = {operation.token: operation for operation in evidence.history.operations}
    for operation in last.values():
        if operation.outcome is Outcome.FAIL and operation.token in evidence.by_token:
            yield f"{_text(operation)} was refused, but done"
    for fact in evidence.journal:
        if not _is_requested(evidence, fact):
            yield f"{fact['fact']} at {fact['position']} was refused or not requested"


def _is_requested(evidence: Evidence, fact: Any) -> bool:
    """Whether a request that was not refused, or the service, caused `fact`."""
    maintenance, by = fact.get("maintenance"), fact.get("by")
    match fact["fact"]:
        case "Announced":
            return fact["announced"]["description"] in evidence.tokens
        case "Approved" if by in evidence.replay.vms:
            return ("approve-as-vm", fact["event"], by) in evidence.requests
        case "Approved" if by is not None:
            return ("approve", fact["event"], None) in evidence.requests
        case "Closed":
            return ("close", maintenance, None) in evidence.requests
        case "WorkEnded" if _cause_of(evidence, maintenance) != "host-failure":
            return ("complete", maintenance, None) in evidence.requests
        case _:
            return True


def _cause_of(evidence: Evidence, maintenance: str) -> str:
    return str(evidence.replay.maintenances[maintenance].view["cause"])


def _tokens(fact: Any) -> Iterator[str]:
    if fact["fact"] == "Announced":
        yield fact["announced"]["description"]
    elif fact["fact"] == "FleetChanged":
        yield from (vm["tags"]["token"] for vm in fact["vms"] if vm["tags"])
    elif fact.get("reason"):
        yield fact["reason"]


def _deed(fact: Any) -> tuple[str, ...]:
    if fact["fact"] == "Announced":
        return ("Announced", *fact["announced"]["vms"])
    return (fact["fact"], fact.get("maintenance") or "")


def _cause(operation: Operation, fact: Any) -> str:
    return f"{_text(operation)}, {fact['fact']} at {fact['position']}"


def _text(operation: Operation) -> str:
    return f"{operation.kind} {operation.target} ({operation.token})"


# --- journal -----------------------------------------------------------------


def _of_rules(evidence: Evidence, *rules: JournalRule) -> _Texts:
    return (text for rule, text in evidence.replay.violations if rule in rules)


def check_journal_has_no_gaps(evidence: Evidence) -> _Texts:
    """The journal has no gaps, and its times never go back."""
    return _of_rules(evidence, JournalRule.ORDER)


def check_start_waits_for_not_before(evidence: Evidence) -> _Texts:
    """Nothing starts before its NotBefore, unless it was approved."""
    return _of_rules(evidence, JournalRule.NOT_BEFORE)


def check_minimum_notice(evidence: Evidence) -> _Texts:
    """The minimum notice is kept, and downtime is not counted."""
    yield from _of_rules(evidence, JournalRule.NOTICE)
    outages = sum(fault.kind == OUTAGE for fault in evidence.history.faults)
    known = sum(fact["fact"] == "OutageEnded" for fact in evidence.journal)
    if known < outages:
        yield f"the journal has {known} of {outages} outages"
    broken = evidence.history.report.get("broken_promises", ())
    yield from (f"the report lists {promise}" for promise in broken)


def check_one_update_domain(evidence: Evidence) -> _Texts:
    """Planned maintenance affects one update domain of a group at a time."""
    return _of_rules(evidence, JournalRule.DOMAINS)


def check_phases(evidence: Evidence) -> _Texts:
    """A maintenance starts once and ends once; an event is approved once."""
    return _of_rules(evidence, JournalRule.PHASES, JournalRule.APPROVALS)


def check_incarnations(evidence: Evidence) -> _Texts:
    """Incarnations have no gaps, and every change of a document raises them."""
    rules = (JournalRule.INCARNATIONS, JournalRule.PUBLICATION)
    return _of_rules(evidence, *rules)


# --- polls -------------------------------------------------------------------


def check_documents_equal_journal(evidence: Evidence) -> _Texts:
    """Every polled body is the journal's state in its api-version.

    So ids, NotBefore and Resources never change.
    """
    distinct = {
        (poll.version, poll.tag, poll.body, poll.vm): poll for poll in evidence.read
    }
    for poll in distinct.values():
        found = evidence.document_of(poll)
        if found is None:
            yield f"{poll.vm} read {poll.tag}, which the journal does not have"
        elif poll.status == 200 and not _is_equal(poll, found[1]):
            yield f"{poll.vm} read {poll.tag} in {poll.version} as {poll.body!r}"


def _is_equal(poll: Poll, events: Sequence[ShownEvent]) -> bool:
    match = _TAG.fullmatch(poll.tag)
    expected = {
        "DocumentIncarnation": int(match[2]) if match else None,
        "Events": [
            _plain(event, poll.version)
            for event in events
            if event.type in _TYPES.get(poll.version, _ALL)
        ],
    }
    try:
        return bool(json.loads(poll.body) == expected)
    except ValueError:
        return False


def _plain(event: ShownEvent, version: str) -> Mapping[str, object]:
    is_first = version == "2017-03-01"
    moment = event.not_before
    plain: dict[str, object] = {
        "EventId": event.id,
        "EventStatus": event.status,
        "EventType": event.type,
        "ResourceType": "VirtualMachine",
        "Resources": [
            f"_{name}" if is_first and name not in event.paas else name
            for name in event.resources
        ],
        "NotBefore": "" if moment is None else _date(moment, is_iso=is_first),
    }
    if version >= "2019-04-01":
        plain["Description"] = event.description
    if version >= "2019-08-01":
        plain["EventSource"] = event.source
    if version >= "2020-07-01":
        plain["DurationInSeconds"] = event.duration
    return plain


def _date(moment: datetime, *, is_iso: bool) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}" if is_iso else format_datetime(moment, True)


def check_tag_is_unique(evidence: Evidence) -> _Texts:
    """An ETag never stands for two bodies of an audience in one api-version."""
    bodies: dict[tuple[str, str, str], bytes] = {}
    for poll in evidence.read:
        if poll.status == 200 and poll.vm in evidence.replay.vms:
            audience = evidence.replay.audience_of(poll.vm)
            key = (audience, poll.version, poll.tag)
            if bodies.setdefault(key, poll.body) != poll.body:
                yield f"{audience}: {poll.tag} stands for two bodies in {poll.version}"


def check_reads_are_monotonic(evidence: Evidence) -> _Texts:
    """A request sent after a response never returns an older document."""
    seen = (
        (poll.returned, evidence.replay.audience_of(poll.vm), found[0], poll.tag)
        for poll in evidence.read
        if (found := evidence.document_of(poll)) is not None
    )
    return _stale(evidence, seen, "after another VM of its audience read")


def check_acknowledged_is_visible(evidence: Evidence) -> _Texts:
    """An acknowledged command is visible in every later GET: read your writes."""
    floors = (
        (operation.returned, audience, position, _cause(operation, fact))
        for operation in evidence.history.operations
        if operation.outcome is Outcome.OK
        for fact in _facts_of(evidence, operation)
        for audience, position in evidence.published_with(fact)
    )
    return _stale(evidence, floors, "after the acknowledgment of")


def _facts_of(evidence: Evidence, operation: Operation) -> Iterable[Any]:
    if operation.kind in ("approve", "approve-as-vm"):
        return _approval_facts(evidence, operation.target)[:1]
    if operation.kind == "retry":
        return []  # changes no document
    if operation.kind in _EVIDENCE:
        kinds, facts = _EVIDENCE[operation.kind], evidence.by_maintenance
        return [
            fact for kind in kinds for fact in facts.get((kind, operation.target), ())
        ][:1]
    return [
        fact
        for id_ in operation.ids
        for fact in evidence.by_maintenance.get(("Announced", id_), ())
    ]


def check_start_is_visible_to_driver(evidence: Evidence) -> _Texts:
    """VMs can see Started before the driver acts on them."""
    floors = (
        (run.begun + _UPTIME, audience, position, f"the start of {run.maintenance}")
        for run in evidence.history.runs
        for fact in evidence.by_maintenance.get(("Started", run.maintenance), ())
        for audience, position in evidence.published_with(fact)
    )
    return _stale(evidence, floors, "although the driver was called after")


def _stale(
    evidence: Evidence, floors: Iterable[tuple[float, str, int, str]], when: str
) -> _Texts:
    """Yield polls that show an older document than the floor of their time."""
    floors_of: dict[str, list[tuple[float, int, str]]] = defaultdict(list)
    for at, audience, position, why in sorted(floors):
        known = floors_of[audience]
        if not known or known[-1][1] < position:
            known.append((at, position, why))
    times = {name: [at for at, _, _ in known] for name, known in floors_of.items()}
    for poll in evidence.read:
        found = evidence.document_of(poll)
        audience = "" if found is None else evidence.replay.audience_of(poll.vm)
        index = bisect_right(times.get(audience, ()), poll.invoked) - 1
        if found is None or index < 0:
            continue
        at, position, why = floors_of[audience][index]
        if found[0] < position:
            late = (poll.invoked - at) * 1000
            yield f"{poll.vm} read {poll.tag} {late:.0f} ms {when} {why}"


# --- driver ------------------------------------------------------------------


def check_run_is_in_journal(evidence: Evidence) -> _Texts:
    """There is a WorkBegan for every run, and a run for all work that is done."""
    yield from _of_rules(evidence, JournalRule.ATTEMPTS)
    for run in evidence.history.runs:
        began = evidence.by_maintenance.get(("WorkBegan", run.maintenance), ())
        if run.attempt not in [fact["attempt"] for fact in began]:
            yield f"attempt {run.attempt} of {run.maintenance} is not in the journal"
            continue
        listed = evidence.replay.maintenances[run.maintenance].view["vms"]
        if not {*run.vms} <= {*listed}:
            yield f"{run.maintenance} ran for {run.vms}, but lists {listed}"
    run_for = {(run.maintenance, vm) for run in evidence.history.runs for vm in run.vms}
    done = (
        (fact["maintenance"], vm)
        for fact in evidence.journal
        if fact["fact"] == "WorkDone"
        for vm in fact["vms"]
    )
    for maintenance, vm in done:
        if (maintenance, vm) not in run_for:
            yield f"{maintenance} is done on {vm} without a run"


def check_attempt_runs_once(evidence: Evidence) -> _Texts:
    """No attempt of a maintenance runs twice."""
    runs = Counter((run.maintenance, run.attempt) for run in evidence.history.runs)
    for (maintenance, attempt), count in runs.items():
        if count > 1:
            yield f"attempt {attempt} of {maintenance} ran {count} times"


def check_one_script_per_vm(evidence: Evidence) -> _Texts:
    """Two scripts never work on one VM at a time."""
    for run in evidence.history.runs:
        for vm in run.shared:
            yield f"{run.maintenance} worked on {vm} while another script did"


# --- webhooks ----------------------------------------------------------------


def check_webhooks(evidence: Evidence) -> _Texts:
    """Messages arrive in order, at least once, and always with the same content."""
    deliveries = evidence.history.deliveries
    yield from _out_of_order(deliveries)
    events: dict[int, Any] = {}
    entries = {fact["position"]: fact for fact in evidence.journal}
    for delivery in deliveries:
        if entries.get(delivery.position) != delivery.entry:
            yield f"{delivery.position} was delivered with another entry"
        if events.setdefault(delivery.position, delivery.events) != delivery.events:
            yield f"{delivery.position} was delivered with other events"
    accepted = {delivery.position for delivery in deliveries if delivery.is_accepted}
    for fact in evidence.journal:
        if fact["fact"] in _NOTIFIED and fact["position"] not in accepted:
            yield f"{fact['position']} was never delivered"


def _out_of_order(deliveries: Iterable[Delivery]) -> _Texts:
    """Yield messages that came late, or that did not wait for a refused one."""
    known: set[int] = set()
    refused: set[int] = set()
    newest = 0
    for delivery in deliveries:
        position = delivery.position
        if position not in known and position < newest:
            yield f"{position} was delivered after {newest}"
        if refused and min(refused) < position:
            yield f"{position} was delivered before {min(refused)} was accepted"
        known.add(position)
        newest = max(newest, position)
        (refused.discard if delivery.is_accepted else refused.add)(position)


# --- time --------------------------------------------------------------------


def check_nothing_is_held(evidence: Evidence) -> _Texts:
    """No request is held longer than its bound."""
    history = evidence.history
    down = [(fault.begun, fault.ended) for fault in history.faults if fault.is_down]
    for poll in history.polls:
        held = _held(poll.invoked, poll.returned, down) - poll.wait
        if held > LONGEST:
            yield f"a poll of {poll.vm} took {held:.1f} s longer than its wait"
    for operation in history.operations:
        held = _held(operation.invoked, operation.returned, down)
        if held > LONGEST:
            yield f"{_text(operation)} took {held:.1f} s"


def _held(
    invoked: float, returned: float, down: Iterable[tuple[float, float]]
) -> float:
    lost = (min(end, returned) - max(begin, invoked) for begin, end in down)
    return returned - invoked - sum(part for part in lost if part > 0)


def check_everything_ends(evidence: Evidence) -> _Texts:
    """After the faults, every maintenance ends and every document is empty."""
    for item in evidence.history.maintenances:
        if item["phase"] in ("SCHEDULED", "STARTED"):
            yield f"{item['id']} is still {item['phase']}"
    state = {item["id"]: item["phase"] for item in evidence.history.maintenances}
    if state != dict(evidence.replay.phases):
        yield "the state differs from the journal"
    last = {poll.vm: poll for poll in evidence.read if poll.status == 200}
    for poll in last.values():
        found = evidence.document_of(poll)
        newest = evidence.publications[evidence.replay.audience_of(poll.vm)][-1]
        if found is not None and (found[0] != newest or found[1]):
            yield f"{poll.vm} read {poll.tag} last, which is old or not empty"


def check_program_behaves(evidence: Evidence) -> _Texts:
    """The program starts again, stops with exit code 0, and refuses no poll."""
    for operation in evidence.history.operations:
        if operation.status == 500:
            yield f"{_text(operation)}: 500"
    for poll in evidence.history.polls:
        if poll.status not in _POLLED:
            yield f"a poll of {poll.vm}: {poll.status}"
    for fault in evidence.history.faults:
        if fault.complaint:
            yield f"{fault.kind}: {fault.complaint}"


CHECKS: Sequence[Callable[[Evidence], Iterable[str]]] = (
    check_acknowledged_is_in_journal,
    check_command_is_done_once,
    check_refused_is_not_done,
    check_journal_has_no_gaps,
    check_start_waits_for_not_before,
    check_minimum_notice,
    check_one_update_domain,
    check_phases,
    check_incarnations,
    check_documents_equal_journal,
    check_tag_is_unique,
    check_reads_are_monotonic,
    check_acknowledged_is_visible,
    check_start_is_visible_to_driver,
    check_run_is_in_journal,
    check_attempt_runs_once,
    check_one_script_per_vm,
    check_webhooks,
    check_nothing_is_held,
    check_everything_ends,
    check_program_behaves,
)
