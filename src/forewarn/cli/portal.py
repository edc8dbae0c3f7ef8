"""`forewarn portal`: where the portal is, and with which token to sign in."""

import argparse

from forewarn.cli.answers import answer
from forewarn.cli.api import api_of
from forewarn.cli.options import Subcommands, add_command
from forewarn.cli.tables import fields, write, write_json

_DESCRIPTION = """\
Say where the portal is, the service's page for people, and with which token to
sign in there: the one that this command itself uses. Whoever reads it can do
what you can."""


def register(subcommands: Subcommands) -> None:
    """Add the command."""
    add_command(
        subcommands,
        "portal",
        run,
        summary="say where the portal is, and how to sign in",
        description=_DESCRIPTION,
        example="forewarn portal",
    )


def run(args: argparse.Namespace) -> int:
    """Ask who the token belongs to, and tell all of it."""
    api = api_of(args)
    found = answer(api.request("GET", "/v1/session"))
    name, role = found.text("name"), found.text("role")
    where = f"{api.url}/portal/"
    if args.json:
        write_json({"portal": where, "token": api.token, "name": name, "role": role})
    else:
        about = (("portal", where), ("token", api.token), ("of", f"{name}, {role}"))
        write(fields(about))
    return 0
