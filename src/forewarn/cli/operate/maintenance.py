"""`forewarn maintenance`: list, explain, wait for and change maintenance operations."""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import chain

from forewarn.cli.api import ControlApi, api_of, segment
from forewarn.cli.batch import check_each, distinct, merged, run_each
from forewarn.cli.operate import wait
from forewarn.cli.operate.announce import REASON, dry_run_lines, post
from forewarn.cli.operate.details import (
    LIVE,
    explanation_lines,
    maintenance_lines,
    sentence_lines,
    story_lines,
    wrapped,
)
from forewarn.cli.options import (
    DRY_RUN,
    FORMATS,
    WATCH,
    Option,
    Subcommands,
    add_argument,
    add_command,
    add_noun,
)
from forewarn.cli.output import (
    Column,
    Styled,
    format_distance,
    format_time,
    paragraph,
    table,
    write_response,
)
from forewarn.cli.responses import (
    EventResponse,
    MaintenanceResponse,
    describe_target,
    event_from,
    maintenance_from,
    object_from,
)
from forewarn.errors import NotFound, Refused, WrongUsage
from forewarn.formats import join_names

_ID = (
    "ID, such as m-17; the name of an affected VM, host or group; or an event ID or"
    " unambiguous prefix"
)

_LIST = """\
List scheduled and started maintenance operations. WHEN is the time at which an
operation ended or started, or will start unless it is approved earlier. If it is
`due`, the operation is blocked. With -o wide, the list also shows exact times,
causes and groups."""

_WAIT = """\
Wait until a maintenance operation has started, completed or been canceled. The
exit code is 0 if it has, 1 if that can no longer happen, and 3 if the time limit
is reached first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verb:
    """A command that acts on maintenance operations."""

    summary: str
    description: str
    options: tuple[Option, ...] = ()


_VERBS: Mapping[str, _Verb] = {
    "approve": _Verb(
        summary="approve events so that operations start early",
        description="Approve events on behalf of their VMs. If ID identifies an event"
        " or a VM, approve only that event or the VM's events; otherwise, approve all"
        " events of the operation. Once all of an operation's events are approved, the"
        " operation starts unless it is blocked.",
    ),
    "cancel": _Verb(
        summary="cancel operations before they start",
        description="Cancel maintenance operations that have not started. After an"
        " operation starts, it can only be completed or closed.",
        options=(REASON,),
    ),
    "complete": _Verb(
        summary="mark started operations as done",
        description="Mark started maintenance operations as done, even if their"
        " duration has not elapsed. Their events disappear after they have been shown"
        " for the minimum time.",
    ),
    "retry": _Verb(
        summary="run the driver again for stuck operations",
        description="Run the driver again to finish the work of stuck maintenance"
        " operations.",
    ),
    "close": _Verb(
        summary="give up on stuck operations",
        description="Give up on stuck maintenance operations and close them as FAILED."
        " Their events disappear.",
        options=(REASON,),
    ),
}

_FILTERS = (
    Option(flag="--all", switch=True, help="include operations that have ended"),
    Option(
        flag="--vm",
        metavar="NAME",
        repeated=True,
        names="vms",
        help="list only operations that affect these VMs",
    ),
    Option(
        flag="--host",
        metavar="NAME",
        repeated=True,
        names="hosts",
        help="list only operations on these hosts",
    ),
    Option(
        flag="--group",
        metavar="NAME",
        repeated=True,
        names="groups",
        help="list only operations that affect these groups",
    ),
    WATCH,
)


def register(subcommands: Subcommands) -> None:
    """Add `maintenance list`, `show`, `explain`, `wait`, `approve` and the others."""
    commands = add_noun(
        subcommands,
        "maintenance",
        summary="list, explain and change maintenance operations (short: mnt)",
        example="forewarn maintenance list",
    )
    add_command(
        commands,
        "list",
        _list,
        summary="list scheduled and started operations",
        description=_LIST,
        example="forewarn maintenance list --watch",
        options=_FILTERS,
        formats=FORMATS,
    )
    for name, run, summary, description, options in (
        (
            "show",
            _show,
            "show the details and history of an operation",
            "Show a maintenance operation: its events, which VMs have seen them, who"
            " approved them, and what has happened since the announcement. Without ID,"
            " show the only stuck operation, or the only one that has not ended.",
            (WATCH,),
        ),
        (
            "explain",
            _explain,
            "explain what an operation is waiting for",
            "Explain what a maintenance operation is waiting for, how long it has been"
            " waiting, when the wait ends, and how to unblock it. Without ID, explain"
            " the only stuck operation, or the only one that has not ended.",
            (WATCH,),
        ),
        (
            "wait",
            _wait,
            "wait until an operation starts or ends",
            _WAIT,
            wait.OPTIONS,
        ),
    ):
        parser = add_command(
            commands,
            name,
            run,
            summary=summary,
            description=description,
            example=f"forewarn maintenance {name} "
            + ("m-17 --for completed --timeout 30m" if name == "wait" else "m-17"),
            options=options,
        )
        add_argument(
            parser, "id", metavar="ID", help=_ID, nargs="?", names="maintenances"
        )
    for name, verb in _VERBS.items():
        parser = add_command(
            commands,
            name,
            _approve if name == "approve" else _change,
            summary=verb.summary,
            description=verb.description,
            example=f"forewarn maintenance {name} m-17",
            options=(*verb.options, DRY_RUN),
            formats=("table", "json", "yaml", "name"),
        )
        add_argument(
            parser, "ids", metavar="ID", help=_ID, nargs="+", names="maintenances"
        )


# --- commands ----------------------------------------------------------------


def _list(args: argparse.Namespace) -> int:
    api = api_of(args)
    phases = () if args.all else [("phase", phase) for phase in LIVE]
    items = [
        item
        for item in api.items("/v1/maintenances", phases)
        if _is_wanted(maintenance_from(item), args)
    ]
    if not items:
        api.check_names(vms=args.vm, hosts=args.host, groups=args.group)
    kind = "maintenance" if args.all else "scheduled or started maintenance"
    names = (maintenance_from(item).id for item in items)
    lines = _list_lines(items, f"no {kind} operations", args, api)
    return write_response(args, items, lines, names)


def _is_wanted(maintenance: MaintenanceResponse, args: argparse.Namespace) -> bool:
    return all(
        wanted is None or any(name.lower() in map(str.lower, names) for name in wanted)
        for wanted, names in (
            (args.vm, maintenance.vms),
            (args.host, filter(None, [maintenance.host])),
            (args.group, [event.group for event in maintenance.events]),
        )
    )


def _show(args: argparse.Namespace) -> int:
    api = api_of(args)
    path = path_of(api, args.id)
    plain = api.request("GET", path)
    return write_response(args, plain, _show_lines(plain, path, api))


def _explain(args: argparse.Namespace) -> int:
    api = api_of(args)
    plain = api.request("GET", f"{path_of(api, args.id)}/explain")
    return write_response(args, plain, explanation_lines(plain, api))


def _wait(args: argparse.Namespace) -> int:
    api = api_of(args)
    plain = wait.wait_for(api, path_of(api, args.id), args)
    return write_response(args, plain, _state_lines(maintenance_from(plain)))


def path_of(api: ControlApi, any_id: str | None) -> str:
    """Return the path of an operation.

    Without an ID, choose the only stuck operation, or the only one that has not ended.
    """
    if any_id is None:
        phases = [("phase", phase) for phase in LIVE]
        live = [
            maintenance_from(item) for item in api.items("/v1/maintenances", phases)
        ]
        stuck = [item for item in live if item.stuck_since is not None]
        choice = stuck or live
        if not choice:
            raise NotFound("no scheduled or started maintenance operations")
        if len(choice) > 1:
            kind = "stuck" if stuck else "scheduled or started"
            ids = join_names([item.id or "" for item in choice])
            raise WrongUsage(
                f"specify one of {len(choice)} {kind} operations ({ids}); `forewarn"
                " maintenance list` lists them"
            )
        any_id = choice[0].id or ""
    return f"/v1/maintenances/{segment(any_id)}"


def _approve(args: argparse.Namespace) -> int:
    """Approve events, each by its own ID."""

    def paths(api: ControlApi, any_id: str, label: str) -> Sequence[str]:
        maintenance = maintenance_from(api.request("GET", path_of(api, label)))
        events = _chosen(maintenance.events, any_id)
        return [f"/v1/events/{segment(event.id or '')}/approve" for event in events]

    return _each(args, paths, None, _approved_lines)


def _change(args: argparse.Namespace) -> int:
    """Cancel, complete, retry or close maintenance operations."""
    verb: str = args.maintenance_command
    reason: str | None = getattr(args, "reason", None)
    body = {} if reason is None else {"reason": reason}

    def paths(api: ControlApi, any_id: str, label: str) -> Sequence[str]:
        del any_id
        return [f"{path_of(api, label)}/{verb}"]

    return _each(args, paths, body, _LINES[verb])


def _each(
    args: argparse.Namespace,
    paths: Callable[[ControlApi, str, str], Sequence[str]],
    body: object,
    lines: Callable[[ControlApi, Sequence[object]], Iterator[str]],
) -> int:
    """Send requests for each operation, after making sure that all of them exist."""
    api, verb = api_of(args), args.maintenance_command
    is_approval = verb == "approve"
    ids = distinct(args.ids)
    found = check_each(ids, lambda any_id: _label(api, any_id, verb))
    labels = dict(zip(ids, found, strict=True))
    if not is_approval:  # several IDs may identify one operation
        labels = {label: label for label in labels.values()}

    def send(any_id: str, *, dry_run: bool) -> Sequence[object]:
        return [
            post(api, path, body, dry_run=dry_run)[1]
            for path in paths(api, any_id, labels[any_id])
        ]

    run = partial(send, dry_run=bool(args.dry_run))
    batch = run_each([*labels], run, partial(send, dry_run=True))
    responses = [*chain.from_iterable(batch.results)]
    if args.dry_run:
        plain: object = merged(responses)
        shown = dry_run_lines(plain, api)
    else:
        plain = responses if is_approval or len(labels) > 1 else responses[0]
        shown = lines(api, responses)
    done = [*labels.values()][: len(batch.results)]
    return batch.finish(write_response(args, plain, shown, dict.fromkeys(done)))


def _label(api: ControlApi, any_id: str, verb: str) -> str:
    """Return the ID of the operation that `any_id` identifies and that `verb` fits."""
    plain = api.request("GET", f"{path_of(api, any_id)}?command={verb}")
    return maintenance_from(plain).id or any_id


def _chosen(events: Sequence[EventResponse], any_id: str) -> Sequence[EventResponse]:
    """Return the events that an ID, a prefix of one, or a VM's name identifies.

    If there are none, return all visible events. If no event is visible, return all.
    """
    folded = any_id.upper()
    named = [item for item in events if (item.id or "").upper().startswith(folded)]
    named = named or [
        item for item in events if folded in map(str.upper, item.resources)
    ]
    return named or [item for item in events if item.status is not None] or events


# --- lines of text -----------------------------------------------------------


_COLUMNS = (
    "ID",
    Column(title="TYPE", is_fixed=True),
    Column(title="STATE", is_fixed=True),
    "APPROVED",
    Column(title="WHEN", is_fixed=True),
    "AFFECTS",
    Column(title="GROUPS", is_wide=True),
    Column(title="NOT BEFORE", is_wide=True),
    Column(title="CAUSE", is_wide=True),
    Column(title="REASON", is_wide=True),
)


def _list_lines(
    items: Sequence[object], nothing: str, args: argparse.Namespace, api: ControlApi
) -> Iterator[str]:
    if not items:
        yield nothing
        return
    now = api.now()
    rows = [_row(maintenance_from(item), now) for item in items]
    yield table(_COLUMNS, rows, args)


def _show_lines(plain: object, path: str, api: ControlApi) -> Iterator[str]:
    yield from maintenance_lines(maintenance_from(plain), api.now())
    try:
        story = api.request("GET", f"{path}/story")
    except Refused as refusal:
        if refusal.status != 404:
            raise
        return  # the service is older than this command
    yield from story_lines(object_from(story))
    yield from sentence_lines(story)


def _approved_lines(api: ControlApi, responses: Sequence[object]) -> Iterator[str]:
    events = [event_from(plain) for plain in responses]
    for event in events:
        yield paragraph(f"approved: event {event.id} for group {event.group}")
    for label in dict.fromkeys(event.maintenance for event in events):
        yield from _state_lines(
            maintenance_from(api.request("GET", path_of(api, label)))
        )


def _changed_lines(api: ControlApi, responses: Sequence[object]) -> Iterator[str]:
    del api
    for plain in responses:
        yield from _state_lines(maintenance_from(plain))


def _completed_lines(api: ControlApi, responses: Sequence[object]) -> Iterator[str]:
    for plain in responses:
        maintenance = maintenance_from(plain)
        if maintenance.phase == "STARTED":
            yield paragraph(
                f"{maintenance.id} ({maintenance.title}) is marked as done; it ends"
                " when its events have been shown for the minimum time"
            )
        else:
            yield from _changed_lines(api, [plain])


def _retried_lines(api: ControlApi, responses: Sequence[object]) -> Iterator[str]:
    del api
    for maintenance in map(maintenance_from, responses):
        yield wrapped(
            f"{maintenance.id} ({maintenance.title}): the driver is running again. To"
            f" wait for the result, run `forewarn maintenance wait {maintenance.id}`."
        )


_LINES = {
    "cancel": _changed_lines,
    "complete": _completed_lines,
    "retry": _retried_lines,
    "close": _changed_lines,
}


def _state_lines(maintenance: MaintenanceResponse) -> Iterator[str]:
    total = len(maintenance.events)
    left = total - maintenance.approved if maintenance.phase == "SCHEDULED" else 0
    events = f"{left} of {total} events" if total > 1 else "its event"
    still = (
        f"; {events} {'is' if left == 1 else 'are'} not approved yet" if left else ""
    )
    yield paragraph(
        f"{maintenance.id} ({maintenance.title}) is {maintenance.phase}{still}"
    )


def _row(maintenance: MaintenanceResponse, now: datetime) -> tuple[str, ...]:
    return (
        maintenance.id or "",
        maintenance.type,
        _state(maintenance, now),
        f"{maintenance.approved}/{len(maintenance.events)}"
        if maintenance.phase == "SCHEDULED"
        else "",
        _when(maintenance, now),
        describe_target(maintenance.host, maintenance.vms),
        join_names([*dict.fromkeys(event.group for event in maintenance.events)]),
        format_time(maintenance.not_before) or "",
        maintenance.cause,
        maintenance.reason or "",
    )


def _when(maintenance: MaintenanceResponse, now: datetime) -> str:
    at = maintenance.changed_at(now)
    is_due = maintenance.phase == "SCHEDULED" and at <= now
    return "due" if is_due else format_distance(at, now)


def _state(maintenance: MaintenanceResponse, now: datetime) -> str:
    """Describe the phase, and for how long the operation has been stuck."""
    phase = maintenance.phase.lower()
    if maintenance.stuck_since is not None and maintenance.phase == "STARTED":
        stuck = format_distance(maintenance.stuck_since, now)
        return Styled(f"stuck for {stuck.removesuffix(' ago')}", "red")
    if maintenance.phase == "STARTED":
        return Styled(phase, "yellow")
    return Styled(phase, "red") if maintenance.phase == "FAILED" else phase
