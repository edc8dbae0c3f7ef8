"""Circumstances of upgrades: releases with more revisions, and a full disk."""

import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from forewarn.stores import schema, tables

ADD_RACK = 'op.execute("ALTER TABLE hosts ADD COLUMN rack TEXT")'
ADD_SLOT = 'op.execute("ALTER TABLE hosts ADD COLUMN slot TEXT")'
FAIL = "op.execute('INSERT INTO nowhere VALUES (1)')"

_REVISION = """\
from alembic import op

revision, down_revision = "{number:04}", "{before:04}"


def upgrade() -> None:
    {step}
"""


def become_newer(monkeypatch: pytest.MonkeyPatch, folder: Path, *steps: str) -> None:
    """Add a revision for each of `steps` after those of this release."""
    migrations = folder / f"migrations-{tables.STAMP}"
    shutil.copytree(schema.MIGRATIONS, migrations)
    first = int(tables.STAMP) + 1
    for number, step in enumerate(steps, first):
        text = _REVISION.format(number=number, before=number - 1, step=step)
        (migrations / "versions" / f"{number:04}_test.py").write_text(text)
        monkeypatch.setattr(tables, "STAMP", f"{number:04}")
    monkeypatch.setattr(schema, "MIGRATIONS", migrations)


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Refuse to write files beyond `size` until the block ends."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
