"""The tables, defined once.

Times are whole microseconds since 1970 in UTC: they sort, and no database rounds
them. Bodies are JSON made by `core.plain`; what a query asks for stands beside
them in a column of its own.
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
)

#: The layout of this release; a database with another one is migrated or refused.
STAMP = "0001"

metadata = MetaData()

stamp = Table(
    "alembic_version", metadata, Column("version_num", String(32), primary_key=True)
)

counter = Table(
    "counter",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("position", BigInteger, nullable=False),
    Column("last_at", BigInteger),
    Column("ordinal", BigInteger, nullable=False),
)

settings = Table(
    "settings",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)

journal = Table(
    "journal",
    metadata,
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("fact", String(40), nullable=False),
    Column("version", Integer, nullable=False),
    Column("body", Text, nullable=False),
)

hosts = Table(
    "hosts",
    metadata,
    Column("name", String(80), primary_key=True),
    Column("key", String(80), nullable=False, unique=True),
    Column("ordinal", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
)

groups = Table(
    "groups",
    metadata,
    Column("name", String(80), primary_key=True),
    Column("key", String(80), nullable=False, unique=True),
    Column("ordinal", BigInteger, nullable=False),
    Column("last_request", BigInteger),
    Column("body", Text, nullable=False),
)

vms = Table(
    "vms",
    metadata,
    Column("name", String(80), primary_key=True),
    Column("key", String(80), nullable=False, unique=True),
    Column("ordinal", BigInteger, nullable=False),
    Column("group", String(80), nullable=False, index=True),
    Column("host", String(80), index=True),
    Column("body", Text, nullable=False),
)

addresses = Table(
    "addresses",
    metadata,
    Column("address", String(45), primary_key=True),
    Column("vm", String(80), nullable=False, index=True),
)

audiences = Table(
    "audiences",
    metadata,
    Column("name", String(161), primary_key=True),
    Column("group", String(80), nullable=False, index=True),
    Column("vm", String(80)),
    Column("epoch", String(40), nullable=False),
    Column("incarnation", BigInteger, nullable=False),
)

maintenances = Table(
    "maintenances",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("ordinal", BigInteger, nullable=False, unique=True),
    Column("phase", String(16), nullable=False, index=True),
    Column("moment", BigInteger, index=True),
    Column("body", Text, nullable=False),
)

involved = Table(
    "involved",
    metadata,
    Column("group", String(80), primary_key=True),
    Column("maintenance", String(40), primary_key=True),
    Column("live", Boolean, nullable=False),
)
Index("involved_live", involved.c.group, involved.c.live)

events = Table(
    "events",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("maintenance", String(40), nullable=False),
)

seen = Table(
    "seen",
    metadata,
    Column("event", String(40), primary_key=True),
    Column("vm", String(80), primary_key=True),
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
    Column("key", String(255), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("answer", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
)
