"""The judge: accepts a correct history, and names what is wrong with others."""

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.faults.history import (
    OUTAGE,
    Delivery,
    DriverRun,
    History,
    InjectedFault,
    Operation,
    Outcome,
    Poll,
)
from tests.faults.judge import CHECKS, judge

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "reliability.md"

#: Times of the journal, and the same moments in seconds for all other records.
ANNOUNCED, APPROVED, WORKED, ENDED = (
    f"2026-01-01T12:00:{second:02}.5Z" for second in (1, 2, 3, 4)
)
NOT_BEFORE = "2026-01-01T12:15:02Z"


def an_announcement(id_: str = "M", **more: object) -> dict[str, Any]:
    """Describe a Reboot of web-0, as the journal does."""
    event = {"id": f"E-{id_}", "group": "web", "resources": ["web-0"]}
    return {
        "id": id_,
        "type": "Reboot",
        "source": "Platform",
        "cause": "platform",
        "vms": ["web-0"],
        "not_before": NOT_BEFORE,
        "description": "op.1",
        "duration_seconds": -1,
        "events": [event],
        **more,
    }


def a_document(incarnation: int, status: str = "") -> bytes:
    """Encode the document with the Reboot, or without events if `status` is empty."""
    is_begun = status == "Started"
    event = {
        "EventId": "E-M",
        "EventStatus": status,
        "EventType": "Reboot",
        "ResourceType": "VirtualMachine",
        "Resources": ["web-0"],
        "NotBefore": "" if is_begun else "Thu, 01 Jan 2026 12:15:02 GMT",
        "Description": "op.1",
        "EventSource": "Platform",
        "DurationInSeconds": -1,
    }
    events = [event] if status else []
    return json.dumps({"DocumentIncarnation": incarnation, "Events": events}).encode()


def a_poll(second: float, incarnation: int, status: str = "") -> Poll:
    return Poll(
        vm="web-1",
        version="2020-07-01",
        invoked=second,
        returned=second + 0.1,
        status=200,
        tag=f'"e.{incarnation}"',
        body=a_document(incarnation, status),
    )


def an_operation(kind: str, target: str, second: float, **more: Any) -> Operation:
    values = {"token": f"op.{second:g}", "outcome": Outcome.OK, "status": 200, **more}
    return Operation(
        kind=kind, target=target, invoked=second, returned=second + 0.6, **values
    )


def a_history() -> History:
    """Return the history of one Reboot, as all observers saw it."""
    vms: list[dict[str, Any]] = [
        {"name": f"web-{n}", "group": "web", "update_domain": n, "tags": {}}
        for n in (0, 1)
    ]
    fleet = {"epoch": "e", "removed_vms": [], "removed_groups": [], "vms": vms}
    group = {"name": "web", "isolated": False, "terminate_notice_seconds": None}
    facts: list[tuple[str, str, dict[str, Any]]] = [
        ("FleetChanged", ANNOUNCED, {**fleet, "groups": [group]}),
        ("Announced", ANNOUNCED, {"announced": an_announcement()}),
        ("Published", ANNOUNCED, {"incarnation": 1}),
        ("Approved", APPROVED, {"event": "E-M", "by": "web-0"}),
        ("Started", APPROVED, {}),
        ("Published", APPROVED, {"incarnation": 2}),
        ("WorkBegan", WORKED, {"attempt": 1}),
        ("WorkDone", WORKED, {"vms": ["web-0"]}),
        ("Completed", ENDED, {}),
        ("Published", ENDED, {"incarnation": 3}),
    ]
    more = {"maintenance": "M", "audience": "web", "epoch": "e"}
    journal = [
        {"position": number, "at": at, "fact": kind, **more, **fields}
        for number, (kind, at, fields) in enumerate(facts, 1)
    ]
    notified = ("Announced", "Approved", "Started", "Completed")
    return History(
        operations=[
            an_operation("announce", "web-0", 1, ids=("M",), key="op.1"),
            an_operation("approve-as-vm", "E-M", 2, vm="web-0"),
        ],
        polls=[
            a_poll(0.5, 0),
            a_poll(1.7, 1, "Scheduled"),
            a_poll(2.7, 2, "Started"),
            a_poll(3.7, 2, "Started"),
            a_poll(5, 3),
        ],
        runs=[DriverRun(maintenance="M", attempt=1, vms=("web-0",), begun=3.5)],
        deliveries=[
            Delivery(
                at=6, position=fact["position"], entry=fact, events=[], is_accepted=True
            )
            for fact in journal
            if fact["fact"] in notified
        ],
        journal=journal,
        maintenances=[{"id": "M", "phase": "COMPLETED"}],
    )


def insert(history: History, place: int, kind: str, at: str, **more: Any) -> None:
    """Insert a fact into the journal and number it again."""
    fact = {"fact": kind, "at": at, "maintenance": "M", **more}
    journal = [dict(entry) for entry in history.journal]
    journal.insert(place, fact)
    history.journal = [
        {**entry, "position": number} for number, entry in enumerate(journal, 1)
    ]


def lose_the_announcement(history: History) -> None:
    history.operations[0] = replace(history.operations[0], ids=("LOST",))


def acknowledge_nothing(history: History) -> None:
    history.operations[0] = replace(history.operations[0], ids=())


def acknowledge_what_another_announced(history: History) -> None:
    other = replace(history.operations[0], token="op.9", key=None)
    history.operations.append(other)


def lose_an_approval(history: History) -> None:
    """Lose it while another event of the maintenance is withdrawn."""
    history.journal[3].update(fact="Withdrawn", event="E-OTHER")
    history.journal[4]["fact"] = "Printed"


def lose_a_retry(history: History) -> None:
    insert(history, 7, "WorkRetried", WORKED, by=None)
    history.operations.append(an_operation("retry", "M", 3))


def announce_twice(history: History) -> None:
    twin = an_announcement("TWIN")
    insert(history, 2, "Announced", ANNOUNCED, maintenance="TWIN", announced=twin)


def refuse_what_was_done(history: History) -> None:
    refused = replace(history.operations[0], outcome=Outcome.FAIL, status=409)
    history.operations[0] = refused


def refuse_an_approval_that_was_done(history: History) -> None:
    history.operations[1] = replace(history.operations[1], outcome=Outcome.FAIL)


def announce_unrequested(history: History) -> None:
    history.operations.pop(0)


def approve_unrequested(history: History) -> None:
    history.operations.pop(1)


def refuse_an_operator_but_approve(history: History) -> None:
    history.journal[3]["by"] = "admin"
    history.operations[1] = an_operation("approve", "E-M", 2, outcome=Outcome.FAIL)


def refuse_but_complete(history: History) -> None:
    insert(history, 7, "WorkEnded", WORKED, by="admin")
    refused = an_operation("complete", "M", 3, outcome=Outcome.FAIL)
    history.operations.append(refused)


def refuse_but_close(history: History) -> None:
    history.journal[8].update(fact="Closed", by="admin")


def lose_the_journal(history: History) -> None:
    history.journal = []


def lose_an_entry(history: History) -> None:
    history.journal = [fact for fact in history.journal if fact["fact"] != "WorkDone"]


def turn_the_clock_back(history: History) -> None:
    history.journal[7]["at"] = ANNOUNCED


def forget_the_approval(history: History) -> None:
    history.journal[3]["fact"] = "Printed"


def announce_on_short_notice(history: History) -> None:
    history.journal[1]["announced"]["not_before"] = "2026-01-01T12:10:00Z"


def count_downtime_as_notice(history: History) -> None:
    forget_the_approval(history)
    for fact in history.journal[4:]:
        fact["at"] = "2026-01-01T12:16:00.5Z"
    outage = {"since": "2026-01-01T12:02:00Z", "until": "2026-01-01T12:12:00Z"}
    insert(history, 4, "OutageEnded", "2026-01-01T12:12:00Z", outage=outage)


def miss_an_outage(history: History) -> None:
    history.faults.append(InjectedFault(kind=OUTAGE, begun=1, ended=65, is_down=True))


def restart_without_notice(history: History) -> None:
    operation = {"source": "User", "cause": "user-restart", "not_before": ANNOUNCED}
    history.journal[1]["announced"] |= operation
    insert(history, 1, "Enabled", ANNOUNCED, group="web", epoch="e")


def announce_for_two_update_domains(history: History) -> None:
    history.journal[1]["announced"]["events"][0]["resources"] = ["web-0", "web-1"]


def announce_for_two_isolated_vms(history: History) -> None:
    announce_for_two_update_domains(history)
    fleet = history.journal[0]
    fleet["groups"][0]["isolated"] = True
    for vm in fleet["vms"]:
        vm["update_domain"] = 0


def start_two_update_domains(history: History) -> None:
    other = an_announcement("N", description="op.9", vms=["web-1"])
    other["events"] = [{"id": "E-N", "group": "web", "resources": ["web-1"]}]
    for place, kind, more in (
        (2, "Announced", {"announced": other}),
        (5, "Approved", {"event": "E-N", "by": "op"}),
        (7, "Started", {}),
    ):
        at = history.journal[place]["at"]
        insert(history, place, kind, at, **{**more, "maintenance": "N"})


def start_twice(history: History) -> None:
    insert(history, 6, "Started", APPROVED)


def skip_an_incarnation(history: History) -> None:
    history.journal[5]["incarnation"] = 7


def change_without_publication(history: History) -> None:
    history.journal[5]["fact"] = "Printed"


def change_not_before(history: History) -> None:
    poll = history.polls[1]
    history.polls[1] = replace(poll, body=poll.body.replace(b"12:15:02", b"12:15:03"))


def show_another_version(history: History) -> None:
    history.polls[1] = replace(history.polls[1], version="2019-08-01")


def reuse_a_tag(history: History) -> None:
    again = replace(a_poll(4, 2, "Started"), body=a_document(2, "Scheduled"))
    history.polls.append(again)


def go_back(history: History) -> None:
    history.polls.insert(3, a_poll(3, 1, "Scheduled"))


def show_the_approval_late(history: History) -> None:
    history.polls[2] = a_poll(2.7, 1, "Scheduled")


def start_unseen(history: History) -> None:
    history.operations.pop()
    history.polls[2:4] = [a_poll(3.6, 1, "Scheduled")]


def run_without_an_entry(history: History) -> None:
    history.runs.append(replace(history.runs[0], attempt=2))


def run_for_another_vm(history: History) -> None:
    history.runs.append(replace(history.runs[0], vms=("web-0", "web-1")))


def count_work_as_done_without_a_run(history: History) -> None:
    history.runs.clear()


def run_an_attempt_twice(history: History) -> None:
    history.runs.append(history.runs[0])


def share_a_vm(history: History) -> None:
    history.runs[0] = replace(history.runs[0], shared=("web-0",))


def lose_a_message(history: History) -> None:
    history.deliveries.pop(1)


def deliver_out_of_order(history: History) -> None:
    history.deliveries.reverse()


def go_on_after_a_refusal(history: History) -> None:
    first = history.deliveries[0]
    history.deliveries[:1] = [replace(first, is_accepted=False)]
    history.deliveries.append(first)


def deliver_another_entry(history: History) -> None:
    history.deliveries[0] = replace(history.deliveries[0], entry={})


def deliver_other_events(history: History) -> None:
    history.deliveries.append(replace(history.deliveries[0], events=[{}]))


def hold_a_poll(history: History) -> None:
    history.polls[0] = replace(history.polls[0], invoked=-99)


def hold_a_command(history: History) -> None:
    history.operations[0] = replace(history.operations[0], invoked=-99)


def leave_something_open(history: History) -> None:
    history.maintenances = [{"id": "M", "phase": "STARTED"}]


def end_with_an_old_document(history: History) -> None:
    history.polls.pop()


def refuse_a_poll(history: History) -> None:
    history.polls.append(replace(a_poll(4, 2), status=404))


def exit_badly(history: History) -> None:
    fault = InjectedFault(kind="terminate", begun=1, ended=2, complaint="exit code 1")
    history.faults.append(fault)


TAMPERINGS: Mapping[Callable[[History], None], str] = {
    lose_the_announcement: "acknowledged_is_in_journal",
    acknowledge_nothing: "acknowledged_is_in_journal",
    acknowledge_what_another_announced: "acknowledged_is_in_journal",
    lose_an_approval: "acknowledged_is_in_journal",
    lose_a_retry: "acknowledged_is_in_journal",
    announce_twice: "command_is_done_once",
    refuse_what_was_done: "refused_is_not_done",
    refuse_an_approval_that_was_done: "refused_is_not_done",
    announce_unrequested: "refused_is_not_done",
    approve_unrequested: "refused_is_not_done",
    refuse_an_operator_but_approve: "refused_is_not_done",
    refuse_but_complete: "refused_is_not_done",
    refuse_but_close: "refused_is_not_done",
    lose_the_journal: "journal_has_no_gaps",
    lose_an_entry: "journal_has_no_gaps",
    turn_the_clock_back: "journal_has_no_gaps",
    forget_the_approval: "start_waits_for_not_before",
    announce_on_short_notice: "minimum_notice",
    count_downtime_as_notice: "minimum_notice",
    miss_an_outage: "minimum_notice",
    restart_without_notice: "minimum_notice",
    announce_for_two_update_domains: "one_update_domain",
    announce_for_two_isolated_vms: "one_update_domain",
    start_two_update_domains: "one_update_domain",
    start_twice: "phases",
    skip_an_incarnation: "incarnations",
    change_without_publication: "incarnations",
    change_not_before: "documents_equal_journal",
    show_another_version: "documents_equal_journal",
    reuse_a_tag: "tag_is_unique",
    go_back: "reads_are_monotonic",
    show_the_approval_late: "acknowledged_is_visible",
    start_unseen: "start_is_visible_to_driver",
    run_without_an_entry: "run_is_in_journal",
    run_for_another_vm: "run_is_in_journal",
    count_work_as_done_without_a_run: "run_is_in_journal",
    run_an_attempt_twice: "attempt_runs_once",
    share_a_vm: "one_script_per_vm",
    lose_a_message: "webhooks",
    deliver_out_of_order: "webhooks",
    go_on_after_a_refusal: "webhooks",
    deliver_another_entry: "webhooks",
    deliver_other_events: "webhooks",
    hold_a_poll: "nothing_is_held",
    hold_a_command: "nothing_is_held",
    leave_something_open: "everything_ends",
    end_with_an_old_document: "everything_ends",
    refuse_a_poll: "program_behaves",
    exit_badly: "program_behaves",
}


def test_correct_history_has_no_violations() -> None:
    assert judge(a_history()) == []


@pytest.mark.parametrize("tamper", TAMPERINGS, ids=lambda tamper: tamper.__name__)
def test_tampered_history_is_reported(tamper: Callable[[History], None]) -> None:
    history = deepcopy(a_history())
    tamper(history)
    assert TAMPERINGS[tamper] in {text.partition(":")[0] for text in judge(history)}


def test_unknown_outcome_permits_both() -> None:
    history = a_history()
    unknown = replace(history.operations[0], outcome=Outcome.UNKNOWN, ids=())
    not_done = replace(unknown, token="op.8", key=None)
    history.operations[:1] = [unknown, not_done]
    assert judge(history) == []


def test_approval_of_a_withdrawn_event_shows_the_withdrawal() -> None:
    """A later cancellation of the rest need not be visible with the response."""
    history = a_history()
    history.journal = history.journal[:3]
    for kind, at, more in (
        ("Withdrawn", APPROVED, {"event": "E-M"}),
        ("Published", APPROVED, {"incarnation": 2, "audience": "web", "epoch": "e"}),
        ("Canceled", ENDED, {}),
        ("Published", ENDED, {"incarnation": 3, "audience": "web", "epoch": "e"}),
    ):
        insert(history, len(history.journal), kind, at, **more)
    history.polls[2:] = [a_poll(2.7, 2), a_poll(5, 3)]
    checks = {text.partition(":")[0] for text in judge(history)}
    assert "acknowledged_is_visible" not in checks


def test_time_in_which_the_service_is_down_is_not_held() -> None:
    history = a_history()
    hold_a_command(history)
    history.faults = [InjectedFault(kind="freeze", begun=-99, ended=1, is_down=True)]
    assert judge(history) == []


def test_every_check_has_a_tampering_and_a_row_in_the_docs() -> None:
    names = [check.__name__ for check in CHECKS]
    assert {*TAMPERINGS.values()} == {name.removeprefix("check_") for name in names}
    page = PAGE.read_text()
    assert [name for name in names if f"`{name}`" not in page] == []
