"""`forewarn portal`: print the portal's address, or sign in with a one-time link."""

import argparse
import os
import sys
import webbrowser
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from forewarn.cli.api import ControlApi, api_of
from forewarn.cli.options import Option, Subcommands, add_command
from forewarn.cli.output import fields, paragraph, write_response
from forewarn.cli.responses import JsonObject, object_from
from forewarn.errors import Refused

_DESCRIPTION = """\
Print the portal's address and a token to sign in with. The portal is the
service's web interface. The token is the one that this command uses itself;
anyone who has it can do everything that you can do.

With --open, sign in to the portal in your browser without a token. The command
creates a link that can be used once, within one minute. The link signs in with
the rights of the token that this command uses."""

_LOOPBACK = ("127.0.0.1", "localhost", "::1")

_OPTIONS = (
    (
        Option(
            flag="--open",
            switch=True,
            help="open the portal in a browser and sign in; without a browser, print a"
            " one-time link",
        ),
        Option(
            flag="--link", switch=True, help="print only a one-time link, for scripts"
        ),
    ),
)


def register(subcommands: Subcommands) -> None:
    """Add `portal`."""
    add_command(
        subcommands,
        "portal",
        _run,
        summary="sign in to the portal, or print its address and a token",
        description=_DESCRIPTION,
        example="forewarn portal --open",
        options=_OPTIONS,
    )


def _run(args: argparse.Namespace) -> int:
    api = api_of(args)
    session = object_from(api.request("GET", "/v1/session"))
    about = {"name": session.text("name"), "role": session.text("role")}
    if args.open or args.link:
        return _sign_in(args, api, about)
    where = f"{api.url}/portal/"
    lines = fields(
        (("portal", where), ("token", api.token), ("signs in as", _who(about)))
    )
    plain = {"portal": where, "token": api.token, **about}
    return write_response(args, plain, [lines])


def _sign_in(
    args: argparse.Namespace, api: ControlApi, about: Mapping[str, str | None]
) -> int:
    link = _new_link(api)
    url = f"{api.url}{link.text('path')}"
    is_open = bool(args.open) and open_browser(url, os.environ)
    plain = {
        "link": url,
        "expires_in_seconds": link.number("expires_in_seconds"),
        "opened": is_open,
        **about,
    }
    lines = [url] if args.link else _lines(url, _who(about), is_open=is_open)
    return write_response(args, plain, lines)


def _new_link(api: ControlApi) -> JsonObject:
    try:
        return object_from(api.request("POST", "/v1/portal/links"))
    except Refused as refusal:
        if refusal.status != 404:
            raise
        raise Refused(
            "the service does not support sign-in links; upgrade it, or sign in with"
            " the token that `forewarn portal` prints",
            refusal.status,
        ) from refusal


def _lines(url: str, who: str, *, is_open: bool) -> Iterator[str]:
    if is_open:
        yield paragraph(f"Opened the portal in your browser, signed in as {who}.", 0)
        return
    yield "No browser can be opened here. Open this link in your browser:\n"
    yield f"  {url}\n"
    yield paragraph(f"It signs in as {who}. It can be used once, within one minute.", 0)
    forward = forward_command(url, os.environ)
    if forward:
        yield paragraph(
            "The address is only reachable on this machine. If your browser is on"
            " another machine, run this command there, and then run `forewarn portal"
            " --open` here again:",
            0,
        )
        yield f"\n  {forward}"


def _who(about: Mapping[str, str | None]) -> str:
    return f"{about['name']} (role: {about['role']})"


def open_browser(url: str, environment: Mapping[str, str]) -> bool:
    """Open `url` in a browser; return whether there is one."""
    if not has_screen(environment, sys.platform):
        return False  # otherwise, a browser for terminals might start
    try:
        return webbrowser.open(url)
    except webbrowser.Error:
        return False


def has_screen(environment: Mapping[str, str], platform: str) -> bool:
    """Return whether a browser would appear on the user's screen."""
    if environment.get("BROWSER"):
        return True
    if platform in ("win32", "darwin"):
        return not environment.get("SSH_CONNECTION")
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))


def forward_command(url: str, environment: Mapping[str, str]) -> str | None:
    """Return a command that forwards the port of `url` to the user's machine.

    Return None if other machines can reach the URL, or the user did not use SSH.
    """
    parts = urlsplit(url)
    connection = environment.get("SSH_CONNECTION", "").split()
    if parts.hostname not in _LOOPBACK or len(connection) != 4:
        return None
    user, address = environment.get("USER"), connection[2]
    port = parts.port or (443 if parts.scheme == "https" else 80)
    place = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    target = f"{user}@{address}" if user else address
    return f"ssh -N -L {port}:{place}:{port} {target}"
