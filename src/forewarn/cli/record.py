"""`forewarn record`: a recording of a metadata service's documents over time."""

import argparse
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from forewarn import __version__
from forewarn.cli.options import JSON, Option, Subcommands, add, add_command
from forewarn.cli.recording import Recording
from forewarn.cli.tables import complain, count, span, write, write_json
from forewarn.cli.values import read_real_duration
from forewarn.cli.watch import ENDPOINT, POLL
from forewarn.client import Client
from forewarn.client.asking import checked_version
from forewarn.client.recording import Recorder
from forewarn.client.scrubbing import Scrubber
from forewarn.client.tape_file import TapeFile, read_tape
from forewarn.client.tapes import Header, Line, Tape
from forewarn.errors import (
    CannotStart,
    ForewarnError,
    InvalidInput,
    WrongUsage,
)
from forewarn.protocol.versions import NEWEST

_DESCRIPTION = """\
Run in a VM, here or on Azure: write down every document that differs from the
one before, and what went wrong, until Ctrl-C. `forewarn replay` serves the
tape again. Nothing is ever approved. With --scrub names, ids and times are
replaced, so that the tape can be shown to others; with --tape a finished tape
is scrubbed instead of asking a service."""


def _read_version(text: str) -> str:
    try:
        return checked_version(text)
    except InvalidInput as error:
        raise argparse.ArgumentTypeError(str(error)) from error


_OPTIONS = (
    Option(
        flag="--output", short="-o", metavar="FILE", help="the tape; it must be new"
    ),
    Option(flag="--append", switch=True, help="go on with a tape, if it is there"),
    Option(
        flag="--scrub",
        switch=True,
        help="replace names, ids and times, and leave out what may tell whose they are",
    ),
    Option(flag="--tape", metavar="FILE", help="a finished tape, to be scrubbed"),
    Option(
        flag="--duration",
        metavar="DURATION",
        read=read_real_duration,
        help="end after so long, such as 2h; without it, at Ctrl-C",
    ),
    Option(
        flag="--api-version",
        metavar="VERSION",
        read=_read_version,
        help=f"the version to ask in; the tape's, or {NEWEST.name}, if not given",
    ),
    POLL,
)


def register(subcommands: Subcommands) -> None:
    """Add `record`."""
    parser = add_command(
        subcommands,
        "record",
        record,
        summary="in a VM: write down what is coming, as a tape",
        description=_DESCRIPTION,
        example="forewarn record -o tape.jsonl --scrub",
        common=(ENDPOINT, JSON),
    )
    add(parser, *_OPTIONS)


def record(args: argparse.Namespace) -> int:
    """Record until a signal or --duration ends it, or scrub a finished recording."""
    if args.output is None:
        raise WrongUsage("name the tape, as in: forewarn record -o tape.jsonl")
    if args.append and args.scrub:
        raise WrongUsage(
            "a scrubbed tape does not say who was who, so nothing can be appended to"
            " it: record with --append alone, and scrub it later with --scrub --tape"
        )
    path = Path(args.output)
    if args.tape is not None:
        return _scrub(args, path)
    tape = _found(path, is_appended=bool(args.append))
    version = args.api_version or (tape.header.api_version if tape else NEWEST.name)
    with Client(args.endpoint, api_version=version, patience=0) as client:
        first = client.read()
        with _recording(client, path, tape, version, args) as recording:
            recording.run(first, args.poll, args.duration)
        recording.sum_up()
    return 0


# --- the file to write -------------------------------------------------------


def _found(path: Path, *, is_appended: bool) -> Tape | None:
    """Read the recording to append to; None if a new one is created."""
    if not path.exists():
        return None
    if not is_appended:
        raise CannotStart(
            f"{path} is there already; --append goes on with it, or choose another name"
        )
    tape = read_tape(path)
    if tape.header.is_scrubbed:
        raise CannotStart(
            f"{path} is scrubbed and does not say who was who; record on another tape"
        )
    return tape


def _recording(
    client: Client,
    path: Path,
    found: Tape | None,
    version: str,
    args: argparse.Namespace,
) -> Recording:
    header = found.header if found else _header(client, version)
    scrubber = Scrubber(header) if args.scrub else None
    recorder = Recorder(header)
    if found is None:
        file = TapeFile.make(path, scrubber.header if scrubber else header)
        lines: Sequence[Line] = ()
    else:
        file = TapeFile.go_on(path, found)
        lines = recorder.resume(found, client.now())
    recording = Recording(client, file, recorder, scrubber, as_json=bool(args.json))
    recording.put(lines)
    return recording


def _header(client: Client, version: str) -> Header:
    vm = None
    with suppress(ForewarnError):  # not every service has /metadata/instance
        vm = client.instance().name
    return Header(
        began=client.now().replace(microsecond=0),
        api_version=version,
        recorded_with=f"forewarn {__version__}",
        endpoint=client.endpoint,
        vm=vm,
    )


# --- scrubbing ---------------------------------------------------------------


def _scrub(args: argparse.Namespace, path: Path) -> int:
    if not args.scrub:
        raise WrongUsage("--tape is for a tape that is to be scrubbed; add --scrub")
    tape = read_tape(Path(args.tape))
    if tape.is_cut:
        complain(f"the last line of {args.tape} breaks off, and is left out")
    scrubber = Scrubber(tape.header)
    with TapeFile.make(path, scrubber.header) as scrubbed:
        for line in tape.lines:
            scrubbed.add(scrubber.line(line))
    documents, seconds = len(tape.showings), round(tape.length)
    if args.json:
        write_json({"tape": str(path), "documents": documents, "seconds": seconds})
    else:
        write(f"{path}: {count(documents, 'document')} in {span(seconds)}, scrubbed")
    return 0
