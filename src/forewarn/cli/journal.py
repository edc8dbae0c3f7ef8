"""`forewarn journal`: search and follow the journal."""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import islice

from forewarn.cli.answers import Answer, answer, target
from forewarn.cli.api import Api, api_of
from forewarn.cli.options import Option, Subcommands, add, add_command
from forewarn.cli.searches import SEARCH, Query, names_asked, times_asked
from forewarn.cli.stream import follow
from forewarn.cli.tables import count, moment, paragraph, some, write, write_json
from forewarn.cli.values import read_number
from forewarn.errors import WrongUsage

_DESCRIPTION = """\
Show the journal: every fact, in order, with its position and whose doing it was
(forewarn's, where nobody is named). Options that name something leave out what
does not concern it; several names of one option are any of them. --since and
--until take a time, a date, or how long ago: 2h. With --json each fact is one
line of JSON. --follow shows what there is and then waits for more; it survives
a restart of the service, and ends with Ctrl-C."""

_LONGEST_LINE = 70  # characters of a driver's output line; --json has all of it
_NOBODY = "forewarn"  # shown if an entry names nobody


def register(subcommands: Subcommands) -> None:
    """Add `journal`."""
    parser = add_command(
        subcommands,
        "journal",
        journal,
        summary="show what happened, fact by fact",
        description=_DESCRIPTION,
        example="forewarn journal --group web --since 7d",
    )
    add(
        parser,
        *SEARCH,
        Option(
            flag="--last",
            metavar="N",
            read=read_number,
            help="show the last N of them alone",
        ),
        Option(
            flag="--after",
            metavar="N",
            read=read_number,
            default=0,
            help="begin behind this position",
        ),
        Option(flag="--follow", switch=True, help="wait for more when all is shown"),
    )


def journal(args: argparse.Namespace) -> int:
    """Print journal entries; with --follow, also those that are added later."""
    for plain in _entries(api_of(args), args):
        if args.json:
            write_json(plain, indent=None)
        else:
            write(describe(answer(plain)))
        if args.follow:
            sys.stdout.flush()
    return 0


def _entries(api: Api, args: argparse.Namespace) -> Iterator[object]:
    _refuse_nonsense(args)
    names, times = names_asked(args), times_asked(api, args)
    # --follow shows older entries first, but never those before --after.
    begin = max(_newest(api), args.after) if args.follow else 0
    if args.last is None:
        query = [*names, *times, ("after", str(args.after))]
        entries = api.items("/v1/journal", query)
    else:
        entries = _last(api, [*names, *times], args.last)
    for plain in entries:
        begin = max(begin, answer(plain).number("position") or 0)
        yield plain
    if args.follow:
        yield from follow(api, begin, query=names)


def _refuse_nonsense(args: argparse.Namespace) -> None:
    if args.last is not None and args.after:
        raise WrongUsage("--last and --after exclude each other; give one of them")
    if args.follow and args.until is not None:
        raise WrongUsage("--follow goes on for ever; leave --until away")


def _last(api: Api, query: Query, most: int) -> Iterator[object]:
    newest_first = [*query, ("order", "newest")]
    newest = islice(api.items("/v1/journal", newest_first, size=most), most)
    return reversed([*newest])


def _newest(api: Api) -> int:
    for plain in islice(_last(api, [], 1), 1):
        return answer(plain).number("position") or 0
    return 0


def describe(entry: Answer) -> str:
    """Lay out one journal entry in one or two lines."""
    fact = entry.text("fact") or "?"
    about = _ABOUT.get(fact, _nothing)(entry)
    by = entry.text("by")
    parts = [
        f"{entry.text('position'):>5}",
        moment(entry.time("at")) or "",
        f"{by or _NOBODY:10}",
        fact,
        entry.text("event") or entry.text("maintenance"),
        about,
        None if by else _BY_NOBODY.get(fact),
        f"via {entry.text('via')}" if entry.text("via") else None,
    ]
    return paragraph("  ".join(part for part in parts if part), indent=7)


# --- details by kind of entry ------------------------------------------------


def _nothing(entry: Answer) -> str:
    del entry
    return ""


def _fleet_changed(entry: Answer) -> str:
    came = _named(entry, "")
    left = _named(entry, "removed_")
    return "; ".join([*came, *(f"removed {removed}" for removed in left)])


def _named(entry: Answer, prefix: str) -> Iterator[str]:
    for key, noun in (("hosts", "host"), ("groups", "group"), ("vms", "VM")):
        listed = entry.list(f"{prefix}{key}")
        names = [
            (Answer(item).text("name") or "?") if isinstance(item, dict) else str(item)
            for item in listed
        ]
        if names:
            yield f"{count(len(names), noun)} ({some(names)})"


def _announced(entry: Answer) -> str:
    order = entry.part("announced") or entry
    about = f"{order.text('type')} of {target(order.text('host'), order.names('vms'))}"
    not_before = moment(order.time("not_before"))
    return f"{about}, not before {not_before}" if not_before else about


def _group(entry: Answer) -> str:
    return f"group {entry.text('group')}"


def _reason(entry: Answer) -> str:
    return entry.text("reason") or ""


def _attempt(entry: Answer) -> str:
    return f"attempt {entry.text('attempt')}"


def _work(entry: Answer) -> str:
    detail = entry.text("detail")
    return some(entry.names("vms")) + (f": {detail}" if detail else "")


def _left(entry: Answer) -> str:
    return f"{some(entry.names('vms'))} left"


def _withdrawn(entry: Answer) -> str:
    return f"group {entry.text('group')}: its VMs have left"


def _printed(entry: Answer) -> str:
    output = entry.text("output") or ""
    size = f"{_attempt(entry)}, {count(len(output.encode()), 'byte')}"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return f"{size}, the last line: {_cut(lines[-1])}" if lines else size


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}..."


def _published(entry: Answer) -> str:
    return f"{entry.text('audience')}, incarnation {entry.text('incarnation')}"


def _seen(entry: Answer) -> str:
    sights = entry.parts("sights")
    return some([f"{sight.text('event')} by {sight.text('vm')}" for sight in sights], 2)


def _outage(entry: Answer) -> str:
    outage = entry.part("outage") or entry
    return f"away since {moment(outage.time('since'))}"


def _token(entry: Answer) -> str:
    group = entry.text("group")
    whose = f"of group {group}" if group else entry.text("role") or ""
    return f"{entry.text('name')} {whose}".strip()


def _refused(entry: Answer) -> str:
    refusals = entry.parts("refusals")
    return some(
        [
            f"{refusal.text('attempts')} from {refusal.text('address')}"
            for refusal in refusals
        ],
        2,
    )


_ABOUT: Mapping[str, Callable[[Answer], str]] = {
    "FleetChanged": _fleet_changed,
    "ListeningBegan": _group,
    "Announced": _announced,
    "Approved": _group,
    "VmsLeft": _left,
    "Withdrawn": _withdrawn,
    "WorkBegan": _attempt,
    "WorkDone": _work,
    "WorkFailed": _work,
    "WorkPrinted": _printed,
    "Canceled": _reason,
    "Closed": _reason,
    "Published": _published,
    "Seen": _seen,
    "OutageEnded": _outage,
    "TokenCreated": _token,
    "TokenRevoked": _token,
    "AccessRefused": _refused,
}

#: The actor shown for entries of these kinds that name nobody.
_BY_NOBODY: Mapping[str, str] = {
    "FleetChanged": "by the service, after a deletion",
    "WorkRetried": "by the service, as it is set to",
    "TokenRevoked": "by the service, as its group is gone",
}
