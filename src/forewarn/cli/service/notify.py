"""`forewarn notify`: list notification targets or send a test to a webhook."""

import argparse
import time
from collections.abc import Iterator, Sequence
from uuid import uuid4

from forewarn.cli.api import api_of
from forewarn.cli.options import (
    FORMATS,
    JSON,
    Option,
    Subcommands,
    add_argument,
    add_command,
    add_noun,
)
from forewarn.cli.output import (
    Column,
    Styled,
    format_duration,
    format_time,
    table,
    write,
    write_error,
    write_json,
    write_response,
)
from forewarn.cli.responses import JsonObject, object_from
from forewarn.clocks import SystemClock
from forewarn.errors import InvalidInput, Undelivered, WrongUsage
from forewarn.formats import count
from forewarn.notifiers import http_post
from forewarn.notifiers.settings import read_webhook
from forewarn.notifiers.targets import TIMEOUT, Target, url_without_secrets
from forewarn.notifiers.webhook import Webhook, envelope

_TEST = """\
Send an event of type dev.forewarn.Test to a webhook. The command sends the event
directly, without using the service, and signs it if you specify --secret. The
exit code is 0 if the webhook returns a 2xx status."""

_COLUMNS = (
    "NAME",
    Column(title="KIND", is_wide=True),
    Column(title="POSITION", is_wide=True),
    "BEHIND",
    "STATE",
    "LAST SUCCESS",
    "ERROR",
)

_SECRET = Option(
    flag="--secret",
    metavar="SECRET",
    variable="FOREWARN_SECRET",
    help="signing secret for the event; setting it in the environment is safer",
)


def register(subcommands: Subcommands) -> None:
    """Add `notify list` and `notify test`."""
    commands = add_noun(
        subcommands,
        "notify",
        summary="list notification targets, or test a webhook",
        example="forewarn notify list",
    )
    add_command(
        commands,
        "list",
        _list_targets,
        summary="list notification targets and their progress",
        description="List each notification target with its journal position, its"
        " backlog and its last error.",
        example="forewarn notify list",
        formats=FORMATS,
    )
    parser = add_command(
        commands,
        "test",
        _test,
        summary="send a test event to a webhook",
        description=_TEST,
        example="forewarn notify test https://ops.example/hook",
        options=(_SECRET,),
        common=(JSON,),
    )
    add_argument(parser, "to", metavar="URL", help="URL of the webhook")


# --- list --------------------------------------------------------------------


def _list_targets(args: argparse.Namespace) -> int:
    items = [*api_of(args).items("/v1/notifiers")]
    names = (object_from(item).text("name") for item in items)
    return write_response(args, items, _lines(args, items), names)


def _lines(args: argparse.Namespace, targets: Sequence[object]) -> Iterator[str]:
    rows = [_row(object_from(target)) for target in targets]
    nothing = "No notification targets; add one with `forewarn serve --webhook URL`."
    yield table(_COLUMNS, rows, args) if rows else nothing


def _row(target: JsonObject) -> tuple[str, ...]:
    return (
        target.text("name") or "",
        target.text("kind") or "",
        target.text("position") or "",
        _behind(target),
        _state(target),
        format_time(target.time("last_success")) or "",
        _error(target),
    )


def _behind(target: JsonObject) -> str:
    behind = target.text("behind") or ""
    lag = float(target.text("lag_seconds") or 0)
    return f"{behind}, {format_duration(int(lag))}" if lag >= 1 else behind


def _state(target: JsonObject) -> str:
    following = format_time(target.time("next_attempt"))
    state = f"{target.text('state')}{f' until {following}' if following else ''}"
    return Styled(state, "yellow") if target.number("failures") else state


def _error(target: JsonObject) -> str:
    failures = target.number("failures") or 0
    if not failures:
        return ""
    return f"{count(failures, 'failure')}: {target.text('last_error')}"


# --- test --------------------------------------------------------------------


def _test(args: argparse.Namespace) -> int:
    url, began = _url(args.to), time.monotonic()
    try:
        response: http_post.PostResponse | None = _send(url, args.secret)
        message = f"{url_without_secrets(url)} returned {response}"
    except Undelivered as error:
        response, message = None, str(error)
    seconds = time.monotonic() - began
    is_success = response is not None and response.is_success
    if args.json:
        write_json(
            {
                "url": url_without_secrets(url),
                "delivered": is_success,
                "status": None if response is None else response.status,
                "seconds": round(seconds, 3),
                "message": message,
            }
        )
    elif is_success:
        write(f"{message} after {seconds * 1000:.0f} ms")
    else:
        write_error(f"{message} (after {seconds * 1000:.0f} ms)")
    return 0 if is_success else 1


def _url(text: str) -> str:
    try:
        return read_webhook(text)
    except InvalidInput as error:
        raise WrongUsage(f"URL: {error}") from error


def _send(url: str, secret: str | None) -> http_post.PostResponse:
    now = SystemClock().now
    target = Target(
        name="test",
        kind="webhook",
        url=url,
        secrets=(secret,) if secret else (),
        timeout=TIMEOUT,
    )
    event = envelope(
        id=f"test-{uuid4()}",
        source="/forewarn",
        kind="Test",
        subject=None,
        at=now(),
        data={"message": "Test event sent by `forewarn notify test`"},
    )
    return Webhook(target, source="/forewarn", now=now).send(event)
