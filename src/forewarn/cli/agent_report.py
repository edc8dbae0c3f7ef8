"""`forewarn agent report`: what the agent did about events, for a post-mortem."""

import argparse
from collections.abc import Mapping
from pathlib import Path

from forewarn.agent import config, places
from forewarn.agent.accounts import Account, accounts
from forewarn.agent.audit import Record
from forewarn.agent.remarks import Remark
from forewarn.agent.sighting import key
from forewarn.agent.story import tell
from forewarn.cli.agent_stories import page, plain_account, plain_story, summary
from forewarn.cli.options import JSON, Option, Subcommands, add_command, add_one_of
from forewarn.cli.tables import complain, count, some, write, write_json
from forewarn.errors import NotFound, Unavailable

_DESCRIPTION = """\
Tell what the agent did about events, from the record in its state directory:
which rule matched and why, what hooks did, who approved, how much notice there
was and was used, and how long this VM stood still. Without EVENT all events are
listed. The agent may be running or not; a copy of its directory will do, too."""

_OPTIONS = (
    Option(
        flag="--config",
        metavar="FILE",
        stand_in=config.VARIABLE,
        help=f"the agent's file, which says where its state is; {config.DEFAULT} if"
        " it is there",
    ),
    Option(
        flag="--state",
        metavar="DIR",
        stand_in="FOREWARN_AGENT_STATE",
        help="the agent's state directory",
    ),
)
_FILE = "audit.jsonl"


def register(subcommands: Subcommands) -> None:
    """Add `agent report`."""
    parser = add_command(
        subcommands,
        "report",
        report,
        summary="tell what was done about an event",
        description=_DESCRIPTION,
        example="forewarn agent report 0a4b7c1e",
        common=(JSON,),
    )
    parser.add_argument(
        "event",
        metavar="EVENT",
        nargs="?",
        help="its id, or as much of its beginning as no other has",
    )
    add_one_of(parser, *_OPTIONS)


def report(args: argparse.Namespace) -> int:
    """List all events, or print the story of one."""
    record, events = _read(_folder(args))
    if args.event is None:
        _list(events, json=args.json)
    else:
        _tell(_meant(args.event, events), record, json=args.json)
    if record.broken:
        complain(f"{count(record.broken, 'line')} of the record could not be read")
    return 0


def _list(found: Mapping[str, Account], *, json: bool) -> None:
    listed = [*found.values()]
    if json:
        write_json([plain_account(account) for account in listed])
    else:
        write(summary(listed) if listed else "No events so far.")


def _tell(event_id: str, record: Record, *, json: bool) -> None:
    story = tell(event_id, map(Remark, record))
    if json:
        own = [line for line in record if _is_on(event_id, line)]
        write_json({**plain_story(story), "lines": own})
    else:
        write(page(story))


def _is_on(event_id: str, line: Mapping[str, object]) -> bool:
    return key(Remark(line).event or "") == key(event_id)


# --- finding the record ------------------------------------------------------


def _folder(args: argparse.Namespace) -> Path:
    if args.state is not None:
        return Path(args.state)
    if args.config is not None:
        return places.state_of(Path(args.config))
    if config.DEFAULT.exists():
        return places.state_of(config.DEFAULT)
    return places.state_folder()


def _read(folder: Path) -> tuple[Record, Mapping[str, Account]]:
    record = Record(folder / _FILE)
    try:
        if not record.is_there():
            raise NotFound(
                f"no agent has written anything in {folder}; --state or --config says"
                " where one has"
            )
        return record, accounts(map(Remark, record))
    except OSError as error:
        raise Unavailable(f"{folder} cannot be read: {error.strerror}") from error


def _meant(given: str, found: Mapping[str, Account]) -> str:
    """Return the full id of the only event whose id starts with `given`."""
    if key(given) in found:
        return found[key(given)].id
    ids = [found[name].id for name in found if name.startswith(key(given))]
    if len(ids) == 1 and given:
        return ids[0]
    if ids:
        raise NotFound(f"several events begin with {given}: {some(ids)}")
    raise NotFound(f"the record knows no event {given}; without EVENT it lists all")
