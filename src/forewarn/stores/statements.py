"""All SQL statements, each named after the data that it returns or changes.

Statements are compiled once per database and run on the driver's own cursor with named
parameters.
"""

from collections.abc import Iterator, Mapping
from typing import get_args

from sqlalchemy import (
    Table,
    bindparam,
    delete,
    exists,
    false,
    func,
    insert,
    select,
    true,
    union,
    update,
)
from sqlalchemy.sql.expression import ColumnElement, Executable, Insert, Update

from forewarn.core.lifecycle.facts import Fact
from forewarn.stores import tables as t

Statement = Executable

p = bindparam

# --- queries -----------------------------------------------------------------

STAMP = select(t.stamp.c.version_num)
COUNTER = select(
    t.counter.c.position, t.counter.c.last_at, t.counter.c.ordinal, t.counter.c.number
)
TAKE_COUNTER = COUNTER.with_for_update()  # SQLite: BEGIN IMMEDIATE locks everything
SETTING = select(t.settings.c.value).where(t.settings.c.name == p("of"))

FACT_AT = select(t.journal.c.at).where(t.journal.c.position == p("of"))

FACTS = (
    select(t.journal.c.position, t.journal.c.fact, t.journal.c.body)
    .where(t.journal.c.position > p("after"))
    .order_by(t.journal.c.position)
    .limit(p("most"))
)
FACTS_BETWEEN = FACTS.where(t.journal.c.position <= p("until"))


#: Parameters for kinds of facts, one for each existing kind.
KINDS = tuple(f"kind{number}" for number in range(len(get_args(Fact))))
FACTS_OF_KINDS = FACTS_BETWEEN.where(t.journal.c.fact.in_([p(kind) for kind in KINDS]))

FACTS_OF = (
    select(t.journal.c.position, t.journal.c.fact, t.journal.c.body)
    .join(t.concerned, t.concerned.c.position == t.journal.c.position)
    .where(t.concerned.c.maintenance == p("of"))
    .order_by(t.journal.c.position)
)
FACTS_OF_BETWEEN = (
    FACTS_OF.where(t.concerned.c.position > p("after"))
    .where(t.concerned.c.position <= p("until"))
    .limit(p("most"))
)

HOSTS = select(t.hosts.c.body).order_by(t.hosts.c.ordinal)
HOST = select(t.hosts.c.body).where(t.hosts.c.key == p("of"))

_GROUP = (t.groups.c.body, t.groups.c.last_request)
GROUPS = select(*_GROUP).order_by(t.groups.c.ordinal)
GROUP = select(*_GROUP).where(t.groups.c.key == p("of"))

VMS = select(t.vms.c.body).order_by(t.vms.c.ordinal)
VM = select(t.vms.c.body).where(t.vms.c.key == p("of"))
VM_AT = select(t.addresses.c.vm).where(t.addresses.c.address == p("of"))
VMS_OF_GROUP = VMS.where(t.vms.c.group == p("of"))
VMS_OF_HOST = VMS.where(t.vms.c.host == p("of"))


def _page(table: Table, *columns: ColumnElement[object]) -> Statement:
    """Return a query for rows sorted by key, starting after the key `after`."""
    key = table.c.key
    return select(*columns).where(key > p("after")).order_by(key).limit(p("most"))


HOSTS_PAGE = _page(t.hosts, t.hosts.c.body)
GROUPS_PAGE = _page(t.groups, *_GROUP)
VMS_PAGE = _page(t.vms, t.vms.c.body)

AUDIENCES = select(t.audiences)
AUDIENCES_OF_GROUP = AUDIENCES.where(t.audiences.c.group == p("of"))

_MAINTENANCE = (
    t.maintenances.c.ordinal,
    t.maintenances.c.moment,
    t.maintenances.c.body,
    t.maintenances.c.number,
)
LIVE = (
    select(*_MAINTENANCE)
    .where(t.maintenances.c.phase.in_(["SCHEDULED", "STARTED"]))
    .order_by(t.maintenances.c.ordinal)
)
LIVE_IN_GROUP = (
    select(*_MAINTENANCE)
    .join(t.involved, t.involved.c.maintenance == t.maintenances.c.id)
    .where(t.involved.c.group == p("of"), t.involved.c.live == true())
    .order_by(t.maintenances.c.ordinal)
)
MAINTENANCE = select(*_MAINTENANCE).where(t.maintenances.c.id == p("of"))
MAINTENANCE_OF_EVENT = (
    select(*_MAINTENANCE)
    .join(t.events, t.events.c.maintenance == t.maintenances.c.id)
    .where(t.events.c.id == p("of"))
)
MAINTENANCE_NUMBER = select(*_MAINTENANCE).where(t.maintenances.c.number == p("of"))
#: A union, because PostgreSQL would read all rows for an `or`.
_LIKE = union(
    select(t.maintenances.c.id).where(t.maintenances.c.id.between(p("from"), p("to"))),
    select(t.events.c.maintenance).where(t.events.c.id.between(p("from"), p("to"))),
)
MAINTENANCES_LIKE = (
    select(*_MAINTENANCE)
    .where(t.maintenances.c.id.in_(_LIKE))
    .order_by(t.maintenances.c.ordinal)
    .limit(3)
)
MAINTENANCES_LIKE_IN_GROUP = MAINTENANCES_LIKE.where(
    exists().where(
        t.involved.c.group == p("group"),
        t.involved.c.maintenance == t.maintenances.c.id,
    )
)
MAINTENANCES = (
    select(*_MAINTENANCE)
    .where(t.maintenances.c.ordinal > p("after"))
    .order_by(t.maintenances.c.ordinal)
    .limit(p("most"))
)
MAINTENANCES_IN_PHASE = MAINTENANCES.where(t.maintenances.c.phase == p("of"))
MAINTENANCES_OF_GROUP = MAINTENANCES.join(
    t.involved, t.involved.c.maintenance == t.maintenances.c.id
).where(t.involved.c.group == p("group"))
MAINTENANCES_OF_GROUP_IN_PHASE = MAINTENANCES_OF_GROUP.where(
    t.maintenances.c.phase == p("of")
)
NEXT_MOMENT = select(func.min(t.maintenances.c.moment))
DUE = (
    select(*_MAINTENANCE)
    .where(t.maintenances.c.moment <= p("until"))
    .order_by(t.maintenances.c.moment, t.maintenances.c.ordinal)
)

SEEN = (
    select(t.seen).where(t.seen.c.event == p("of")).order_by(t.seen.c.at, t.seen.c.vm)
)
#: Parameters for IDs, as many as the maximum number of IDs per query.
IDS = tuple(f"id{number}" for number in range(100))
MAINTENANCES_OF_EVENTS = (
    select(*_MAINTENANCE)
    .join(t.events, t.events.c.maintenance == t.maintenances.c.id)
    .where(t.events.c.id.in_([p(id_) for id_ in IDS]))
)
NUMBERS = select(t.maintenances.c.id, t.maintenances.c.number).where(
    t.maintenances.c.id.in_([p(id_) for id_ in IDS])
)
SEEN_OF_MANY = select(t.seen).where(t.seen.c.event.in_([p(id_) for id_ in IDS]))
OUTAGES = (
    select(t.outages).where(t.outages.c.until > p("after")).order_by(t.outages.c.until)
)
RECEIPT = select(t.receipts).where(t.receipts.c.key == p("of"))

TOKENS = select(t.tokens.c.body, t.tokens.c.last_used).order_by(
    t.tokens.c.ordinal, t.tokens.c.id
)

# --- changes -----------------------------------------------------------------


def _change(table: Table, by: str) -> Update:
    """Return an update of all columns except `by` and the ordinal.

    The update applies to the rows in which `by` equals the parameter `of`.
    """
    kept = {by, "ordinal"}
    columns: dict[str, object] = {
        c.name: p(c.name) for c in table.columns if c.name not in kept
    }
    return update(table).where(table.c[by] == p("of")).values(columns)


ADD_STAMP: Insert = insert(t.stamp)
DROP_STAMP = delete(t.stamp)
ADD_COUNTER = insert(t.counter)
SET_COUNTER = update(t.counter).values(
    position=p("to"), last_at=p("last"), ordinal=p("next"), number=p("newest")
)
ADD_FACT = insert(t.journal)
ADD_CONCERNED = insert(t.concerned)
DROP_SETTING = delete(t.settings).where(t.settings.c.name == p("of"))
ADD_SETTING = insert(t.settings)

ADD_HOST, SET_HOST = insert(t.hosts), _change(t.hosts, "name")
DROP_HOST = delete(t.hosts).where(t.hosts.c.name == p("of"))
ADD_GROUP, SET_GROUP = insert(t.groups), _change(t.groups, "name")
DROP_GROUP = delete(t.groups).where(t.groups.c.name == p("of"))
SET_ASKED = (
    update(t.groups).where(t.groups.c.name == p("of")).values(last_request=p("asked"))
)
ADD_VM, SET_VM = insert(t.vms), _change(t.vms, "name")
DROP_VM = delete(t.vms).where(t.vms.c.name == p("of"))
ADD_ADDRESS = insert(t.addresses)
DROP_ADDRESSES = delete(t.addresses).where(t.addresses.c.vm == p("of"))
ADD_AUDIENCE, SET_AUDIENCE = insert(t.audiences), _change(t.audiences, "name")
DROP_AUDIENCE = delete(t.audiences).where(t.audiences.c.name == p("of"))

ADD_MAINTENANCE, SET_MAINTENANCE = (
    insert(t.maintenances),
    _change(t.maintenances, "id"),
)
SET_MOMENT = (
    update(t.maintenances).where(t.maintenances.c.id == p("of")).values(moment=p("to"))
)
ADD_INVOLVED = insert(t.involved)
SET_OVER = (
    update(t.involved).where(t.involved.c.maintenance == p("of")).values(live=false())
)
ADD_EVENT = insert(t.events)
ADD_SEEN = insert(t.seen)
ADD_OUTAGE = insert(t.outages)
ADD_RECEIPT = insert(t.receipts)
ADD_TOKEN, SET_TOKEN = insert(t.tokens), _change(t.tokens, "id")
SET_USED = update(t.tokens).where(t.tokens.c.id == p("of")).values(last_used=p("used"))

#: The number of receipts examined when a receipt is added. The examined
#: receipts follow the new receipt in key order. Because keys are digests, every receipt
#: is eventually examined without an index by age.
_EXAMINED = 10
_FOLLOWING = (
    select(t.receipts.c.key, t.receipts.c.at)
    .where(t.receipts.c.key >= p("of"))
    .order_by(t.receipts.c.key)
    .limit(_EXAMINED)
    .subquery()
)
DROP_RECEIPTS = delete(t.receipts).where(
    t.receipts.c.key.in_(select(_FOLLOWING.c.key).where(_FOLLOWING.c.at < p("before")))
)

# --- probes ------------------------------------------------------------------

#: Values for a row that cannot otherwise exist, by column type.
_PROBE: Mapping[type[object], object] = {bool: False, int: -1, str: " "}


def _probes() -> Iterator[Statement]:
    """Yield changes to every table that, taken together, change nothing."""
    yield update(t.counter).values(position=t.counter.c.position)
    for table in t.metadata.sorted_tables:
        if table not in (t.stamp, t.counter):
            row = {c.name: _PROBE[c.type.python_type] for c in table.columns}
            key = [c == _PROBE[c.type.python_type] for c in table.primary_key]
            yield insert(table).values(row)
            yield update(table).where(*key).values(row)
            yield delete(table).where(*key)


PROBES = tuple(_probes())
