"""One run of `forewarn record`, from the first response to the end."""

import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from threading import Event, Thread
from types import TracebackType
from typing import Self

from forewarn.cli.ending import Ending, until_told
from forewarn.cli.tables import count, span, write, write_json
from forewarn.cli.tape_lines import told
from forewarn.client import Client, Reading
from forewarn.client.client import a_chance
from forewarn.client.recording import Recorder
from forewarn.client.retries import delay
from forewarn.client.scrubbing import Scrubber
from forewarn.client.talks import HOLD
from forewarn.client.tape_file import TapeFile
from forewarn.client.tapes import Line
from forewarn.errors import Closed, ForewarnError

_LAST = 5.0  # seconds for the request in flight when the recording ends


class Recording:
    """Polls a metadata service and writes what changes to a file."""

    def __init__(
        self,
        client: Client,
        tape: TapeFile,
        recorder: Recorder,
        scrubber: Scrubber | None,
        *,
        as_json: bool,
    ) -> None:
        """Poll `client` and write to `tape` the lines that `recorder` produces."""
        self._client = client
        self._tape = tape
        self._recorder = recorder
        self._scrubber = scrubber
        self._as_json = as_json
        self._closing = Event()
        self._problem: Exception | None = None
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        """Close the file at the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the file."""
        self._tape.close()

    def run(self, first: Reading, poll: float, seconds: float | None) -> None:
        """Record what follows `first`, until a signal or for at most `seconds`."""
        with until_told() as ending:
            thread = Thread(target=self._work, args=(first, poll, ending), daemon=True)
            thread.start()
            ending.wait(seconds)
            self._closing.set()
            self._client.close()
            thread.join(_LAST)
        if self._problem is not None:
            raise self._problem
        self.put([self._recorder.end(self._client.now())])

    def put(self, lines: Sequence[Line]) -> None:
        """Write lines to the file and print them."""
        for line in lines:
            scrubbed = self._scrubber.line(line) if self._scrubber else line
            self._tape.add(scrubbed)
            if not self._as_json:
                at = self._tape.header.began + timedelta(seconds=line.after)
                write(told(scrubbed, at))
                sys.stdout.flush()

    def sum_up(self) -> None:
        """Print how many documents and failures were recorded."""
        seconds = round(time.monotonic() - self._began)
        documents, troubles = self._recorder.documents, self._recorder.troubles
        if self._as_json:
            write_json(
                {
                    "tape": str(self._tape.path),
                    "documents": documents,
                    "troubles": troubles,
                    "seconds": seconds,
                }
            )
            return
        parts = [count(documents, "document")]
        parts += [count(troubles, "trouble")] if troubles else []
        write(f"{self._tape.path}: {' and '.join(parts)} in {span(seconds)}")

    def _work(self, first: Reading, poll: float, ending: Ending) -> None:
        try:
            self.put(self._recorder.heard(first, self._client.now()))
            self._follow(first.tag, poll)
        except Exception as error:  # top of the thread: raised by `run`
            self._problem = error
        finally:
            ending.ring()

    def _follow(self, tag: str | None, poll: float) -> None:
        """Poll until closed; raise only errors that retrying cannot fix."""
        failures, pause = 0, 0.0
        while not self._closing.wait(pause):
            asked_at, asked_with = time.monotonic(), tag
            try:
                reading = self._client.read(tag=tag, wait=HOLD)
            except Closed:
                return
            except ForewarnError as error:
                pause = self._fail(error, failures)
                failures += 1
                continue
            lines = self._recorder.heard(reading, self._client.now())
            self.put(lines)
            tag, failures = reading.tag, 0
            may_hold = tag is not None and (asked_with is None or reading.is_held)
            passed = time.monotonic() - asked_at
            # A held request has already waited for the change.
            pause = 0.0 if lines and may_hold else max(0.0, poll - passed)

    def _fail(self, error: ForewarnError, failures: int) -> float:
        """Record a failed poll and return the seconds until the next one."""
        self.put(self._recorder.failed(error, self._client.now()))
        pause = delay(error, failures, a_chance())
        if pause is None:
            raise error
        return pause
