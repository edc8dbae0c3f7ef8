"""Log lines: level, text and JSON fields of each journal entry."""

from dataclasses import replace
from typing import Any

import pytest
from tests.core.lifecycle.test_notified_events import OTHERS, OUTCOMES
from tests.core.support.builders import (
    MINUTE,
    NOON,
    SECOND,
    a_maintenance,
    a_vm,
    an_event,
)

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.facts import JournalEntry
from forewarn.core.lifecycle.model import Maintenance, Phase, Via
from forewarn.core.lifecycle.policy import Rules
from forewarn.core.lifecycle.transitions import apply_to
from forewarn.core.outages import Outage
from forewarn.core.queries.log_lines import MOST_NAMES, LogLine, merged

WEB = an_event("0E98C6A1-5B0B", group="web", resources=("web-0",))
DB = an_event("70F1D7DE-6A2C", group="db", resources=("db-0",))
REBOOT = replace(a_maintenance(host="host-a", events=[WEB, DB]), number=17)
STARTED = replace(REBOOT, phase=Phase.STARTED, started_at=NOON, tries=1)
STUCK = replace(STARTED, stuck_since=NOON)

TITLE = "m-17 Reboot of host-a (web-0, db-0): "
FAILED = f.WorkFailed(at=NOON, maintenance="m0", vms=("web-0",), detail="timed out")


def a_line(
    fact: f.Fact, before: Maintenance | None = None, rules: Rules | None = None
) -> LogLine:
    is_announced = isinstance(fact, f.Announced)
    is_about_one = before is not None or is_announced
    after = apply_to(before, fact) if is_about_one else None  # type: ignore[arg-type]
    entry = JournalEntry(position=7, fact=fact)
    return LogLine(entry=entry, rules=rules or Rules(), before=before, after=after)


def announced(maintenance: Maintenance) -> f.Announced:
    return f.Announced(at=NOON, by="ops", maintenance="m0", announced=maintenance)


LINES: list[tuple[f.Fact, Maintenance | None, str, str]] = [
    (
        announced(replace(REBOOT, reason="new firmware")),
        None,
        "info",
        "announced by ops, not before 2026-01-05 12:15:00 UTC; groups web, db;"
        " reason: new firmware",
    ),
    (
        announced(replace(REBOOT, events=(WEB,), at_once=True, emergency=True)),
        None,
        "info",
        "announced by ops, starting immediately; group web; emergency",
    ),
    (
        f.Approved(
            at=NOON,
            by="web-0",
            via=Via.METADATA,
            maintenance="m0",
            event=WEB.id,
            group="web",
        ),
        REBOOT,
        "info",
        "approved for group web by web-0 via the metadata endpoint (event 0E98C6A1,"
        " 1 of 2 approved)",
    ),
    (
        f.Started(at=REBOOT.not_before, maintenance="m0"),
        REBOOT,
        "info",
        f"started after {(REBOOT.not_before - REBOOT.announced_at).seconds // 60} min,"
        " without approval from web, db",
    ),
    (
        f.Started(at=REBOOT.announced_at, maintenance="m0"),
        replace(REBOOT, at_once=True, emergency=True),
        "info",
        "started without notice (emergency)",
    ),
    (
        FAILED,
        STARTED,
        "error",
        "stuck: the driver failed on web-0 (timed out); run"
        " `forewarn maintenance explain m-17`",
    ),
    (
        f.WorkRetried(at=NOON, by="ops", maintenance="m0"),
        STUCK,
        "info",
        "retried by ops",
    ),
    (
        f.Completed(at=NOON + 90 * SECOND, maintenance="m0"),
        STARTED,
        "info",
        "completed 1 min 30 s after the start",
    ),
    (
        f.Canceled(at=NOON, by="ops", maintenance="m0", reason="postponed"),
        REBOOT,
        "info",
        "canceled by ops (postponed)",
    ),
    (
        f.Closed(at=NOON, by="ops", maintenance="m0"),
        STUCK,
        "warning",
        "closed as failed by ops",
    ),
]


@pytest.mark.parametrize(("fact", "before", "level", "text"), LINES)
def test_a_line_names_the_operation_and_what_happened(
    fact: f.Fact, before: Maintenance | None, level: str, text: str
) -> None:
    line = a_line(fact, before)
    assert line.text.partition(": ")[0] in (
        "m-17 Reboot of host-a (web-0, db-0)",
        "m-17 Reboot of host-a (web-0)",
    )
    assert (line.level, line.text.partition("): ")[2]) == (level, text)


def test_later_failures_of_a_stuck_operation_are_only_warnings() -> None:
    line = a_line(FAILED, STUCK)
    assert line.level == "warning"
    assert line.text == f"{TITLE}stuck: the driver failed on web-0 (timed out)"
    assert "command" not in line.fields


def test_a_failure_that_will_be_retried_is_a_warning() -> None:
    line = a_line(FAILED, STARTED, Rules(retries=1))
    assert line.level == "warning"
    assert line.text == (
        f"{TITLE}the driver failed on web-0 (timed out); it will be retried"
        " automatically"
    )
    last = a_line(FAILED, replace(STARTED, tries=2), Rules(retries=1))
    assert last.level == "error"


def test_an_outage_is_a_warning() -> None:
    outage = Outage(since=NOON - 5 * MINUTE, until=NOON)
    line = a_line(f.OutageEnded(at=NOON, outage=outage))
    assert line.level == "warning"
    assert line.text == (
        "the service is back after 5 min of downtime (since 2026-01-05 11:55:00 UTC);"
        " downtime does not count as notice"
    )


def test_long_lists_of_names_are_cut_in_fields_and_shortened_in_text() -> None:
    names = tuple(f"web-{number}" for number in range(1000))
    line = a_line(f.VmsLeft(at=NOON, maintenance="m0", vms=names), REBOOT)
    assert line.fields["vms"] == [*names[:MOST_NAMES]]
    assert "and 995 more" in line.text


# --- fields ------------------------------------------------------------------

_ALWAYS = "at fact position"
_MAINTENANCE = f"{_ALWAYS} groups maintenance title type"

#: The documented fields of each kind of fact, if none of their values is empty.
FIELDS = {
    f.FleetChanged: f"{_ALWAYS} by",
    f.Enabled: f"{_ALWAYS} group",
    f.Announced: f"{_MAINTENANCE} by not_before reason vms",
    f.Approved: f"{_MAINTENANCE} by event group via",
    f.VmsLeft: f"{_MAINTENANCE} vms",
    f.Withdrawn: f"{_MAINTENANCE} event group",
    f.Started: _MAINTENANCE,
    f.WorkBegan: f"{_MAINTENANCE} attempt",
    f.WorkDone: f"{_MAINTENANCE} detail vms",
    f.WorkFailed: f"{_MAINTENANCE} command detail vms",
    f.WorkPrinted: f"{_MAINTENANCE} attempt",
    f.WorkRetried: f"{_MAINTENANCE} by",
    f.WorkEnded: f"{_MAINTENANCE} by reason",
    f.Completed: _MAINTENANCE,
    f.Canceled: f"{_MAINTENANCE} by reason",
    f.Closed: f"{_MAINTENANCE} by reason",
    f.Published: f"{_ALWAYS} group",
    f.Seen: _ALWAYS,
    f.OutageEnded: _ALWAYS,
    f.TokenCreated: f"{_ALWAYS} by group",
    f.TokenRevoked: f"{_ALWAYS} by group",
    f.AccessRefused: _ALWAYS,
}

#: Values for fields that may be empty.
_FULL = {"by": "ops", "reason": "because", "detail": "so", "group": "web"}


@pytest.mark.parametrize(
    "fact", [*(fact for fact, _ in OUTCOMES), *OTHERS], ids=lambda fact: type(fact)
)
def test_the_fields_of_each_fact_stay_the_same(fact: f.Fact) -> None:
    values: dict[str, Any] = {
        name: _FULL[name] for name in type(fact).__slots__ if name in _FULL
    }
    if isinstance(fact, f.Announced):
        values["announced"] = replace(REBOOT, reason="because")
    entry = JournalEntry(position=7, fact=replace(fact, **values))
    after = REBOOT if hasattr(fact, "maintenance") else None
    line = LogLine(entry=entry, rules=Rules(), after=after)
    assert sorted(line.fields) == sorted(FIELDS[type(fact)].split())


def test_fields_have_the_values_of_the_fact() -> None:
    fact, before, _, _ = LINES[2]
    assert a_line(fact, before).fields == {
        "fact": "Approved",
        "position": 7,
        "at": "2026-01-05T12:00:00Z",
        "maintenance": "m-17",
        "title": "Reboot of host-a (web-0, db-0)",
        "type": "Reboot",
        "groups": ["web", "db"],
        "event": WEB.id,
        "group": "web",
        "by": "web-0",
        "via": "metadata",
    }


# --- fleet changes -----------------------------------------------------------


def changes(*parts: f.Fact) -> list[JournalEntry]:
    return [JournalEntry(position=n, fact=fact) for n, fact in enumerate(parts, 1)]


def a_change(name: str, by: str = "ops") -> f.FleetChanged:
    return f.FleetChanged(
        at=NOON, by=by, epoch="", vms=(a_vm(name),), removed_vms=(f"old-{name}",)
    )


def test_the_parts_of_one_fleet_change_become_one_line() -> None:
    (entry,) = merged(changes(*(a_change(f"web-{number}") for number in range(100))))
    assert entry.position == 100
    assert a_line(entry.fact).text == (
        "fleet changed by ops: added or changed 100 VMs (web-0, web-1, web-2, web-3,"
        " web-4 and 95 more); removed 100 VMs (old-web-0, old-web-1, old-web-2,"
        " old-web-3, old-web-4 and 95 more)"
    )


def test_other_entries_are_kept_apart_and_in_order() -> None:
    entries = changes(
        a_change("web-0"),
        a_change("web-1", by="ci"),
        f.Completed(at=NOON, maintenance="m0"),
        replace(a_change("web-2", by="ci"), at=NOON + SECOND),
    )
    assert [*merged(entries)] == entries
