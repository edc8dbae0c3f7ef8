"""`forewarn serve`: run the service."""

import argparse
import json
import logging
import os
import re
import resource
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, NoReturn

from forewarn import __version__
from forewarn.cli import options
from forewarn.cli.contexts import CONTROL_URL
from forewarn.cli.output import Style, drop_output, paint, paragraph, unbroken
from forewarn.config.load import SettingSources, load
from forewarn.config.settings import SETTINGS, Config, Setting
from forewarn.configfile import toml
from forewarn.errors import CannotStart, ForewarnError, InvalidInput
from forewarn.extras import required_extra
from forewarn.formats import count
from forewarn.logs import CleanFormatter, UtcFormatter, log_to_stderr
from forewarn.notifiers.targets import NOTIFICATIONS
from forewarn.signals import stop_on_signals

if TYPE_CHECKING:
    from forewarn.ports import Clock
    from forewarn.service.service import Service

_EXAMPLE = """\
example:
  forewarn serve --fleet fleet.toml
  forewarn serve --store memory --clock manual --metadata 127.0.0.1:0

Every option can also be set with an environment variable, or in the file
specified with --config.
"""

_log = logging.getLogger("forewarn.serve")

_FEWEST_FILES = 64  # with fewer, some features would fail
_LEAST_MEMORY = 512 << 20  # bytes of address space; with less, some starts fail
_COMMAND = re.compile(r"`[^`]*`")  # not broken across lines, so that it can be copied
_CHECK = 5.0  # seconds between two checks for threads that have ended
_STOP_LIMIT = 4.0  # seconds after which the process exits even if stopping hangs


def register(subcommands: options.Subcommands) -> None:
    """Add `serve`."""
    parser = subcommands.add_parser(
        "serve",
        help="run the service",
        description="Run the metadata service for VMs and the control plane for"
        " operators.",
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    for setting in SETTINGS:
        if setting.metavar is not None:
            _add(parser, setting)
    parser.add_argument(
        "--config", metavar="FILE", help="TOML file with settings [$FOREWARN_CONFIG]"
    )
    parser.set_defaults(run=run, noun=None)
    options.add(parser, options.JSON)


def _add(parser: argparse.ArgumentParser, setting: Setting) -> None:
    default = setting.shown_default or setting.default
    text = f"{setting.help} [${setting.variable}; default: {default}]"
    if setting.default is False:
        parser.add_argument(setting.option, action="store_const", const=True, help=text)
    elif isinstance(setting.default, list):
        parser.add_argument(
            setting.option, action="append", metavar=setting.metavar, help=text
        )
    else:
        parser.add_argument(setting.option, metavar=setting.metavar, help=text)


def run(arguments: argparse.Namespace) -> int:
    """Serve until a stop signal."""
    try:
        config = _config(arguments)
    except InvalidInput as error:
        sys.stderr.write(f"forewarn: {error}\n")
        return 2
    _start_log(config)
    try:
        _serve(config, as_json=bool(arguments.json))
    except ForewarnError as error:
        logging.shutdown()  # so that earlier messages precede the error
        sys.stderr.write(f"forewarn: {error}\n")
        return 1


def _config(arguments: argparse.Namespace) -> Config:
    name = arguments.config or os.environ.get("FOREWARN_CONFIG")
    return load(
        SettingSources(
            flags=vars(arguments),
            environment=os.environ,
            file=toml.load(Path(name)) if name else {},
            file_name=name or "config",
        )
    )


def _serve(config: Config, *, as_json: bool) -> NoReturn:
    _allow_many_files()
    _refuse_little_memory()
    with required_extra("server", "`forewarn serve`"):
        from forewarn.server.control.auth.admin_token import admin_token, warn_of_short
        from forewarn.service.service import Service
    with stop_on_signals() as stop:
        token = admin_token(config.state_directory, os.environ.get("FOREWARN_TOKEN"))
        if not config.control.is_loopback:
            warn_of_short(token)
        with Service(config, token) as service:
            _print_addresses(service.metadata, service.control, as_json=as_json)
            _log_start(service, config)
            record = _record_address(config.state_directory, service.control)
            while not stop.wait(_CHECK):
                if ended := service.ended_threads():
                    _give_up(ended)
            _limit_stop()
            record.unlink(missing_ok=True)
        _log.info("forewarn stopped")
        _exit(0)  # inside the block, so that further signals are still handled


def _give_up(ended: Sequence[str]) -> NoReturn:
    """Exit immediately with an error, so that the service manager restarts forewarn."""
    _log.critical("a service thread ended unexpectedly: %s; exiting", ", ".join(ended))
    _exit(1)


def _limit_stop() -> None:
    """Exit soon even if stopping hangs. Acknowledged changes are already committed."""
    timer = Timer(_STOP_LIMIT, _cut_stop_short)
    timer.daemon = True
    with suppress(RuntimeError):  # no thread available; stopping has no time limit
        timer.start()


def _cut_stop_short() -> None:
    _log.warning(
        "shutdown is taking longer than %g s, probably because of a slow disk; exiting."
        " All acknowledged changes are saved; the last heartbeat may be missing, and"
        " some notifications may be sent again",
        _STOP_LIMIT,
    )
    _exit(0)


def _exit(code: int) -> NoReturn:
    """Exit without interpreter shutdown, which takes ten times as long as stopping."""
    logging.shutdown()
    sys.stdout.flush()
    os._exit(code)


def _allow_many_files() -> None:
    """Raise the open file limit to the maximum, because connections count as files.

    Raise `CannotStart` if the maximum is too low.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY != soft < _FEWEST_FILES:
        raise CannotStart(
            f"the open-file limit is {soft}, but forewarn needs at least"
            f" {_FEWEST_FILES}; raise it with `ulimit -n`, or LimitNOFILE= in systemd"
        )


def _refuse_little_memory() -> None:
    """Raise `CannotStart` if the memory limit is so low that libraries would abort."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if resource.RLIM_INFINITY != soft < _LEAST_MEMORY:
        raise CannotStart(
            f"the memory limit is {soft >> 20} MiB, but forewarn needs at least"
            f" {_LEAST_MEMORY >> 20} MiB; raise it with `ulimit -v`, or LimitAS= in"
            " systemd"
        )


def _print_addresses(metadata: Sequence[str], control: str, *, as_json: bool) -> None:
    """Print the addresses of both planes; keep serving even if printing fails."""
    lines = [*(f"metadata  {address}" for address in metadata), f"control   {control}"]
    addresses = {"metadata": [*metadata], "control": control}
    text = json.dumps(addresses) if as_json else "\n".join(lines)
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except OSError as error:
        drop_output()
        _log.warning(
            "cannot print the service addresses (%s): %s",
            " ".join(text.split()),
            error.strerror,
        )


def _record_address(directory: Path, control: str) -> Path:
    """Write the control plane's address to a file, where commands look for it.

    Keep serving even if writing fails; commands then need --url.
    """
    url = control.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
    path = directory / CONTROL_URL
    draft = path.with_name(f"{CONTROL_URL}-{os.getpid()}")
    try:
        draft.write_text(f"{url}\n")
        draft.replace(path)
    except FileNotFoundError:  # nothing is kept: in-memory store, given token
        pass
    except OSError as error:
        _log.warning(
            "cannot write %s (%s); commands on this machine need --url %s",
            path,
            error.strerror,
            url,
        )
    return path


def _log_start(service: "Service", config: Config) -> None:
    """Log what the service serves and how it is configured."""
    size, clock = service.fleet_size(), service.engine.clock
    hosts, groups = count(size["hosts"], "host"), count(size["groups"], "group")
    serves = f"{hosts}, {groups}, {count(size['vms'], 'VM')}"
    if not any(size.values()):
        serves = "no VMs yet; to add some, run `forewarn fleet apply FILE`"
    store = "memory" if config.store == "memory" else service.store_name
    fields = {
        "version": __version__,
        "fleet": size,
        "store": store,
        "clock": clock.name,
        "driver": config.driver,
        "metadata": [*service.metadata],
        "control": service.control,
    }
    _log.info("forewarn %s serves %s", __version__, serves, extra={"fields": fields})
    _log.info("store: %s; clock: %s; driver: %s", store, _clock(clock), config.driver)
    _log.info("portal: %s/; to sign in, run `forewarn portal`", service.control)


def _clock(clock: "Clock") -> str:
    if clock.name != "manual":
        return clock.name
    now = f"{clock.now():%Y-%m-%d %H:%M:%S}"
    return f"manual, paused at {now} UTC (advance it with `forewarn clock advance`)"


# --- log ---------------------------------------------------------------------


def _start_log(config: Config) -> None:
    text = CleanFormatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    if sys.stderr is not None and sys.stderr.isatty():
        text = _TerminalFormatter()
    log_to_stderr(config.log_format, config.log_level, text, in_background=True)
    for library in ("alembic", "uvicorn"):
        logging.getLogger(library).setLevel(logging.WARNING)
    # psycopg warns about lost connections, which we already report as errors.
    logging.getLogger("psycopg").setLevel(logging.ERROR)
    logging.getLogger(NOTIFICATIONS).setLevel(logging.INFO)  # at any log level


class _TerminalFormatter(UtcFormatter):
    """Formats lines for a terminal: short times, colors, and lines that fit it."""

    default_time_format = "%H:%M:%SZ"
    default_msec_format = ""

    def format(self, record: logging.LogRecord) -> str:
        level = f"{record.levelname:<7}"
        head = f"{self.formatTime(record)} {level} "
        message = _COMMAND.sub(lambda match: unbroken(match[0]), record.getMessage())
        text = paragraph(head + message, indent=len(head))
        if record.levelno >= logging.WARNING:
            style: Style = "red" if record.levelno >= logging.ERROR else "yellow"
            text = text.replace(level, paint(level, style, sys.stderr), 1)
        if record.exc_info:
            text += f"\n{self.formatException(record.exc_info)}"
        return text
