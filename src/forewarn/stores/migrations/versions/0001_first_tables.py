"""First tables.

Databases of early development versions are at this revision but lack some tables, so
only the missing ones are created.
"""

import re

from alembic import op

revision = "0001"
down_revision = None

#: SHORT is a string type that sorts by code point on every database.
_SQL = """
CREATE TABLE IF NOT EXISTS counter (id INTEGER NOT NULL PRIMARY KEY,
    position BIGINT NOT NULL, last_at BIGINT, ordinal BIGINT NOT NULL);
INSERT INTO counter (id, position, ordinal)
    SELECT 1, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM counter);
CREATE TABLE IF NOT EXISTS settings (
    name SHORT(64) NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS journal (position BIGINT NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL, fact SHORT(40) NOT NULL, version INTEGER NOT NULL,
    body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS concerned (maintenance SHORT(40) NOT NULL,
    position BIGINT NOT NULL, PRIMARY KEY (maintenance, position));
CREATE TABLE IF NOT EXISTS hosts (name SHORT(80) NOT NULL PRIMARY KEY,
    key SHORT(80) NOT NULL UNIQUE, ordinal BIGINT NOT NULL, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS groups (name SHORT(80) NOT NULL PRIMARY KEY,
    key SHORT(80) NOT NULL UNIQUE, ordinal BIGINT NOT NULL, last_request BIGINT,
    body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS vms (name SHORT(80) NOT NULL PRIMARY KEY,
    key SHORT(80) NOT NULL UNIQUE, ordinal BIGINT NOT NULL,
    "group" SHORT(80) NOT NULL, host SHORT(80), body TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS ix_vms_group ON vms ("group");
CREATE INDEX IF NOT EXISTS ix_vms_host ON vms (host);
CREATE TABLE IF NOT EXISTS addresses (
    address SHORT(45) NOT NULL PRIMARY KEY, vm SHORT(80) NOT NULL);
CREATE INDEX IF NOT EXISTS ix_addresses_vm ON addresses (vm);
CREATE TABLE IF NOT EXISTS audiences (name SHORT(161) NOT NULL PRIMARY KEY,
    "group" SHORT(80) NOT NULL, vm SHORT(80), epoch SHORT(40) NOT NULL,
    incarnation BIGINT NOT NULL);
CREATE INDEX IF NOT EXISTS ix_audiences_group ON audiences ("group");
CREATE TABLE IF NOT EXISTS maintenances (id SHORT(40) NOT NULL PRIMARY KEY,
    ordinal BIGINT NOT NULL UNIQUE, phase SHORT(16) NOT NULL, moment BIGINT,
    body TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS ix_maintenances_phase ON maintenances (phase);
CREATE INDEX IF NOT EXISTS ix_maintenances_moment ON maintenances (moment);
CREATE TABLE IF NOT EXISTS involved ("group" SHORT(80) NOT NULL,
    maintenance SHORT(40) NOT NULL, live BOOLEAN NOT NULL,
    PRIMARY KEY ("group", maintenance));
CREATE INDEX IF NOT EXISTS involved_live ON involved ("group", live);
CREATE TABLE IF NOT EXISTS events (
    id SHORT(40) NOT NULL PRIMARY KEY, maintenance SHORT(40) NOT NULL);
CREATE TABLE IF NOT EXISTS seen (event SHORT(40) NOT NULL, vm SHORT(80) NOT NULL,
    at BIGINT NOT NULL, PRIMARY KEY (event, vm));
CREATE TABLE IF NOT EXISTS outages (
    since BIGINT NOT NULL PRIMARY KEY, until BIGINT NOT NULL);
CREATE INDEX IF NOT EXISTS ix_outages_until ON outages (until);
CREATE TABLE IF NOT EXISTS receipts (key SHORT(255) NOT NULL PRIMARY KEY,
    digest SHORT(64) NOT NULL, answer TEXT NOT NULL, at BIGINT NOT NULL);
CREATE TABLE IF NOT EXISTS tokens (id SHORT(40) NOT NULL PRIMARY KEY,
    ordinal BIGINT NOT NULL, last_used BIGINT, body TEXT NOT NULL)
"""


def upgrade() -> None:
    """Create the tables."""
    by_code = ' COLLATE "C"' if op.get_context().dialect.name == "postgresql" else ""
    for statement in re.sub(r"SHORT(\(\d+\))", rf"VARCHAR\1{by_code}", _SQL).split(";"):
        op.execute(statement)
