"""`forewarn context`: name services, and choose the one that commands use."""

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from getpass import getpass
from pathlib import Path

from forewarn.cli import contexts
from forewarn.cli.api import api_for
from forewarn.cli.contexts import LOCAL, ServiceChoice, ServiceContext, ServiceContexts
from forewarn.cli.options import (
    FORMATS,
    SERVICE,
    Option,
    Subcommands,
    add_argument,
    add_command,
    add_noun,
    output_options,
)
from forewarn.cli.output import (
    Column,
    fields,
    paragraph,
    table,
    write_response,
)
from forewarn.cli.responses import JsonObject, object_from
from forewarn.cli.values import read_url
from forewarn.errors import (
    Declined,
    Misunderstood,
    Refused,
    Unreachable,
    WrongUsage,
)
from forewarn.formats import is_utf8

_ADD = """\
Save the address and token of a service under a name. Without --token-file and
--token, the command prompts for the token. It then checks that the service accepts
the token. The file with the contexts is readable only by you, and no command
prints a token from it."""

_USE = """\
Choose the service that commands use from now on. The name `local` stands for the
service on this machine."""

_SHOW = """\
Show the service that commands use, or the service of a context, and where the
settings come from. The token is not shown."""

_REMOVE = """\
Remove a context. The service itself does not change. To undo this, add the
context again."""

_FORMATS = tuple(name for name in FORMATS if name != "wide")
_OUTPUT = output_options(_FORMATS)
_NAME_HELP = "name of the context"

_ADD_OPTIONS = (
    Option(
        flag="--url",
        metavar="URL",
        read=read_url,
        help="address of the service's control API",
    ),
    (
        Option(
            flag="--token-file",
            metavar="FILE",
            names="files",
            help="file with the API token; - reads standard input",
        ),
        Option(
            flag="--token",
            metavar="TOKEN",
            help="API token; other users of the machine can see it in the list of"
            " processes, so --token-file is safer",
        ),
    ),
    Option(
        flag="--ca",
        metavar="FILE",
        names="files",
        help="CA certificate (PEM) used to verify the service's certificate",
        shown_default="the system's trusted CAs",
    ),
    Option(
        flag="--no-check",
        switch=True,
        help="save the context without connecting to the service",
    ),
    Option(flag="--replace", switch=True, help="replace an existing context"),
)


def register(subcommands: Subcommands) -> None:
    """Add `context` and its subcommands."""
    commands = add_noun(
        subcommands,
        "context",
        summary="name services, and choose the one that commands use",
        example="forewarn context use production",
    )
    add_parser = add_command(
        commands,
        "add",
        _add,
        summary="save the address and token of a service",
        description=_ADD,
        example="forewarn context add production --url https://ops.example:8255",
        options=_ADD_OPTIONS,
        common=_OUTPUT,
    )
    add_argument(add_parser, "name", metavar="NAME", help=_NAME_HELP)
    use_parser = add_command(
        commands,
        "use",
        _use,
        summary="choose the service that commands use",
        description=_USE,
        example="forewarn context use production",
        common=_OUTPUT,
    )
    add_argument(use_parser, "name", metavar="NAME", help=_NAME_HELP, names="contexts")
    add_command(
        commands,
        "list",
        _list_contexts,
        summary="list contexts",
        description="List contexts. An asterisk marks the current one.",
        example="forewarn context list",
        common=_OUTPUT,
    )
    show_parser = add_command(
        commands,
        "show",
        _show,
        summary="show the service that commands use",
        description=_SHOW,
        example="forewarn context show",
        common=_OUTPUT,
    )
    add_argument(
        show_parser,
        "name",
        metavar="NAME",
        help=_NAME_HELP,
        nargs="?",
        names="contexts",
    )
    remove_parser = add_command(
        commands,
        "remove",
        _remove,
        summary="remove a context",
        description=_REMOVE,
        example="forewarn context remove production",
        common=_OUTPUT,
    )
    add_argument(
        remove_parser, "name", metavar="NAME", help=_NAME_HELP, names="contexts"
    )


# --- add ---------------------------------------------------------------------


def _add(args: argparse.Namespace) -> int:
    known = contexts.load(os.environ)
    if args.url is None:
        raise WrongUsage("specify the service's address with --url URL")
    if args.name in known.by_name and not args.replace:
        raise WrongUsage(
            f"context {args.name!r} already exists; to replace it, add --replace"
        )
    ca = None if args.ca is None else str(Path(args.ca).expanduser().absolute())
    if ca is not None and not is_utf8(ca):
        raise WrongUsage("--ca: the path is not valid UTF-8, so it cannot be saved")
    known.with_context(args.name, ServiceContext(url=args.url))  # checks the name
    context = ServiceContext(url=args.url, token=_token(args), ca=ca)
    access = None if args.no_check else _check(context)
    contexts.save(known.with_context(args.name, context), os.environ)
    plain = {**_plain(args.name, context, known), "access": access}
    return write_response(args, plain, _added(args.name, access, known), [args.name])


def _added(name: str, access: str | None, known: ServiceContexts) -> Iterator[str]:
    yield paragraph(f"Saved context {name}{f': {access}' if access else ''}.")
    if known.current != name:
        yield paragraph(
            f"To use it for all commands, run `forewarn context use {name}`."
        )


def _token(args: argparse.Namespace) -> str | None:
    """Return the token from an option or a prompt; None if the user enters none."""
    if args.token is not None:
        token = str(args.token)
    elif args.token_file is not None:
        token = _read(args.token_file)
    elif sys.stdin.isatty():
        token = _typed_token()
    else:
        raise WrongUsage("specify the token with --token-file FILE")
    if not (token.isascii() and token.strip().isprintable()):
        raise WrongUsage("the token contains invalid characters")
    return token.strip() or None


def _typed_token() -> str:
    """Prompt for the token; raise `Declined` at the end of the input."""
    try:
        return getpass("Token (leave empty to save none): ")
    except EOFError:
        sys.stderr.write("\n")
        raise Declined("nothing was saved") from None


def _read(path: str) -> str:
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a text file"
        raise WrongUsage(f"--token-file: cannot read {path}: {reason}") from error
    if not text.strip():
        raise WrongUsage(f"--token-file: {path} is empty")
    return text


def _check(context: ServiceContext) -> str:
    """Return the access that the service grants; raise an error if it grants none."""
    choice = ServiceChoice(
        context=None,
        url=context.url,
        url_source="--url",
        token=context.token,
        token_source="the token",
        ca=context.ca,
    )
    api = api_for(choice)
    hint = "Nothing was saved; to save the context anyway, add --no-check"
    try:
        if context.token is None:
            api.request("GET", "/readyz")
            return "the service is ready; commands need --token or $FOREWARN_TOKEN"
        return describe_access(object_from(api.request("GET", "/v1/session")))
    except Refused as error:
        is_rejected = error.status == 401
        reason = f"{context.url} rejected the token" if is_rejected else str(error)
        raise Refused(f"{reason}. {hint}", error.status) from error
    except (Unreachable, Misunderstood) as error:
        raise type(error)(f"{error}. {hint}") from error


def describe_access(session: JsonObject) -> str:
    """Describe what a token can do, for example "token ci (role: viewer)"."""
    group = session.text("group")
    rights = f"group: {group}" if group else f"role: {session.text('role')}"
    return f"token {session.text('name')} ({rights})"


# --- use, list, show and remove ----------------------------------------------


def _use(args: argparse.Namespace) -> int:
    known = contexts.load(os.environ).using(args.name)
    contexts.save(known, os.environ)
    service = known.get(args.name) or contexts.local_context(os.environ)
    lines = [f"Commands now use {args.name}, {service.url}.", *_overrides()]
    return write_response(args, _plain(args.name, service, known), lines, [args.name])


def _list_contexts(args: argparse.Namespace) -> int:
    known = contexts.load(os.environ)
    services = {LOCAL: contexts.local_context(os.environ), **known.by_name}
    plain = [_plain(name, service, known) for name, service in services.items()]
    return write_response(args, plain, _table(services, known, args), services)


def _table(
    services: Mapping[str, ServiceContext],
    known: ServiceContexts,
    args: argparse.Namespace,
) -> Iterator[str]:
    columns = (
        Column(title="CURRENT"),
        Column(title="NAME", is_fixed=True),
        "URL",
        "TOKEN",
        "CA",
    )
    rows = [
        (
            "*" if name == known.current else "",
            name,
            service.url,
            "saved" if service.token else "none",
            service.ca or "",
        )
        for name, service in services.items()
    ]
    yield table(columns, rows, args)
    yield from _overrides()


def _overrides() -> Iterator[str]:
    """Yield a note if a variable replaces the current context."""
    for name in ("FOREWARN_URL", "FOREWARN_CONTEXT"):
        if value := os.environ.get(name):
            yield paragraph(
                f"note: ${name} is set to {value}, and takes precedence over the"
                " current context"
            )


def _show(args: argparse.Namespace) -> int:
    known = contexts.load(os.environ)
    options = argparse.Namespace(typed=frozenset())
    vars(options).update({item.name: item.from_environment() for item in SERVICE})
    if args.name:
        options.context, options.typed = args.name, frozenset({"context"})
    choice = contexts.choose(options, os.environ)
    has_url = options.url is not None and not args.name
    name = choice.context or (None if has_url else LOCAL)
    source = None if args.name else _source(options)
    plain = {
        "name": name,
        "url": choice.url,
        "has_token": choice.token is not None,
        "token_source": choice.token_source if choice.token else None,
        "ca": choice.ca,
        "is_current": name == known.current,
        "source": source,
        "file": str(contexts.path_of(os.environ)),
    }
    pairs = (
        ("context", f"{name or 'none'}{f' ({source})' if source else ''}"),
        ("url", choice.url),
        ("token", f"from {choice.token_source}" if choice.token else "none"),
        ("ca", choice.ca),
        ("file", str(contexts.path_of(os.environ))),
    )
    return write_response(args, plain, [fields(pairs)], filter(None, [name]))


def _source(options: argparse.Namespace) -> str:
    """Return what chooses the service."""
    if options.context:
        return "$FOREWARN_CONTEXT"
    return "$FOREWARN_URL" if options.url else "the current context"


def _remove(args: argparse.Namespace) -> int:
    known = contexts.load(os.environ)
    left = known.without(args.name)
    contexts.save(left, os.environ)
    lines = [f"Removed context {args.name}."]
    if known.current == args.name:
        lines.append("Commands now use the local service.")
    removed = known.by_name[args.name]
    return write_response(args, _plain(args.name, removed, left), lines, [args.name])


def _plain(
    name: str, service: ServiceContext, known: ServiceContexts
) -> dict[str, object]:
    return {
        "name": name,
        "url": service.url,
        "has_token": service.token is not None,
        "ca": service.ca,
        "is_current": name == known.current,
    }
