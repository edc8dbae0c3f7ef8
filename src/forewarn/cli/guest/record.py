"""`forewarn record`: record a metadata service's responses, or scrub a recording."""

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import assert_never

from forewarn import __version__
from forewarn.cli.guest.watch import ENDPOINT, POLL
from forewarn.cli.options import JSON, Option, Subcommands, add, add_command
from forewarn.cli.output import (
    format_duration,
    format_time,
    write,
    write_error,
    write_json,
)
from forewarn.cli.values import argument, read_real_duration
from forewarn.client import Client, Reading
from forewarn.client.client import random_fraction
from forewarn.client.conversation import HOLD
from forewarn.client.requests import checked_version
from forewarn.client.retries import delay
from forewarn.errors import (
    CannotStart,
    ClientClosed,
    ForewarnError,
    WrongUsage,
)
from forewarn.formats import clean, count, join_names
from forewarn.protocol.codec import decode
from forewarn.protocol.types import ScheduledEvent
from forewarn.protocol.versions import NEWEST
from forewarn.recordings.file import RecordingFile, read_recording
from forewarn.recordings.format import (
    Line,
    RecordedDocument,
    RecordedFailure,
    Recording,
    RecordingEnd,
    RecordingHeader,
    RecordingResumed,
    line_content,
)
from forewarn.recordings.recorder import Recorder
from forewarn.recordings.scrubber import Scrubber
from forewarn.signals import StopSignal, stop_on_signals

_DESCRIPTION = """\
Record each document that differs from the previous one, and each failed request,
until you press Ctrl-C. Run this command in a VM, on Azure or elsewhere. Recording never
approves events. To serve the recording, run `forewarn replay`.

With --scrub, names, IDs and times are replaced, so that you can share the
recording. To scrub an existing recording, add --recording."""

_DETAILS = ("status", "headers", "message")  # of a line
_LAST_REQUEST = 5.0  # seconds for the request in flight when the recording ends


_OPTIONS = (
    Option(
        flag="--output",
        short="-o",
        metavar="FILE",
        help="file to write the recording to",
    ),
    Option(
        flag="--append", switch=True, help="continue the recording if the file exists"
    ),
    Option(
        flag="--scrub",
        switch=True,
        help="replace names, IDs and times, and omit other identifying details",
    ),
    Option(
        flag="--recording",
        metavar="FILE",
        help="scrub this existing recording; requires --scrub",
    ),
    Option(
        flag="--duration",
        metavar="DURATION",
        read=read_real_duration,
        help="how long to record, such as 2h",
        shown_default="until Ctrl-C",
    ),
    Option(
        flag="--api-version",
        metavar="VERSION",
        read=argument(checked_version),
        help="api-version to use in requests",
        shown_default=f"{NEWEST.name}; with --append, the recording's version",
    ),
    POLL,
)


def register(subcommands: Subcommands) -> None:
    """Add `record`."""
    parser = add_command(
        subcommands,
        "record",
        record,
        summary="in a VM: record events to a file",
        description=_DESCRIPTION,
        example="forewarn record -o recording.jsonl --scrub",
        common=(ENDPOINT, JSON),
    )
    add(parser, *_OPTIONS)


def record(args: argparse.Namespace) -> int:
    """Record until a signal or the end of --duration, or scrub a recording."""
    if args.output is None:
        raise WrongUsage(
            "no output file; for example, run: forewarn record -o recording.jsonl"
        )
    if args.append and args.scrub:
        raise WrongUsage(
            "--append and --scrub cannot be used together, because a scrubbed recording"
            " does not contain the original names; record with --append, and scrub the"
            " file later with --scrub --recording"
        )
    path = Path(args.output)
    if args.recording is not None:
        return _scrub(args, path)
    earlier = _earlier_recording(path, is_appended=bool(args.append))
    default = earlier.header.api_version if earlier else NEWEST.name
    version = args.api_version or default
    with Client(args.endpoint, api_version=version, patience=0) as client:
        first = client.read()
        session = _session(client, path, earlier, version, args)
        session.run(first, args.poll, args.duration)
        session.write_summary()
    return 0


# --- the file to write -------------------------------------------------------


def _earlier_recording(path: Path, *, is_appended: bool) -> Recording | None:
    """Return the recording to append to, or None to create a new one."""
    if not path.exists():
        return None
    if not is_appended:
        raise CannotStart(
            f"{path} already exists; continue it with --append, or choose another name"
        )
    recording = read_recording(path)
    if recording.header.is_scrubbed:
        raise CannotStart(
            f"cannot append to {path}, because it is scrubbed; choose another name"
        )
    return recording


def _session(
    client: Client,
    path: Path,
    earlier: Recording | None,
    version: str,
    args: argparse.Namespace,
) -> "_RecordingSession":
    header = earlier.header if earlier else _header(client, version)
    scrubber = Scrubber(header) if args.scrub else None
    recorder = Recorder(header)
    if earlier is None:
        file = RecordingFile.create(path, scrubber.header if scrubber else header)
        lines: Sequence[Line] = ()
    else:
        file = RecordingFile.append_to(path, earlier)
        lines = recorder.resume(earlier, client.now())
    session = _RecordingSession(
        client, file, recorder, scrubber, as_json=bool(args.json)
    )
    session.put(lines)
    return session


def _header(client: Client, version: str) -> RecordingHeader:
    vm = None
    with suppress(ForewarnError):  # not every service has /metadata/instance
        vm = client.instance().name
    return RecordingHeader(
        began=client.now().replace(microsecond=0),
        api_version=version,
        recorded_with=f"forewarn {__version__}",
        endpoint=client.endpoint,
        vm=vm,
    )


# --- polling and writing -----------------------------------------------------


class _RecordingSession:
    """Polls a metadata service and writes changes to a file."""

    def __init__(
        self,
        client: Client,
        file: RecordingFile,
        recorder: Recorder,
        scrubber: Scrubber | None,
        *,
        as_json: bool,
    ) -> None:
        """Create a session that polls `client` and writes to `file`."""
        self._client = client
        self._file = file
        self._recorder = recorder
        self._scrubber = scrubber
        self._as_json = as_json
        self._closing = Event()
        self._problem: Exception | None = None
        self._began = time.monotonic()

    def run(self, first: Reading, poll: float, seconds: float | None) -> None:
        """Record `first` and later changes until a signal, or for at most `seconds`."""
        with self._file:
            self._record(first, poll, seconds)
            self.put([self._recorder.end(self._client.now())])

    def _record(self, first: Reading, poll: float, seconds: float | None) -> None:
        with stop_on_signals() as stop:
            thread = Thread(target=self._poll, args=(first, poll, stop), daemon=True)
            thread.start()
            stop.wait(seconds)
            self._closing.set()
            self._client.close()
            thread.join(_LAST_REQUEST)
        if self._problem is not None:
            raise self._problem

    def put(self, lines: Sequence[Line]) -> None:
        """Write lines to the file and print them."""
        for line in lines:
            scrubbed = self._scrubber.scrub(line) if self._scrubber else line
            self._file.add(scrubbed)
            if not self._as_json:
                at = self._file.header.began + timedelta(seconds=line.after)
                write(recording_line(scrubbed, at))
                sys.stdout.flush()

    def write_summary(self) -> None:
        """Print how many documents and failures were recorded."""
        seconds = round(time.monotonic() - self._began)
        documents, failures = self._recorder.documents, self._recorder.failures
        if self._as_json:
            write_json(
                {
                    "recording": str(self._file.path),
                    "documents": documents,
                    "failures": failures,
                    "seconds": seconds,
                }
            )
            return
        parts = [count(documents, "document")]
        parts += [count(failures, "failed request")] if failures else []
        write(f"{self._file.path}: {' and '.join(parts)} in {format_duration(seconds)}")

    def _poll(self, first: Reading, poll: float, stop: StopSignal) -> None:
        try:
            self.put(self._recorder.record(first, self._client.now()))
            self._follow(first.tag, poll)
        except Exception as error:  # end of the thread; `run` raises the error
            self._problem = error
        finally:
            stop.wake()

    def _follow(self, tag: str | None, poll: float) -> None:
        """Poll until the session closes; raise only errors that retrying cannot fix."""
        failures, pause = 0, 0.0
        while not self._closing.wait(pause):
            began, sent_tag = time.monotonic(), tag
            try:
                reading = self._client.read(tag=tag, wait=HOLD)
            except ClientClosed:
                return
            except ForewarnError as error:
                pause = self._fail(error, failures)
                failures += 1
                continue
            lines = self._recorder.record(reading, self._client.now())
            self.put(lines)
            tag, failures = reading.tag, 0
            may_hold = tag is not None and (sent_tag is None or reading.is_held)
            passed = time.monotonic() - began
            # A held request has already waited, so no pause is needed.
            pause = 0.0 if lines and may_hold else max(0.0, poll - passed)

    def _fail(self, error: ForewarnError, failures: int) -> float:
        """Record a failed poll and return the seconds until the next one."""
        self.put(self._recorder.record_failure(error, self._client.now()))
        pause = delay(error, failures, random_fraction())
        if pause is None:
            raise error
        return pause


# --- lines as text and as JSON -----------------------------------------------


def recording_line(line: Line, at: datetime) -> str:
    """Format `line`, which was recorded at `at`, as text."""
    return clean(f"{format_time(at)}  {_describe(line)}")


def plain_line(line: Line) -> Mapping[str, object]:
    """Convert a line of a recording to JSON values, without HTTP details."""
    content = line_content(line)
    return {name: content[name] for name in content if name not in _DETAILS}


def _describe(line: Line) -> str:
    match line:
        case RecordedDocument():
            return _document(line.document)
        case RecordedFailure():
            return f"failed: {line.what}" if line.what else "recovered"
        case RecordingResumed():
            return "recording continues"
        case RecordingEnd():
            return "recording ends"
        case _:
            assert_never(line)


def _document(plain: Mapping[str, object] | None) -> str:
    if plain is None:
        return "empty response"
    document = decode(json.dumps(plain).encode())
    events = "; ".join(map(_event, document.events)) or "no events"
    return f"document {document.incarnation}  {events}"


def _event(event: ScheduledEvent) -> str:
    return f"{event.type} {event.status} {join_names(event.resources, 3)}"


# --- scrubbing ---------------------------------------------------------------


def _scrub(args: argparse.Namespace, path: Path) -> int:
    if not args.scrub:
        raise WrongUsage("--recording requires --scrub")
    recording = read_recording(Path(args.recording))
    if recording.is_cut:
        write_error(f"omitting the last line of {args.recording}, which is incomplete")
    scrubber = Scrubber(recording.header)
    with RecordingFile.create(path, scrubber.header) as scrubbed:
        for line in recording.lines:
            scrubbed.add(scrubber.scrub(line))
    documents, seconds = len(recording.documents), round(recording.length)
    if args.json:
        write_json({"recording": str(path), "documents": documents, "seconds": seconds})
    else:
        total = count(documents, "document")
        write(f"{path}: {total} in {format_duration(seconds)}, scrubbed")
    return 0
