"""`forewarn portal`: print the portal's address and the token for signing in."""

import argparse

from forewarn.cli.api import api_of
from forewarn.cli.options import Subcommands, add_command
from forewarn.cli.output import fields, write_response
from forewarn.cli.responses import object_from

_DESCRIPTION = """\
Print the portal's address and a token to sign in with. The portal is the
service's web interface. The token is the one that this command uses itself;
anyone who has it can do everything that you can do."""


def register(subcommands: Subcommands) -> None:
    """Add `portal`."""
    add_command(
        subcommands,
        "portal",
        _show,
        summary="print the portal's address and a token to sign in with",
        description=_DESCRIPTION,
        example="forewarn portal",
    )


def _show(args: argparse.Namespace) -> int:
    api = api_of(args)
    session = object_from(api.request("GET", "/v1/session"))
    name, role = session.text("name"), session.text("role")
    where = f"{api.url}/portal/"
    plain = {"portal": where, "token": api.token, "name": name, "role": role}
    about = (
        ("portal", where),
        ("token", api.token),
        ("signs in as", f"{name} (role: {role})"),
    )
    return write_response(args, plain, [fields(about)])
