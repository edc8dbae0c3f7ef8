"""`forewarn token`: create, list and revoke API tokens."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime

from forewarn.cli.api import ControlApi, api_of, segment
from forewarn.cli.options import Option, Subcommands, add_command, add_noun
from forewarn.cli.output import (
    format_when,
    paragraph,
    table,
    write,
    write_json,
    write_response,
)
from forewarn.cli.responses import JsonObject, object_from
from forewarn.cli.values import one_of, read_time_or_duration
from forewarn.errors import WrongUsage
from forewarn.formats import count

_ROLES = ("viewer", "operator", "admin", "group")

_OPTIONS = (
    Option(
        flag="--role",
        metavar="|".join(_ROLES),
        read=one_of(*_ROLES),
        help="what its holder may do; with --group it is `group`",
    ),
    Option(flag="--group", metavar="NAME", help="the group that it is for"),
    Option(
        flag="--expires",
        metavar="DURATION|TIME",
        read=read_time_or_duration,
        help="until when it is good; for ever if not given",
    ),
)

_CREATE = """\
Make a token and print it: this once, as only its digest is kept. A viewer
reads; an operator announces, approves and cancels, too; an admin also manages
tokens and the fleet. A token with --group reads, approves and asks for user
operations in that group alone, and learns of no other. The journal calls its
holder by NAME."""

_REVOKE = """\
Let a token be good for nothing, at once. The journal keeps what its holder did.
The token that the service was started with, admin, is changed where it is kept."""


def register(subcommands: Subcommands) -> None:
    """Add `token create`, `token list` and `token revoke`."""
    commands = add_noun(
        subcommands,
        "token",
        summary="make, list and revoke tokens",
        example="forewarn token create ci --role viewer --expires 90d",
    )
    create_parser = add_command(
        commands,
        "create",
        _create,
        summary="make a token, and print it once",
        description=_CREATE,
        example="forewarn token create web-team --group web --expires 90d",
        options=_OPTIONS,
    )
    create_parser.add_argument("name", metavar="NAME", help="what its holder is called")
    add_command(
        commands,
        "list",
        _list_tokens,
        summary="list the tokens that are not revoked",
        description="List tokens: what they are for, until when, when last used.",
        example="forewarn token list",
    )
    revoke_parser = add_command(
        commands,
        "revoke",
        _revoke,
        summary="let a token be good for nothing",
        description=_REVOKE,
        example="forewarn token revoke ci",
    )
    revoke_parser.add_argument("name", metavar="NAME|ID", help="which token")


def _create(args: argparse.Namespace) -> int:
    api, body = api_of(args), _body(args)
    if args.json:
        write_json(api.request("POST", "/v1/tokens", body))
        return 0
    now = api.now()  # requested first: if it failed later, the token would be lost
    token = object_from(api.request("POST", "/v1/tokens", body))
    # The token alone is on standard output, for $(forewarn token create ...).
    about = f"token {token.text('name')}, {_described(token, now)}"
    sys.stderr.write(f"{paragraph(about)}\nIt is shown this once:\n")
    sys.stderr.flush()
    write(token.text("token") or "")
    return 0


def _list_tokens(args: argparse.Namespace) -> int:
    api = api_of(args)
    items = [*api.items("/v1/tokens")]
    return write_response(args, items, _lines(items, api))


def _lines(tokens: Sequence[object], api: ControlApi) -> Iterator[str]:
    if not tokens:
        yield "No tokens but admin, which the service was started with."
        return
    now = api.now()
    header = ("NAME", "ROLE", "EXPIRES", "LAST USED", "MADE BY", "ID")
    rows = [object_from(token) for token in tokens]
    yield table(header, [_row(token, now) for token in rows])
    for token in rows:
        if refused := token.number("refused"):
            yield (
                f"limited: token {token.text('name')}, {count(refused, 'request')}"
                " refused recently: it had too many requests or streams at once"
            )


def _row(token: JsonObject, now: datetime) -> Sequence[str]:
    return (
        token.text("name") or "?",
        _role(token),
        format_when(token.time("expires_at"), now) or "never",
        format_when(token.time("last_used"), now) or "never",
        token.text("created_by") or "",
        token.text("id") or "",
    )


def _revoke(args: argparse.Namespace) -> int:
    api_of(args).request("DELETE", f"/v1/tokens/{segment(args.name)}")
    lines = [f"Token {args.name} is revoked."]
    return write_response(args, {"revoked": args.name}, lines)


def _body(args: argparse.Namespace) -> dict[str, object]:
    role = args.role or ("group" if args.group else None)
    if role is None:
        raise WrongUsage(f"say what it is for: --role {'|'.join(_ROLES)} or --group")
    body: dict[str, object] = {"name": args.name, "role": role}
    if args.group is not None:
        body["group"] = args.group
    until: int | datetime | None = args.expires
    if isinstance(until, datetime):
        body["expires_at"] = until.isoformat()
    elif until is not None:
        body["expires_in_seconds"] = until
    return body


def _described(token: JsonObject, now: datetime) -> str:
    until = format_when(token.time("expires_at"), now)
    ends = f"good until {until}" if until else "good until it is revoked"
    return f"{_role(token)}, {ends}."


def _role(token: JsonObject) -> str:
    group = token.text("group")
    return f"group {group}" if group else token.text("role") or "?"
