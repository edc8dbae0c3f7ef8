"""Conversion between database rows and the core's values."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import get_args

from forewarn.core.fleet import VM, Audience, Group, Host, fold_name
from forewarn.core.lifecycle.facts import Enabled, Fact, JournalEntry, Sight
from forewarn.core.lifecycle.model import Maintenance
from forewarn.core.outages import Outage
from forewarn.core.serialization import from_plain, to_plain
from forewarn.core.tokens import Token

Row = Sequence[object]
Parameters = Mapping[str, object]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
#: Facts that were renamed after journals had been written, with their stored names.
_FORMER_NAMES: Mapping[type[Fact], str] = {Enabled: "ListeningBegan"}
_AUDIENCE = [field.name for field in fields(Audience)]


def stored_name(kind: type[Fact]) -> str:
    """Return the name under which the journal stores facts of `kind`."""
    return _FORMER_NAMES.get(kind, kind.__name__)


_FACTS: Mapping[str, type[Fact]] = {stored_name(kind): kind for kind in get_args(Fact)}


def micros(moment: datetime) -> int:
    """Convert `moment` to microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(count: object) -> datetime:
    """Convert microseconds since 1970 to a time."""
    if not isinstance(count, int):
        raise TypeError(f"{count!r} is not a count of microseconds")
    return _EPOCH + timedelta(microseconds=count)


def optional_micros(value: datetime | None) -> int | None:
    """Convert `value` to microseconds, unless it is None."""
    return None if value is None else micros(value)


def optional_moment(count: object) -> datetime | None:
    """Convert `count` to a time, unless it is None."""
    return None if count is None else moment(count)


def body(value: object) -> str:
    """Serialize `value` as JSON."""
    return json.dumps(to_plain(value), ensure_ascii=False, separators=(",", ":"))


def entry(row: Row) -> JournalEntry:
    """Parse a journal entry from its position, fact and body."""
    position, kind, text = row
    if not isinstance(position, int):
        raise TypeError(f"{position!r} is not a position")
    return JournalEntry(
        position=position, fact=from_plain(_FACTS[str(kind)], json.loads(str(text)))
    )


def maintenance_position(row: Row) -> tuple[int, str]:
    """Parse only the position and maintenance ID of a journal entry."""
    position, _, text = row
    return int(str(position)), str(json.loads(str(text))["maintenance"])


def fact_row(position: int, fact: Fact) -> Parameters:
    """Return the row of a journal entry."""
    return {
        "position": position,
        "at": micros(fact.at),
        "fact": stored_name(type(fact)),
        "version": fact.version,
        "body": body(fact),
    }


def concerned_rows(first: int, facts: Iterable[Fact]) -> Iterator[Parameters]:
    """Yield index rows for the maintenance IDs in `facts`.

    `first` is the position of the first fact.
    """
    for position, fact in enumerate(facts, first):
        maintenance = getattr(fact, "maintenance", None)
        if maintenance is not None:
            yield {"maintenance": maintenance, "position": position}


def sight(row: Row) -> Sight:
    """Parse a sight from its event, VM and time."""
    return Sight(event=str(row[0]), vm=str(row[1]), at=moment(row[2]))


def host(row: Row) -> Host:
    """Parse a host from its body."""
    return from_plain(Host, json.loads(str(row[0])))


def host_row(value: Host) -> Parameters:
    """Return the row of a host."""
    return {"name": value.name, "key": fold_name(value.name), "body": body(value)}


def group(row: Row) -> Group:
    """Parse a group from its body and last request."""
    read = from_plain(Group, json.loads(str(row[0])))
    return replace(read, last_request=optional_moment(row[1]))


def group_row(value: Group) -> Parameters:
    """Return the row of a group."""
    return {
        "name": value.name,
        "key": fold_name(value.name),
        "last_request": optional_micros(value.last_request),
        "body": body(replace(value, last_request=None)),
    }


def vm(row: Row) -> VM:
    """Parse a VM from its body."""
    return from_plain(VM, json.loads(str(row[0])))


def vm_row(value: VM) -> Parameters:
    """Return the row of a VM."""
    return {
        "name": value.name,
        "key": fold_name(value.name),
        "group": value.group,
        "host": value.host,
        "body": body(value),
    }


def audience(row: Row) -> Audience:
    """Parse an audience from its fields in order."""
    return from_plain(Audience, dict(zip(_AUDIENCE, row, strict=True)))


def maintenance(row: Row) -> Maintenance:
    """Parse a maintenance operation from its ordinal, moment, body and number."""
    read = from_plain(Maintenance, json.loads(str(row[2])))
    return replace(read, number=int(str(row[3])))


def maintenance_row(value: Maintenance, at: datetime | None) -> Parameters:
    """Return the row of a maintenance operation whose next timer fires at `at`."""
    return {
        "id": value.id,
        "phase": value.phase.value,
        "moment": optional_micros(at),
        "body": body(value),
        "number": value.number,
    }


def outage(row: Row) -> Outage:
    """Parse an outage from its start and end."""
    return Outage(since=moment(row[0]), until=moment(row[1]))


def outage_row(value: Outage) -> Parameters:
    """Return the row of an outage."""
    return {"since": micros(value.since), "until": micros(value.until)}


def token(row: Row) -> Token:
    """Parse a token from its body and last use."""
    read = from_plain(Token, json.loads(str(row[0])))
    return replace(read, last_used=optional_moment(row[1]))


def token_row(value: Token) -> Parameters:
    """Return the row of a token."""
    return {
        "id": value.id,
        "last_used": optional_micros(value.last_used),
        "body": body(replace(value, last_used=None)),
    }
