"""`forewarn token`: create, list and revoke API tokens."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from forewarn.cli.api import ControlApi, api_of, segment
from forewarn.cli.batch import distinct, naming_options, run_each
from forewarn.cli.confirmation import confirm
from forewarn.cli.options import (
    FORMATS,
    YES,
    Option,
    Subcommands,
    add_argument,
    add_command,
    add_noun,
    did_you_mean,
)
from forewarn.cli.output import (
    Column,
    format_distance,
    format_time,
    format_when,
    paragraph,
    table,
    write,
    write_response,
)
from forewarn.cli.responses import JsonObject, object_from
from forewarn.cli.values import one_of, read_time_or_duration
from forewarn.errors import Refused, WrongUsage
from forewarn.formats import count, join_names

_ROLES = ("viewer", "operator", "admin", "group")

_OPTIONS = (
    Option(
        flag="--role",
        metavar="|".join(_ROLES),
        read=one_of(*_ROLES),
        help="the token's role",
        shown_default="group if --group is specified",
    ),
    Option(
        flag="--group",
        metavar="NAME",
        help="limit the token to this group",
        names="groups",
    ),
    Option(
        flag="--expires",
        metavar="DURATION|TIME",
        read=read_time_or_duration,
        help="when the token expires",
        shown_default="never",
    ),
)

_CREATE = """\
Create a token and print it. The token cannot be shown again, because the service
stores only its digest. A viewer can only read. An operator can also announce,
approve and cancel. An admin can also manage tokens and the fleet. With --group,
the token can read, approve and request user operations only in that group;
other groups are hidden. The journal shows NAME as the actor."""

_REVOKE = """\
Revoke tokens, effective immediately. The journal keeps the entries made with
them. The admin token that the service was started with cannot be revoked; to
replace it, change it where it is stored."""


_COLUMNS = (
    "NAME",
    "ROLE",
    "EXPIRES",
    "LAST USED",
    "CREATED BY",
    Column(title="ID", is_wide=True),
    Column(title="EXPIRES AT", is_wide=True),
    Column(title="LAST USED AT", is_wide=True),
)

#: The options that set fields of the API, for error messages.
_FLAGS: Mapping[str, str] = {
    "role": "--role",
    "group": "--group",
    "expires_at": "--expires",
    "expires_in_seconds": "--expires",
}


def register(subcommands: Subcommands) -> None:
    """Add `token create`, `token list` and `token revoke`."""
    commands = add_noun(
        subcommands,
        "token",
        summary="create, list and revoke API tokens",
        example="forewarn token create ci --role viewer --expires 90d",
    )
    create_parser = add_command(
        commands,
        "create",
        _create,
        summary="create a token and print it",
        description=_CREATE,
        example="forewarn token create web-team --group web --expires 90d",
        options=_OPTIONS,
    )
    add_argument(
        create_parser, "name", metavar="NAME", help="name of the token's holder"
    )
    add_command(
        commands,
        "list",
        _list_tokens,
        summary="list API tokens",
        description="List tokens with their roles, expiration times and last uses."
        " Revoked tokens are not listed.",
        example="forewarn token list",
        formats=FORMATS,
    )
    revoke_parser = add_command(
        commands,
        "revoke",
        _revoke,
        summary="revoke tokens",
        description=_REVOKE,
        example="forewarn token revoke ci",
        options=(YES,),
    )
    add_argument(
        revoke_parser,
        "name",
        metavar="NAME|ID",
        help="names or IDs of the tokens",
        nargs="+",
        names="tokens",
    )


def _create(args: argparse.Namespace) -> int:
    api, body = api_of(args), _body(args)
    if args.output != "table":
        return write_response(args, _post(api, body), [])
    now = api.now()  # first, because a failure after the POST would lose the token
    token = object_from(_post(api, body))
    # Only the token goes to standard output, for $(forewarn token create ...).
    about = (
        f"Created token {token.text('name')} ({_role(token)}), {_validity(token, now)}."
    )
    sys.stderr.write(f"{paragraph(about)}\nThe token will not be shown again:\n")
    sys.stderr.flush()
    write(token.text("token") or "")
    return 0


def _post(api: ControlApi, body: object) -> object:
    with naming_options(_FLAGS):
        return api.request("POST", "/v1/tokens", body)


def _list_tokens(args: argparse.Namespace) -> int:
    api = api_of(args)
    items = [*api.items("/v1/tokens")]
    names = (object_from(item).text("name") for item in items)
    return write_response(args, items, _lines(args, items, api), names)


def _lines(
    args: argparse.Namespace, tokens: Sequence[object], api: ControlApi
) -> Iterator[str]:
    if not tokens:
        yield "No tokens except the admin token that the service was started with."
        return
    now = api.now()
    rows = [object_from(token) for token in tokens]
    yield table(_COLUMNS, [_row(token, now) for token in rows], args)
    for token in rows:
        if refused := token.number("refused"):
            yield (
                f"limited: token {token.text('name')}: {count(refused, 'request')}"
                " rejected recently because of too many concurrent requests"
            )


def _row(token: JsonObject, now: datetime) -> Sequence[str]:
    expires, used = token.time("expires_at"), token.time("last_used")
    return (
        token.text("name") or "?",
        _role(token),
        _distance(expires, now),
        _distance(used, now),
        token.text("created_by") or "",
        token.text("id") or "",
        format_time(expires) or "",
        format_time(used) or "",
    )


def _distance(time: datetime | None, now: datetime) -> str:
    return format_distance(time, now) if time else "never"


def _revoke(args: argparse.Namespace) -> int:
    api, names = api_of(args), distinct(args.name)
    noun = "token" if len(names) == 1 else "tokens"
    confirm(args, api, f"revoke {noun} {join_names(names)}, effective immediately")
    known = _known(api) if len(names) > 1 else ()

    def check(name: str) -> None:
        if name.lower() not in known:
            raise Refused(f"token {name} not found{did_you_mean(name, known)}", 404)

    def revoke(name: str) -> str:
        api.request("DELETE", f"/v1/tokens/{segment(name)}")
        return name

    batch = run_each(names, revoke, check)
    lines = [f"Revoked token {name}." for name in batch.results]
    plain = {"revoked": batch.results[0] if len(names) == 1 else [*batch.results]}
    return batch.finish(write_response(args, plain, lines))


def _known(api: ControlApi) -> Sequence[str]:
    """Return the names and IDs of all tokens, in lower case."""
    tokens = [*map(object_from, api.items("/v1/tokens"))]
    texts = [token.text(key) for token in tokens for key in ("name", "id")]
    return [text.lower() for text in texts if text]


def _body(args: argparse.Namespace) -> dict[str, object]:
    role = args.role or ("group" if args.group else None)
    if role is None:
        raise WrongUsage(f"specify --role {'|'.join(_ROLES)} or --group NAME")
    body: dict[str, object] = {"name": args.name, "role": role}
    if args.group is not None:
        body["group"] = args.group
    until: int | datetime | None = args.expires
    if isinstance(until, datetime):
        body["expires_at"] = until.isoformat()
    elif until is not None:
        body["expires_in_seconds"] = until
    return body


def _validity(token: JsonObject, now: datetime) -> str:
    until = format_when(token.time("expires_at"), now)
    return f"valid until {until}" if until else "valid until revoked"


def _role(token: JsonObject) -> str:
    group = token.text("group")
    return f"group {group}" if group else token.text("role") or "?"
