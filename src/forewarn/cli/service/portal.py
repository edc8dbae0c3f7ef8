"""`forewarn portal`: the portal's address and the token to sign in with."""

import argparse

from forewarn.cli.api import api_of
from forewarn.cli.options import Subcommands, add_command
from forewarn.cli.output import fields, write, write_json
from forewarn.cli.responses import object_from

_DESCRIPTION = """\
Say where the portal is, the service's page for people, and with which token to
sign in there: the one that this command itself uses. Whoever reads it can do
what you can."""


def register(subcommands: Subcommands) -> None:
    """Add `portal`."""
    add_command(
        subcommands,
        "portal",
        run,
        summary="say where the portal is, and how to sign in",
        description=_DESCRIPTION,
        example="forewarn portal",
    )


def run(args: argparse.Namespace) -> int:
    """Print the portal's address, the token, and the token's name and role."""
    api = api_of(args)
    session = object_from(api.request("GET", "/v1/session"))
    name, role = session.text("name"), session.text("role")
    where = f"{api.url}/portal/"
    if args.json:
        write_json({"portal": where, "token": api.token, "name": name, "role": role})
    else:
        about = (("portal", where), ("token", api.token), ("of", f"{name}, {role}"))
        write(fields(about))
    return 0
