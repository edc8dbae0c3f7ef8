"""`forewarn portal`: the portal's address and the token to sign in with."""

import argparse

from forewarn.cli.api import api_of
from forewarn.cli.options import Subcommands, add_command
from forewarn.cli.output import fields, write_response
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
        _show,
        summary="say where the portal is, and how to sign in",
        description=_DESCRIPTION,
        example="forewarn portal",
    )


def _show(args: argparse.Namespace) -> int:
    api = api_of(args)
    session = object_from(api.request("GET", "/v1/session"))
    name, role = session.text("name"), session.text("role")
    where = f"{api.url}/portal/"
    plain = {"portal": where, "token": api.token, "name": name, "role": role}
    about = (("portal", where), ("token", api.token), ("of", f"{name}, {role}"))
    return write_response(args, plain, [fields(about)])
