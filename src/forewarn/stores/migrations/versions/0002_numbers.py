"""Numbers of maintenance operations.

Existing operations are numbered in order of announcement, also in the journal.
Databases of early development versions may also lack the rows of `concerned`, which are
added.
"""

import json
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_SQL = """
ALTER TABLE counter ADD COLUMN number BIGINT NOT NULL DEFAULT 0;
ALTER TABLE maintenances ADD COLUMN number BIGINT NOT NULL DEFAULT 0
"""
_INDEX = "CREATE UNIQUE INDEX ix_maintenances_number ON maintenances (number)"

_PAGE = (
    "SELECT position, body FROM journal WHERE position > :after{} ORDER BY position"
    " LIMIT 1000"
)
_ENTRIES = sa.text(_PAGE.format(""))
_ANNOUNCED = sa.text(_PAGE.format(" AND fact = 'Announced'"))
_SET_BODY = sa.text("UPDATE journal SET body = :body WHERE position = :position")
_SET_NUMBER = sa.text("UPDATE maintenances SET number = :number WHERE id = :id")
_SET_COUNTER = sa.text("UPDATE counter SET number = :number")
_ANY_CONCERNED = sa.text("SELECT 1 FROM concerned LIMIT 1")
_ADD_CONCERNED = sa.text(
    "INSERT INTO concerned (maintenance, position) VALUES (:maintenance, :position)"
)


def upgrade() -> None:
    """Add the numbers."""
    for statement in _SQL.split(";"):
        op.execute(statement)
    _number()
    op.execute(_INDEX)
    if op.get_bind().execute(_ANY_CONCERNED).first() is None:
        _fill_concerned()


def _number() -> None:
    connection, number = op.get_bind(), 0
    for page in _pages(_ANNOUNCED):
        entries, numbers = [], []
        for position, body in page:
            number += 1
            body["announced"]["number"] = number
            text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
            entries.append({"position": position, "body": text})
            numbers.append({"id": body["maintenance"], "number": number})
        connection.execute(_SET_BODY, entries)
        connection.execute(_SET_NUMBER, numbers)
    connection.execute(_SET_COUNTER, {"number": number})


def _fill_concerned() -> None:
    for page in _pages(_ENTRIES):
        named = [
            {"maintenance": body["maintenance"], "position": position}
            for position, body in page
            if "maintenance" in body
        ]
        if named:
            op.get_bind().execute(_ADD_CONCERNED, named)


def _pages(query: sa.TextClause) -> Iterator[list[tuple[int, dict[str, Any]]]]:
    """Yield pages of journal entries with their positions."""
    connection, after = op.get_bind(), 0
    while rows := connection.execute(query, {"after": after}).fetchall():
        yield [(position, json.loads(body)) for position, body in rows]
        after = rows[-1][0]
