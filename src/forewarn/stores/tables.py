"""Database tables.

1. Times are whole microseconds since 1970 in UTC, which sort correctly and are not
   rounded by any database.
2. Bodies are JSON written by `core.serialization`. Anything that is queried has its own
   column.
3. Short strings are sorted by code point on every database.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    text,
)
from sqlalchemy.types import TypeEngine

#: This release's schema version; all others are migrated or rejected.
STAMP = "0002"

metadata = MetaData()


def _short(length: int) -> TypeEngine[str]:
    """Return the type for strings that are looked up and sorted by code point.

    By default, PostgreSQL sorts by the database's locale. A system upgrade may change
    that order and corrupt an index.
    """
    by_code = String(length, collation="C")
    return String(length).with_variant(by_code, "postgresql")


stamp = Table(
    "alembic_version", metadata, Column("version_num", _short(32), primary_key=True)
)

counter = Table(
    "counter",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("position", BigInteger, nullable=False),
    Column("last_at", BigInteger),
    Column("ordinal", BigInteger, nullable=False),
    Column("number", BigInteger, nullable=False, server_default=text("0")),
)

settings = Table(
    "settings",
    metadata,
    Column("name", _short(64), primary_key=True),
    Column("value", Text, nullable=False),
)

journal = Table(
    "journal",
    metadata,
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("fact", _short(40), nullable=False),
    Column("version", Integer, nullable=False),
    Column("body", Text, nullable=False),
)

concerned = Table(
    "concerned",
    metadata,
    Column("maintenance", _short(40), primary_key=True),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
)

hosts = Table(
    "hosts",
    metadata,
    Column("name", _short(80), primary_key=True),
    Column("key", _short(80), nullable=False, unique=True),
    Column("ordinal", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
)

groups = Table(
    "groups",
    metadata,
    Column("name", _short(80), primary_key=True),
    Column("key", _short(80), nullable=False, unique=True),
    Column("ordinal", BigInteger, nullable=False),
    Column("last_request", BigInteger),
    Column("body", Text, nullable=False),
)

vms = Table(
    "vms",
    metadata,
    Column("name", _short(80), primary_key=True),
    Column("key", _short(80), nullable=False, unique=True),
    Column("ordinal", BigInteger, nullable=False),
    Column("group", _short(80), nullable=False, index=True),
    Column("host", _short(80), index=True),
    Column("body", Text, nullable=False),
)

addresses = Table(
    "addresses",
    metadata,
    Column("address", _short(45), primary_key=True),
    Column("vm", _short(80), nullable=False, index=True),
)

audiences = Table(
    "audiences",
    metadata,
    Column("name", _short(161), primary_key=True),
    Column("group", _short(80), nullable=False, index=True),
    Column("vm", _short(80)),
    Column("epoch", _short(40), nullable=False),
    Column("incarnation", BigInteger, nullable=False),
)

maintenances = Table(
    "maintenances",
    metadata,
    Column("id", _short(40), primary_key=True),
    Column("ordinal", BigInteger, nullable=False, unique=True),
    Column("phase", _short(16), nullable=False, index=True),
    Column("moment", BigInteger, index=True),
    Column("body", Text, nullable=False),
    Column("number", BigInteger, nullable=False, server_default=text("0")),
)
Index("ix_maintenances_number", maintenances.c.number, unique=True)

involved = Table(
    "involved",
    metadata,
    Column("group", _short(80), primary_key=True),
    Column("maintenance", _short(40), primary_key=True),
    Column("live", Boolean, nullable=False),
)
Index("involved_live", involved.c.group, involved.c.live)

events = Table(
    "events",
    metadata,
    Column("id", _short(40), primary_key=True),
    Column("maintenance", _short(40), nullable=False),
)

seen = Table(
    "seen",
    metadata,
    Column("event", _short(40), primary_key=True),
    Column("vm", _short(80), primary_key=True),
    Column("at", BigInteger, nullable=False),
)

outages = Table(
    "outages",
    metadata,
    Column("since", BigInteger, primary_key=True, autoincrement=False),
    Column("until", BigInteger, nullable=False, index=True),
)

receipts = Table(
    "receipts",
    metadata,
    Column("key", _short(255), primary_key=True),
    Column("digest", _short(64), nullable=False),
    Column("answer", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", _short(40), primary_key=True),
    Column("ordinal", BigInteger, nullable=False),
    Column("last_used", BigInteger),
    Column("body", Text, nullable=False),
)
