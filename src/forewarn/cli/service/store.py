"""`forewarn store`: check, upgrade and back up the service's database."""

import argparse
import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from forewarn.cli.options import (
    Option,
    Subcommands,
    add_argument,
    add_command,
    add_noun,
)
from forewarn.cli.output import fields, write
from forewarn.config.load import default_store
from forewarn.config.settings import POSTGRES, SQLITE, read_store
from forewarn.errors import InvalidInput, WrongUsage
from forewarn.extras import required_extra
from forewarn.signals import exit_on_signals

if TYPE_CHECKING:
    from forewarn.stores.database import Database

_CHECK = """\
Show the database revision, whether this version of forewarn can use it, and, for
SQLite, whether the file is damaged. The contents are checked by replaying the
whole journal, which takes about 30 seconds for a million entries. You can run
this command while the service is running. The exit code is 0 if the database is
up to date and undamaged, and 1 otherwise."""

_UPGRADE = """\
Upgrade a database from an older version of forewarn to the newest revision. Stop
the service first. A SQLite file is copied before the upgrade. A PostgreSQL
database is not copied, so back it up yourself. A failed upgrade changes nothing."""

_BACKUP = """\
Copy a SQLite database to a new file. You can run this command while the service
is running. When the command succeeds, the copy is complete, verified and on
disk. FILE never contains an incomplete copy.

If someone copied a backup over the database of a running service, use this
command to recover: the new file contains the backup and the commits that are
still in the database's write-ahead log."""

_STORE = Option(
    flag="--store",
    metavar="URL",
    help="database; same format as `forewarn serve --store`",
    variable="FOREWARN_STORE",  # a setting of `serve`: the URL may contain a password
    shown_default="a file in the state directory",
)
_MEMORY = "a memory store exists only while its service is running"


def register(subcommands: Subcommands) -> None:
    """Add `store check`, `store upgrade` and `store backup`."""
    commands = add_noun(
        subcommands,
        "store",
        summary="check, upgrade and back up the database",
        example="forewarn store backup /backup/forewarn.db",
    )
    add_command(
        commands,
        "check",
        _check,
        summary="check whether the database is usable",
        description=_CHECK,
        example="forewarn store check",
        common=(_STORE,),
    )
    add_command(
        commands,
        "upgrade",
        _upgrade,
        summary="upgrade a database from an older version",
        description=_UPGRADE,
        example="forewarn store upgrade --store postgresql://forewarn@db/forewarn",
        common=(_STORE,),
    )
    backup_parser = add_command(
        commands,
        "backup",
        _backup,
        summary="copy a SQLite database",
        description=_BACKUP,
        example="forewarn store backup /backup/forewarn.db",
        common=(_STORE,),
    )
    add_argument(backup_parser, "file", metavar="FILE", help="file to create")


def _check(args: argparse.Namespace) -> int:
    url = _url(args)
    if url == "memory":
        write(f"nothing to check: {_MEMORY}")
        return 0
    database = _database(url)
    from forewarn.stores import schema, sqlite_copy, tables
    from forewarn.stores.consistency import find_problems

    revision = database.revision()
    problem, quick_check, content = schema.obstacle(revision), None, None
    if url.startswith(SQLITE):
        with sqlite_copy.existing_database(database.name) as connection:
            quick_check = sqlite_copy.quick_check(connection)
        if quick_check != "ok":
            problem = "is damaged; restore a backup"
    if problem is None:
        with database.existing() as cursor:
            losses = find_problems(cursor, database.dialect)
        content = "; ".join(losses) or "ok"
        if losses:
            problem = "has lost data; restore a backup"
    about = (
        ("database", database.name),
        ("revision", revision),
        ("newest", tables.STAMP),
        ("usable", "yes" if problem is None else f"no: it {problem}"),
        ("quick check", quick_check),
        ("content", content),
    )
    write(fields(about))
    return 0 if problem is None else 1


def _upgrade(args: argparse.Namespace) -> int:
    url = _url(args)
    if url == "memory":
        write(f"nothing to do: {_MEMORY}")
        return 0
    database = _database(url)
    from forewarn.stores import tables

    report = None
    if database.revision() != tables.STAMP:
        with exit_on_signals(), closing(database):
            report = database.open(upgrade=True)
    newest = f"{database.name} is at the newest revision, {tables.STAMP}"
    write(report or f"nothing to do: {newest}")
    return 0


def _backup(args: argparse.Namespace) -> int:
    """Copy a SQLite database; for other databases, show the backup command."""
    url, target = _url(args), Path(args.file)
    if url == "memory":
        raise InvalidInput(f"nothing to back up: {_MEMORY}")
    database = _database(url)
    if url.startswith(POSTGRES):
        from forewarn.stores.postgres_connection import dump_command

        command = dump_command(url, args.file)
        raise InvalidInput(f"cannot back up PostgreSQL; instead, run: {command}")
    from forewarn.stores.sqlite import back_up

    with exit_on_signals():
        back_up(database.name, target)
    write(f"copied {database.name} to {target}: {target.stat().st_size:,} bytes")
    return 0


def _url(args: argparse.Namespace) -> str:
    try:
        return read_store(args.store or default_store(os.environ))
    except InvalidInput as error:
        raise WrongUsage(f"--store: {error}") from error


def _database(url: str) -> "Database":
    with required_extra("server", "`forewarn store`"):
        from forewarn.service.setup import database_of
    return database_of(url)
