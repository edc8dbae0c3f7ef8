"""Checks of `forewarn doctor`: what they find, and the command that helps."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.cli.support.samples import E1, M1, Json, a_maintenance, an_event, page

from forewarn.cli.api import METADATA_ENDPOINT
from forewarn.cli.contexts import LOCAL_SERVICE, ServiceChoice
from forewarn.cli.responses import JsonObject
from forewarn.cli.setup.diagnosis import (
    AgentFacts,
    Diagnosis,
    DiagnosisLevel,
    DoctorFacts,
    ServiceFacts,
)
from forewarn.cli.setup.service_checks import diagnose
from forewarn.errors import Refused, Unreachable, WrongUsage

OK, SKIPPED = DiagnosisLevel.OK, DiagnosisLevel.SKIPPED
WARNING, PROBLEM = DiagnosisLevel.WARNING, DiagnosisLevel.PROBLEM
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def a_choice(**changed: Any) -> ServiceChoice:
    choice = ServiceChoice(
        context=None,
        url="http://127.0.0.1:8255",
        url_source=LOCAL_SERVICE,
        token="secret",
        token_source="the file",
        ca=None,
    )
    return replace(choice, **changed)


def a_session(**changed: object) -> JsonObject:
    session: Json = {"name": "ops", "role": "operator", "token_expires_at": None}
    return JsonObject({**session, **changed})


def a_clock(**changed: object) -> JsonObject:
    return JsonObject({"clock": "system", "now": NOON.isoformat(), **changed})


def a_fleet(*findings: Json, vms: int = 4) -> JsonObject:
    sizes = {"hosts": 2, "groups": 1, "vms": vms, "now": NOON.isoformat()}
    return JsonObject({**sizes, "findings": [*findings]})


def a_finding(check: str, *items: Json, number: int | None = None) -> Json:
    return {"check": check, "count": number or len(items), "items": [*items]}


def a_named(name: str, last_request: str | None = None) -> Json:
    return {"name": name, "last_request": last_request}


def an_operation(
    *,
    due: bool = False,
    waits: list[Json] | None = None,
    seen: bool = True,
    **more: Any,
) -> JsonObject:
    sights = [{"event": E1, "vm": "web-0", "at": NOON.isoformat()}] if seen else []
    maintenance = a_maintenance(**more)
    item = {
        "maintenance": maintenance,
        "due": due,
        "waits": waits or [],
        "seen": sights,
    }
    return JsonObject(item)


def a_list(*items: object) -> JsonObject:
    return JsonObject(page(*items))


def facts(
    *,
    choice: ServiceChoice | WrongUsage | None = None,
    now: datetime = NOON,
    options: str = "",
    agent: AgentFacts | None = None,
    **service: Any,
) -> DoctorFacts:
    """Return the facts of a healthy service, with the changes in `service`."""
    healthy = ServiceFacts(
        readiness=JsonObject({"status": "ready", "version": "1.0"}),
        session=a_session(),
        clock=a_clock(),
        clock_read_at=now,
        faults=a_list(),
        fleet=a_fleet(),
        limited=a_list(),
        overview=(),
        notifiers=a_list(),
        tokens=a_list(),
    )
    return DoctorFacts(
        choice=choice or a_choice(),
        service=replace(healthy, **service),
        version="1.0",
        now=now,
        options=options,
        agent=agent,
    )


def found(checked: DoctorFacts) -> list[Diagnosis]:
    """Return what is not ok."""
    return [diagnosis for diagnosis in diagnose(checked) if diagnosis.level is not OK]


def only(checked: DoctorFacts) -> Diagnosis:
    """Return the only diagnosis that is not ok."""
    (diagnosis,) = found(checked)
    return diagnosis


def test_healthy_service_needs_few_lines() -> None:
    diagnoses = diagnose(facts(agent=AgentFacts(path="a.toml", about="1 rule")))
    assert {diagnosis.level for diagnosis in diagnoses} == {OK}
    assert len(diagnoses) <= 12
    assert all(diagnosis.fix is None for diagnosis in diagnoses)


# --- connection and token ----------------------------------------------------


@pytest.mark.parametrize(
    ("choice", "error", "fix"),
    [
        (a_choice(), Unreachable("refused"), "forewarn serve"),
        (
            a_choice(url="https://ops:8255", url_source="context ops"),
            Unreachable("refused"),
            "forewarn context show",
        ),
        (
            a_choice(url="http://127.0.0.1:9000", url_source="--url"),
            Refused(METADATA_ENDPOINT, 404),
            "forewarn doctor --url http://127.0.0.1:8255",
        ),
        (
            a_choice(url="http://127.0.0.1:9000", url_source="--url"),
            Refused("HTTP 404", 404),
            "forewarn context show",
        ),
    ],
)
def test_without_a_connection_only_this_machine_is_checked(
    choice: ServiceChoice, error: Exception, fix: str
) -> None:
    agent = AgentFacts(path="a.toml", problems=["hook missing"])
    checked = facts(choice=choice, readiness=error, agent=agent)
    connection, rest, local = diagnose(checked)
    assert (connection.check, connection.level) == ("connection", PROBLEM)
    assert choice.url_source in connection.text
    assert connection.fix == fix
    assert rest.level is SKIPPED
    assert (local.check, local.level) == ("agent", PROBLEM)


def test_unreadable_contexts_are_a_problem() -> None:
    connection, _ = diagnose(facts(choice=WrongUsage("contexts.toml: line 1: bad")))
    assert connection.level is PROBLEM
    assert "contexts.toml" in connection.text
    assert connection.fix is None  # every command that reads the file would fail


@pytest.mark.parametrize(
    ("url", "is_private"),
    [
        ("http://127.0.0.1:8255", True),
        ("http://[::1]:8255", True),
        ("http://localhost", True),
        ("https://ops.example", True),
        ("http://ops.example", False),
        ("http://192.0.2.1:8255", False),
    ],
)
def test_token_must_not_be_sent_in_the_clear(url: str, is_private: bool) -> None:
    checked = facts(choice=a_choice(url=url))
    assert bool(found(checked)) is not is_private


def test_rejected_token_skips_what_needs_one() -> None:
    choice = a_choice(context="ops", url_source="context ops")
    session = Refused("token rejected", 401)
    unread: dict[str, Any] = dict.fromkeys(("clock", "fleet", "overview", "tokens"))
    token, rest = found(facts(choice=choice, session=session, **unread))
    assert (token.check, token.level) == ("token", PROBLEM)
    assert token.fix == f"forewarn context add ops --replace --url {choice.url}"
    assert rest.level is SKIPPED


@pytest.mark.parametrize(("days", "is_near"), [(6, True), (8, False)])
def test_own_token_expires_soon(days: int, is_near: bool) -> None:
    expires = (NOON + timedelta(days=days)).isoformat()
    diagnoses = found(facts(session=a_session(token_expires_at=expires)))
    assert [d.fix for d in diagnoses] == (
        ["forewarn token create NAME --role operator --expires 90d"] if is_near else []
    )


def test_commands_reach_the_same_service() -> None:
    checked = facts(options=" --context ops", readiness=Refused("no heartbeat", 503))
    diagnosis = next(d for d in found(checked) if d.check == "readiness")
    assert diagnosis.fix == "forewarn health --wait 30s --context ops"


# --- the service -------------------------------------------------------------


def test_service_that_is_not_ready_is_checked_further() -> None:
    checked = facts(readiness=Refused("writes are failing (for 2 min)", 503))
    diagnosis = only(checked)
    assert (diagnosis.check, diagnosis.level) == ("readiness", PROBLEM)
    assert "writes are failing (for 2 min)" in diagnosis.text


def test_active_faults_show_who_set_them_and_when() -> None:
    fault = {"kind": "503", "set_by": "ada", "set_at": (NOON - HOUR).isoformat()}
    diagnosis = only(facts(faults=a_list(fault)))
    assert diagnosis.level is WARNING
    assert "503 (set by ada, 1 h ago)" in diagnosis.text
    assert diagnosis.fix == "forewarn faults clear"


def test_active_faults_are_known_without_permission_to_list_them() -> None:
    readiness = JsonObject({"status": "ready", "version": "1.0", "faults": ["slow"]})
    diagnosis = only(facts(readiness=readiness, faults=Refused("no", 403)))
    assert diagnosis.text.endswith("slow")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (4, None),
        (-4, None),
        (90, "1 min 30 s behind this"),
        (-7200, "2 h ahead of this"),
    ],
)
def test_clocks_are_compared(seconds: int, text: str | None) -> None:
    diagnoses = found(facts(clock_read_at=NOON + timedelta(seconds=seconds)))
    assert bool(diagnoses) is (text is not None)
    assert all(text in diagnosis.text for diagnosis in diagnoses if text)


@pytest.mark.parametrize("kind", ["manual", "x60"])
def test_other_clocks_are_not_compared(kind: str) -> None:
    checked = facts(clock=a_clock(clock=kind), clock_read_at=NOON + 9 * HOUR)
    assert found(checked) == []
    assert any(kind in diagnosis.text for diagnosis in diagnose(checked))


def test_paused_clock_is_a_problem() -> None:
    until = (NOON + HOUR).isoformat()
    clock = a_clock(now=until, system_now=NOON.isoformat(), stands_still_until=until)
    diagnosis = only(facts(clock=clock))
    assert diagnosis.level is PROBLEM
    assert "(in\xa01\xa0h)" in diagnosis.text


def test_different_versions_are_a_warning() -> None:
    readiness = JsonObject({"status": "ready", "version": "0.9"})
    assert "0.9" in only(facts(readiness=readiness)).text


# --- the fleet ---------------------------------------------------------------


def test_empty_fleet_is_a_warning() -> None:
    assert only(facts(fleet=a_fleet(vms=0))).fix == "forewarn fleet init"


def test_findings_about_the_fleet_are_folded() -> None:
    items = [a_named(f"g{n}", (NOON - 30 * HOUR).isoformat()) for n in range(4)]
    finding = a_finding("group-disabled", a_named("new"), *items, number=70_000)
    diagnosis = only(facts(fleet=a_fleet(finding)))
    assert "70000 groups (new: never polled, g0: 1 d 6 h ago, " in diagnosis.text
    assert "and 69997 more" in diagnosis.text
    assert diagnosis.fix == "run `forewarn watch` in a VM of the group"


@pytest.mark.parametrize("kind", ["manual", "x60"])
def test_quiet_vms_are_reported_only_with_a_system_clock(kind: str) -> None:
    fleet = a_fleet(a_finding("vm-not-polling", a_named("web-0")))
    assert "web-0: not since" in only(facts(fleet=fleet)).text
    assert found(facts(fleet=fleet, clock=a_clock(clock=kind))) == []


def test_findings_of_a_newer_service_are_ignored() -> None:
    assert found(facts(fleet=a_fleet(a_finding("new-check", a_named("x"))))) == []


def test_limited_vms_share_one_line() -> None:
    vms = [{"name": f"web-{n}", "refused": 5} for n in range(30)]
    diagnosis = only(facts(limited=a_list(*vms)))
    assert "30 VMs (web-0, " in diagnosis.text
    assert "150 requests" in diagnosis.text


# --- maintenance -------------------------------------------------------------


def test_stuck_operation_shows_reason_time_and_retry() -> None:
    since = (NOON - 2 * HOUR).isoformat()
    work: Json = {"kind": "work", "text": "Stuck: the driver failed on web-0. No disk."}
    operation = an_operation(phase="STARTED", stuck_since=since, waits=[work])
    diagnosis = only(facts(overview=[operation], options=" --context ops"))
    assert diagnosis.level is PROBLEM
    assert diagnosis.text == (
        "Reboot of web-0, web-1 has been stuck since 2026-01-01 10:00:00Z"
        " (2\xa0h\xa0ago): the driver failed on web-0. No disk."
    )
    assert diagnosis.fix == f"forewarn maintenance retry {M1} --context ops"


def test_operation_past_its_not_before_shows_what_blocks_it() -> None:
    wait: Json = {"kind": "blocker", "text": "Waiting for the reboot of db."}
    begins = (NOON - HOUR).isoformat()
    late = an_operation(due=True, not_before=begins, waits=[wait])
    diagnosis = only(facts(overview=[late]))
    assert diagnosis.level is WARNING
    assert "(1\xa0h\xa0ago), but has not: Waiting for the reboot" in diagnosis.text
    assert diagnosis.fix == f"forewarn maintenance explain {M1}"
    early = an_operation(due=True, not_before=(NOON + HOUR).isoformat(), waits=[wait])
    assert found(facts(overview=[early])) == []  # approved, but blocked


@pytest.mark.parametrize(
    ("announced", "changes", "is_found"),
    [
        (NOON - HOUR, {"seen": False}, True),
        (NOON - HOUR, {"seen": True}, False),
        (NOON - HOUR / 2, {"seen": False}, False),  # less than half of the notice
        (NOON - HOUR, {"seen": False, "phase": "STARTED"}, False),
        (
            NOON - HOUR,
            {"seen": False, "events": [an_event(approved_at=NOON.isoformat())]},
            False,
        ),
    ],
)
def test_event_that_no_vm_has_seen_is_found_after_half_of_its_notice(
    announced: datetime, changes: dict[str, Any], is_found: bool
) -> None:
    operation = an_operation(
        announced_at=announced.isoformat(),
        not_before=(NOON + HOUR).isoformat(),
        **changes,
    )
    texts = [diagnosis.text for diagnosis in found(facts(overview=[operation]))]
    assert bool(texts) is is_found
    assert all("no VM in web has seen" in text for text in texts)


@pytest.mark.parametrize(("hours", "is_found"), [(0.9, False), (1, True)])
def test_long_work_is_found(hours: float, is_found: bool) -> None:
    since = (NOON - hours * HOUR).isoformat()
    work: Json = {"kind": "work", "text": "Waiting for host a.", "since": since}
    operation = an_operation(phase="STARTED", waits=[work])
    texts = [diagnosis.text for diagnosis in found(facts(overview=[operation]))]
    assert bool(texts) is is_found
    assert all("Waiting for host a." in text for text in texts)


@pytest.mark.parametrize(("number", "lines"), [(4, 4), (5, 4), (900, 4)])
def test_many_stuck_operations_are_folded(number: int, lines: int) -> None:
    since = (NOON - HOUR).isoformat()
    operations = [an_operation(phase="STARTED", stuck_since=since)] * number
    diagnoses = found(facts(overview=operations))
    assert len(diagnoses) == lines
    assert {diagnosis.level for diagnosis in diagnoses} == {PROBLEM}
    assert (f"{number - 3} more" in diagnoses[-1].text) is (number > 4)


# --- notifications and tokens ------------------------------------------------


def test_failing_target_shows_its_error() -> None:
    target = {
        "name": "pager",
        "failures": 3,
        "behind": 2,
        "last_error": "connection refused",
        "last_success": (NOON - HOUR).isoformat(),
    }
    diagnosis = only(facts(notifiers=a_list(target, {"name": "ok", "failures": 0})))
    assert diagnosis.level is PROBLEM
    assert diagnosis.text == (
        "target pager has failed 3 times in a row (last success 1 h ago, 2 entries not"
        " delivered): connection refused"
    )
    assert diagnosis.fix == "forewarn notify test pager"


def test_tokens_near_their_expiration_share_one_line() -> None:
    ends = {"gone": -2, "soon": 3, "late": 30, "old": -30}
    tokens = [
        {"name": name, "expires_at": (NOON + timedelta(days=days)).isoformat()}
        for name, days in ends.items()
    ]
    diagnosis = only(facts(tokens=a_list(*tokens, {"name": "ever"})))
    assert diagnosis.level is WARNING
    assert diagnosis.text.endswith(": gone (2 d ago), soon (in 3 d)")


@pytest.mark.parametrize("part", ["fleet", "overview", "notifiers", "tokens", "clock"])
@pytest.mark.parametrize(
    ("error", "level"),
    [
        (Refused("no", 403), SKIPPED),
        (Refused("no", 404), SKIPPED),
        (Unreachable("no response within 10 s"), PROBLEM),
    ],
)
def test_unreadable_part_is_skipped_or_a_problem(
    part: str, error: Exception, level: DiagnosisLevel
) -> None:
    changed: dict[str, Any] = {part: error}
    assert only(facts(**changed)).level is level
