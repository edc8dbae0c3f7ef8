"""`forewarn report`: print a monthly report, including an audit of promised notice."""

import argparse
from collections.abc import Iterator, Sequence
from urllib.parse import urlencode

from forewarn.cli.api import api_of
from forewarn.cli.options import Option, Subcommands, add_command
from forewarn.cli.output import (
    format_duration,
    format_time,
    paragraph,
    table,
    write_response,
)
from forewarn.cli.responses import JsonObject, object_from
from forewarn.cli.values import argument
from forewarn.core.queries.report import month_named
from forewarn.formats import count, join_names

_DESCRIPTION = """\
Show a report for one month (UTC): how many operations were announced, started and
ended, how much notice was given, who approved events, which events no VM saw,
and whether VMs always got the promised notice. The exit code is 1 if they did
not."""

_HAPPENED = ("announced", "started", "completed", "canceled", "failed", "withdrawn")
_MAX_UNSEEN = 20
_TIMEOUT = 600.0  # seconds; a month can have very many maintenance operations


def register(subcommands: Subcommands) -> None:
    """Add `report`."""
    add_command(
        subcommands,
        "report",
        _report,
        summary="show a monthly report that audits the notice given",
        description=_DESCRIPTION,
        example="forewarn report --month 2026-11 --group web",
        options=(
            Option(
                flag="--month",
                metavar="YYYY-MM",
                read=_read_month,
                help="month to report on",
                shown_default="the current month",
            ),
            Option(
                flag="--group",
                metavar="NAME",
                help="include only operations that affect this group",
                names="groups",
            ),
        ),
    )


def _report(args: argparse.Namespace) -> int:
    """Print the report; return 1 if any notice was shorter than promised."""
    filters = {"month": args.month, "group": args.group}
    query = urlencode({name: value for name, value in filters.items() if value})
    plain = api_of(args).request("GET", f"/v1/report?{query}", timeout=_TIMEOUT)
    response = object_from(plain)
    write_response(args, plain, _lines(response))
    return 1 if response.list("broken_promises") else 0


def _lines(response: JsonObject) -> Iterator[str]:
    yield "\n\n".join(_sections(response))


def _sections(response: JsonObject) -> Iterator[str]:
    yield _title(response)
    yield _promises(response)
    yield from _happened(response)
    yield from _notice(response)
    yield from _approvals(response)
    yield from _never_shown(response)
    yield _disruptions(response)


def _title(response: JsonObject) -> str:
    since, until, at = (response.time(name) for name in ("since", "until", "made_at"))
    scope = (
        f"group {response.text('group')}" if response.text("group") else "all groups"
    )
    name = f"{since:%B %Y}" if since else response.text("month")
    so_far = ""
    if at and since and at < since:
        so_far = " (this month has not started)"
    elif at and until and at < until:
        so_far = f", as of {format_time(at)}"
    return f"Maintenance in {name}, {scope}{so_far}"


def _promises(response: JsonObject) -> str:
    starts = response.part("starts")
    total = _number(starts, "total")
    if not total:
        return "No maintenance started, so no VM missed its promised notice."
    ways = [
        f"{_number(starts, name)} {words}"
        for name, words in (
            ("whole_notice", "after full notice"),
            ("approved_early", "early with all approvals"),
            ("without_notice", "without notice as announced"),
            ("broken", "too early"),
        )
        if _number(starts, name)
    ]
    text = f"{count(total, 'maintenance operation')} started: {', '.join(ways)}."
    broken = response.parts("broken_promises")
    if not broken:
        return paragraph(f"VMs always got the promised notice. {text}", 0)
    return "\n".join(
        [paragraph(f"{_broken_heading(_number(starts, 'broken'))} {text}", 0), ""]
        + [paragraph(_broken_promise(promise)) for promise in broken]
    )


def _broken_heading(number: int) -> str:
    if number == 1:
        return "1 OPERATION STARTED TOO EARLY. This is a bug; please report it."
    return f"{number} OPERATIONS STARTED TOO EARLY. This is a bug; please report it."


def _broken_promise(promise: JsonObject) -> str:
    short = format_duration(max(round(float(promise.text("too_soon_seconds") or 0)), 1))
    return (
        f"  {promise.text('maintenance')}: {promise.text('type')}, started"
        f" {format_time(promise.time('started_at'))}, {short} too early for"
        f" {join_names(promise.names('groups'))}"
    )


def _happened(response: JsonObject) -> Iterator[str]:
    rows = [
        [
            f"{kind.text('type')}, {kind.text('cause')}",
            *(str(_number(kind, name) or "") for name in _HAPPENED),
        ]
        for kind in response.parts("maintenances")
    ]
    if rows:
        yield table(["OPERATIONS", *map(str.upper, _HAPPENED)], rows)


def _notice(response: JsonObject) -> Iterator[str]:
    notice, saved = response.part("notice"), response.part("saved_seconds")
    if not notice.plain:
        return
    rows = [
        [name, *_quantiles(notice.part(name))] for name in ("promised", "given", "used")
    ]
    yield table(["NOTICE", "SHORTEST", "MEDIAN", "LONGEST"], rows)
    if _number(saved, "total"):
        by_type = saved.part("by_type")
        parts = [
            f"{kind} {format_duration(_number(by_type, kind))}"
            for kind in by_type.plain
        ]
        total = format_duration(_number(saved, "total"))
        yield paragraph(
            f"Time saved by early approval: {total} ({', '.join(parts)}).", 0
        )


def _quantiles(quantiles: JsonObject) -> Sequence[str]:
    names = ("least_seconds", "median_seconds", "longest_seconds")
    return [
        format_duration(_number(quantiles, name)) if quantiles.plain else ""
        for name in names
    ]


def _approvals(response: JsonObject) -> Iterator[str]:
    approvals = response.part("approvals")
    if not _number(approvals, "total"):
        return
    rows = [
        [
            approver.text("by") or "(automatic)",
            approver.text("via") or "",
            approver.text("approvals") or "",
        ]
        for approver in approvals.parts("by_whom")
    ]
    yield table(["APPROVED BY", "VIA", "APPROVALS"], rows)
    by_via = approvals.part("by_via")
    ways = [f"{_number(by_via, via)} via {via}" for via in by_via.plain]
    total = count(_number(approvals, "total"), "approval")
    yield paragraph(f"{total} in total: {', '.join(ways)}.", 0)


def _never_shown(response: JsonObject) -> Iterator[str]:
    unseen = response.part("never_shown")
    number = _number(unseen, "total")
    if not number:
        return
    shown = unseen.parts("events")[:_MAX_UNSEEN]
    lines = [
        f"{count(number, 'event')} started before any VM saw"
        f" {'it' if number == 1 else 'them'} (--json lists the IDs):",
        *(
            f"  {format_time(event.time('started_at'))}  {event.text('type')} for group"
            f" {event.text('group')}"
            for event in shown
        ),
    ]
    if number > len(shown):
        lines.append(f"  and {number - len(shown)} more")
    yield "\n".join(map(paragraph, lines))


def _disruptions(response: JsonObject) -> str:
    stuck, away = response.part("stuck"), response.part("outages")
    lines = [
        "No operation got stuck.",
        "The service had no outage longer than a minute.",
    ]
    if _number(stuck, "maintenances"):
        many = count(_number(stuck, "maintenances"), "operation")
        long = format_duration(_number(stuck, "seconds"))
        lines[0] = f"Stuck: {many}, {long} in total."
    if _number(away, "total"):
        times = count(_number(away, "total"), "outage")
        long = format_duration(_number(away, "seconds"))
        lines[1] = f"Service downtime: {times}, {long} in total."
    return "\n".join(lines)


def _number(part: JsonObject, name: str) -> int:
    return part.number(name) or 0


@argument
def _read_month(text: str) -> str:
    """Parse a month, for example 2026-01."""
    return month_named(text).name
