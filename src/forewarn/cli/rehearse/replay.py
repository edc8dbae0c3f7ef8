"""`forewarn replay`: serve a recording from `forewarn record`."""

import argparse
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING

from forewarn.cli.guest.record import plain_line, recording_line
from forewarn.cli.options import JSON, Option, Subcommands, add_command
from forewarn.cli.output import (
    drop_output,
    format_duration,
    format_time,
    write,
    write_error,
    write_json,
)
from forewarn.cli.values import read_real_duration
from forewarn.errors import InvalidInput, WrongUsage
from forewarn.extras import required_extra
from forewarn.formats import clean, count, join_names
from forewarn.protocol.types import ScheduledEvent
from forewarn.recordings.file import read_recording
from forewarn.recordings.format import Line, Recording
from forewarn.signals import StopSignal, stop_on_signals

if TYPE_CHECKING:
    from forewarn.testing.replay.projection import ReplayApproval
    from forewarn.testing.replay.server import Replay

_DESCRIPTION = """\
Serve a recording: the same documents in the same order and with the same timing,
or --speed times as fast. NotBefore is as far ahead of the Date header as it was
in the recording. The replay starts when the first request for events arrives.
Approvals are accepted and shown, but they do not change the replay. This command
requires the `server` extra."""

_FASTEST = 100_000.0


def _read_speed(text: str) -> float:
    try:
        speed = float(text.removeprefix("x"))
    except ValueError:
        speed = 0.0
    if not 0.001 <= speed <= _FASTEST:
        raise argparse.ArgumentTypeError(
            f"invalid speed {text!r}: must be between 0.001 and {_FASTEST:g}"
        )
    return speed


_OPTIONS = (
    Option(
        flag="--speed",
        metavar="N",
        read=_read_speed,
        default=1.0,
        help="playback speed; at 60, a minute takes a second",
    ),
    Option(
        flag="--shown",
        metavar="DURATION",
        read=read_real_duration,
        default=1.0,
        shown_default="1s",
        help="minimum time to show each document, in real time",
    ),
    Option(
        flag="--metadata",
        metavar="HOST:PORT",
        default="127.0.0.1:8254",
        help="address to listen on; port 0 selects a free port",
    ),
    Option(
        flag="--vm",
        metavar="NAME",
        help="VM that clients act as",
        shown_default="the VM in the recording",
    ),
    Option(flag="--at-once", switch=True, help="start without waiting for a request"),
    Option(
        flag="--expect-approval",
        switch=True,
        help="exit with code 1 unless every event is approved while it is Scheduled",
    ),
    (
        Option(flag="--once", switch=True, help="exit at the end of the recording"),
        Option(
            flag="--loop", switch=True, help="start over at the end of the recording"
        ),
    ),
)


def register(subcommands: Subcommands) -> None:
    """Add `replay`."""
    parser = add_command(
        subcommands,
        "replay",
        _replay,
        summary="serve a recording made by `forewarn record`",
        description=_DESCRIPTION,
        example="forewarn replay recording.jsonl --speed 60",
        options=_OPTIONS,
        common=(JSON,),
    )
    parser.add_argument("recording", metavar="RECORDING", help="recording file")


def _replay(args: argparse.Namespace) -> int:
    """Serve the recording until a signal or, with --once, until it ends."""
    if args.loop and args.expect_approval:
        raise WrongUsage("--expect-approval and --loop cannot be used together")
    recording = read_recording(Path(args.recording))
    if recording.is_cut:
        write_error(f"omitting the last line of {args.recording}, which is incomplete")
    with stop_on_signals() as stop:
        display = _Display(stop, as_json=bool(args.json))
        with _open(recording, args, display) as playing:
            display.welcome(args.recording, playing)
            stop.wait()
        missing = playing.unapproved if args.expect_approval else ()
    for event in missing:
        write_error(f"{_describe(event)} was not approved while it was Scheduled")
    return 1 if missing else 0


def _open(
    recording: Recording, args: argparse.Namespace, display: "_Display"
) -> "Replay":
    with required_extra("server", "`forewarn replay`"):
        from forewarn.testing.replay.server import Replay
    try:
        return Replay(
            recording,
            speed=args.speed,
            shown=args.shown,
            metadata=args.metadata,
            vm=args.vm,
            is_looped=bool(args.loop),
            is_eager=bool(args.at_once),
            on_line=display.show,
            on_approval=display.approve,
            on_end=display.end if args.once else lambda: None,
        )
    except InvalidInput as error:
        raise WrongUsage(str(error)) from error


class _Display:
    """Prints the progress of a replay. All methods are thread-safe."""

    def __init__(self, stop: StopSignal, *, as_json: bool) -> None:
        self._stop = stop
        self._as_json = as_json
        self._lock = Lock()
        self._is_open = Event()

    def welcome(self, name: str, playing: "Replay") -> None:
        """Print the endpoint and the length of the replay."""
        recording, schedule = playing.recording, playing.schedule
        documents = count(len(recording.documents), "document")
        length = format_duration(round(recording.length))
        takes = format_duration(round(schedule.ends))
        self._write(
            f"metadata  {playing.base}\n"
            f"{name}: {documents} in {length}, replayed in {takes} at speed"
            f" {schedule.speed:g}",
            {
                "metadata": [playing.base],
                "documents": len(recording.documents),
                "seconds": round(schedule.ends, 3),
            },
        )
        self._is_open.set()

    def show(self, line: Line, at: datetime) -> None:
        """Print a line of the recording, after the endpoint has been printed."""
        self._is_open.wait()
        self._write(
            recording_line(line, at), {"at": at.isoformat(), **plain_line(line)}
        )

    def approve(self, approval: "ReplayApproval") -> None:
        """Print an approval."""
        late = "" if approval.is_in_time else ", too late"
        name = _describe(approval.event)
        self._write(
            clean(f"{format_time(approval.at)}  {approval.vm} approved {name}{late}"),
            {
                "at": approval.at.isoformat(),
                "approved": approval.event.id,
                "by": approval.vm,
                "in_time": approval.is_in_time,
            },
        )

    def end(self) -> None:
        """Print that the recording has ended and stop the replay."""
        self._write("end of the recording", {"over": True})
        self._stop.wake()

    def _write(self, text: str, plain: Mapping[str, object]) -> None:
        with self._lock:
            try:
                if self._as_json:
                    write_json(plain, indent=None)
                else:
                    write(text)
                sys.stdout.flush()
            except OSError:  # keep serving even if nobody reads the output
                drop_output()


def _describe(event: ScheduledEvent) -> str:
    return f"{event.type} {event.id} of {join_names(event.resources, 3)}"
