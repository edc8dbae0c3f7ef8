"""`forewarn faults`: inject faults into the metadata plane, for rehearsals."""

import argparse
from collections.abc import Iterator, Mapping, Sequence

from forewarn.cli.api import ControlApi, api_of, segment
from forewarn.cli.batch import distinct, naming_options, run_each
from forewarn.cli.options import (
    FORMATS,
    Option,
    Subcommands,
    add_argument,
    add_command,
    add_noun,
)
from forewarn.cli.output import Column, table, write_response
from forewarn.cli.responses import JsonObject, object_from
from forewarn.cli.values import (
    one_of,
    read_duration,
    read_fraction,
    read_number,
    read_real_duration,
)
from forewarn.core.faults import FaultKind, FaultOn
from forewarn.errors import Misunderstood, Refused
from forewarn.formats import count, format_duration, join_names

_ADD = """\
Inject a fault into metadata-plane responses to test how programs handle it. The
fault kinds are:

{kinds}

All durations are in real time, regardless of the service's clock."""

_CLEAR = """\
Clear some faults, or all if no ID is specified. Stopping the service also clears
all faults."""

#: API field names, keyed by option name.
_FIELDS: Mapping[str, str] = {
    "on": "on",
    "vm": "vms",
    "count": "count",
    "probability": "probability",
    "duration": "duration_seconds",
    "delay": "delay_seconds",
    "retry_after": "retry_after_seconds",
}
#: The options that set fields of the API, for error messages.
_FLAGS: Mapping[str, str] = {
    field: f"--{option.replace('_', '-')}" for option, field in _FIELDS.items()
}
_COLUMNS = (
    "ID",
    "KIND",
    "ON",
    "VMS",
    "UNTIL",
    Column(title="SET BY", is_wide=True),
)
_OPTIONS = (
    Option(
        flag="--vm",
        metavar="NAME",
        repeated=True,
        help="affect only requests from these VMs",
        names="vms",
        shown_default="all VMs",
    ),
    Option(
        flag="--on",
        metavar="|".join(FaultOn),
        read=one_of(*FaultOn),
        help="affect only requests of this kind",
        shown_default="any",
    ),
    Option(
        flag="--count",
        metavar="N",
        read=read_number,
        help="number of requests to affect",
        shown_default="no limit",
    ),
    Option(
        flag="--probability",
        metavar="P",
        read=read_fraction,
        help="probability that a request is affected, such as 0.25",
        shown_default="1",
    ),
    Option(
        flag="--duration",
        metavar="DURATION",
        read=read_real_duration,
        help="how long the fault lasts",
        shown_default="until it is cleared",
    ),
    Option(
        flag="--delay",
        metavar="DURATION",
        read=read_real_duration,
        help="delay for the `slow` and `slow-first-call` kinds",
        shown_default="5s",
    ),
    Option(
        flag="--retry-after",
        metavar="DURATION",
        read=read_duration,
        help="Retry-After value for the `429` and `503` kinds, in whole seconds",
        shown_default="1s",
    ),
)


def register(subcommands: Subcommands) -> None:
    """Add `faults add`, `faults list` and `faults clear`."""
    commands = add_noun(
        subcommands,
        "faults",
        summary="inject faults into responses to VMs",
        example="forewarn faults add 503 --vm web-0 --count 3",
    )
    adding = add_command(
        commands,
        "add",
        _add_fault,
        summary="inject a fault",
        description=_ADD.format(kinds="\n".join(_kinds())),
        example="forewarn faults add slow --delay 2s --duration 30s",
        options=_OPTIONS,
    )
    add_argument(
        adding,
        "kind",
        metavar="KIND",
        read=one_of(*FaultKind),
        help="kind of fault, from the list above",
    )
    add_command(
        commands,
        "list",
        _list_faults,
        summary="list active faults",
        description="List the active faults with their kinds, VMs and limits.",
        example="forewarn faults list",
        formats=FORMATS,
    )
    clearing = add_command(
        commands,
        "clear",
        _clear,
        summary="clear some or all faults",
        description=_CLEAR,
        example="forewarn faults clear",
    )
    add_argument(
        clearing,
        "id",
        metavar="ID",
        nargs="*",
        help="IDs of the faults; omit them to clear all faults",
        names="faults",
    )


def _kinds() -> Iterator[str]:
    for text in dict.fromkeys(kind.help for kind in FaultKind):
        kinds = ", ".join(kind for kind in FaultKind if kind.help == text)
        yield f"{kinds:<15}  {text}"


def _add_fault(args: argparse.Namespace) -> int:
    fields = {name: getattr(args, option) for option, name in _FIELDS.items()}
    body = {name: value for name, value in fields.items() if value is not None}
    if args.vm is not None:
        body["vms"] = distinct(args.vm)
    with naming_options(_FLAGS):
        plain = api_of(args).request("POST", "/v1/faults", {"kind": args.kind, **body})
    names = [object_from(plain).text("id")]
    return write_response(args, plain, _describe(plain), names)


def _describe(plain: object) -> Iterator[str]:
    fault = object_from(plain)
    limits = []
    if (number := fault.number("count")) is not None:
        limits.append(count(number, "request"))
    if (seconds := fault.text("duration_seconds")) is not None:
        limits.append(f"for {_format_seconds(seconds)}")
    what = f"Fault {fault.text('id')}: {fault.text('kind')} for {_vms(fault)}"
    yield f"{what}, {_limits(fault, limits)}."


def _list_faults(args: argparse.Namespace) -> int:
    items = [*api_of(args).items("/v1/faults")]
    names = (object_from(item).text("id") for item in items)
    return write_response(args, items, _lines(args, items), names)


def _lines(args: argparse.Namespace, faults: Sequence[object]) -> Iterator[str]:
    rows = [_row(object_from(fault)) for fault in faults]
    yield table(_COLUMNS, rows, args) if rows else "No active faults."


def _clear(args: argparse.Namespace) -> int:
    api, ids = api_of(args), distinct(args.id)
    if not ids:
        api.request("DELETE", "/v1/faults")
        return write_response(args, {"cleared": "all"}, ["Cleared all faults."])
    known = _known(api) if len(ids) > 1 else ()

    def check(fault: str) -> None:
        if fault not in known:
            raise Refused(f"fault {fault} not found", 404)

    def clear(fault: str) -> str:
        api.request("DELETE", f"/v1/faults/{segment(fault)}")
        return fault

    batch = run_each(ids, clear, check)
    lines = [f"Cleared fault {fault}." for fault in batch.results]
    plain = {"cleared": batch.results[0] if len(ids) == 1 else [*batch.results]}
    return batch.finish(write_response(args, plain, lines))


def _known(api: ControlApi) -> Sequence[str | None]:
    return [object_from(item).text("id") for item in api.items("/v1/faults")]


def _row(fault: JsonObject) -> tuple[str, ...]:
    texts = [fault.text(name) or "" for name in ("id", "kind", "on")]
    left = []
    if (number := fault.number("left")) is not None:
        left.append(count(number, "more request"))
    if (seconds := fault.text("left_seconds")) is not None:
        left.append(f"{_format_seconds(seconds)} more")
    return (*texts, _vms(fault), _limits(fault, left), fault.text("set_by") or "")


def _vms(fault: JsonObject) -> str:
    names = fault.names("vms")
    return join_names(names) if names else "all VMs"


def _limits(fault: JsonObject, limits: Sequence[str]) -> str:
    """Describe the limits of a fault, with its probability."""
    chance = fault.text("probability")
    certain = chance in (None, "1", "1.0")
    parts = [*limits, *([] if certain else [f"with probability {chance}"])]
    return ", ".join(parts if limits else [*parts, "until it is cleared"])


def _format_seconds(seconds: str) -> str:
    try:
        return format_duration(float(seconds))
    except ValueError as error:
        raise Misunderstood(f"{seconds!r} is not a number of seconds") from error
