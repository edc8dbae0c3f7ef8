"""Audit log, log messages and metrics about what the agent sees, decides and does.

A problem is logged once when it begins and once when it is over.
"""

import logging
import time
from collections.abc import Callable, Iterable

from forewarn import __version__
from forewarn.agent import counting
from forewarn.agent.audit import Audit
from forewarn.agent.clock import ServiceClock
from forewarn.agent.lives import Life
from forewarn.agent.logs import Conditions
from forewarn.agent.metrics import Metrics
from forewarn.agent.notes import Note
from forewarn.agent.saying import say
from forewarn.client.reading import Reading
from forewarn.errors import ForewarnError, Refused, Unavailable

_FIRST_ANSWER = 130.0  # seconds that the first response may take

_log = logging.getLogger("forewarn.agent")


class Recording:
    """Reports what the agent does: audit log, log messages and metrics."""

    def __init__(
        self,
        *,
        audit: Audit,
        metrics: Metrics,
        conditions: Conditions,
        clock: ServiceClock,
        endpoint: str,
        blind_after: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raise an alarm when no document was read for `blind_after` seconds."""
        self._monotonic = monotonic
        self._endpoint = endpoint
        self._audit = audit
        self._metrics = metrics
        self._conditions = conditions
        self._clock = clock
        self._blind_after = blind_after
        self._last = self._monotonic()  # when a document was last read
        self._name = ""  # empty if not known yet
        self._has_read = False
        self._has_failed = False
        self._is_blind = False
        metrics.set("blind_seconds", lambda: self._monotonic() - self._last)
        metrics.set("blind", lambda: float(self._is_blind))

    def write(self, notes: Iterable[Note], find: Callable[[str], Life | None]) -> None:
        """Write audit entries, log and count them; a failing disk is only reported."""
        for note in notes:
            life = find(note.event or "")
            counting.count(note, life, self._metrics)
            if (saying := say(note, life)) is not None:
                _log.log(saying.level, "%s", saying.text, extra={"event": note.event})
            try:
                self._audit.write(note.line())
            except Unavailable as error:
                self._metrics.add("state_errors_total")
                self._conditions.say("audit", True, str(error))
            else:
                self._conditions.say(
                    "audit", False, "the audit record is written again"
                )

    # --- polls ------------------------------------------------------------------------

    def saw(self, reading: Reading) -> None:
        """Record that the service responded."""
        if not self._has_read:
            _log.info("documents are read from %s", self._endpoint)
        self._has_read = True
        self._blind(False)
        self._last = self._monotonic()
        document = reading.document
        result = "unchanged" if document is None else "document"
        self._metrics.add(
            "readings_total", result="blank" if reading.is_blank else result
        )
        self._metrics.set(
            "last_document_timestamp_seconds", self._clock.now().timestamp()
        )
        if document is not None:
            self._metrics.set("document_incarnation", float(document.incarnation))
        self._conditions.say("reading", False, "documents can be read again")

    def lost(self, error: ForewarnError) -> None:
        """Record that a poll failed."""
        self._has_failed = True
        self._metrics.add("readings_total", result="failed")
        status = error.status if isinstance(error, Refused) else ""
        kind = f"{type(error).__name__} {status}"
        self._conditions.say("reading", True, f"no document: {error}", kind=kind)

    def look_out(self) -> float:
        """Raise the alarm if it is due; return the seconds until the next check."""
        patience = self._blind_after
        if not self._has_read and not self._has_failed:
            patience = max(patience, _FIRST_ANSWER)
        left = self._last + patience - self._monotonic()
        if left <= 0:
            self._blind(True)
        return left if left > 0 else self._blind_after

    def _blind(self, is_blind: bool) -> None:
        if is_blind == self._is_blind:
            return
        self._is_blind = is_blind
        seconds = self._monotonic() - self._last
        text = f"no document could be read for {seconds:.0f} s: events would be missed"
        self._conditions.say("blind", is_blind, text if is_blind else "no longer blind")
        what = "blind" if is_blind else "sees-again"
        note = Note(
            at=self._clock.now(), what=what, said={"seconds": round(seconds, 1)}
        )
        self.write([note], lambda _: None)

    # --- other ------------------------------------------------------------------------

    def named(self, name: str) -> None:
        """Record the name of this VM."""
        if name and name != self._name:
            _log.info("this VM is %s", name)
        self._name = name
        self._metrics.replace("info", {(__version__, name, self._endpoint): 1.0})

    def name_fits(self, trouble: str | None) -> None:
        """Record whether events may be missed because of this VM's name."""
        self._metrics.set("name_mismatch", float(trouble is not None))
        text = trouble or "this VM's names fit now"
        if self._conditions.say("name-mismatch", trouble is not None, text, kind=text):
            note = Note(
                at=self._clock.now(), what="name-mismatch", said={"reason": trouble}
            )
            self.write([note], lambda _: None)

    def disk(self, error: Unavailable | None) -> None:
        """Record whether event states can be saved."""
        if error is not None:
            self._metrics.add("state_errors_total")
        again = "what the agent knows can be kept again"
        self._conditions.say("state-unwritable", error is not None, str(error or again))

    def not_taken(self, error: ForewarnError) -> None:
        """Record a failed approval."""
        counting.count_refusal(error, self._metrics)

    def show(self, lives: Iterable[Life], *, running: int) -> None:
        """Update the metrics of current events and hooks."""
        counting.show(lives, self._metrics)
        self._metrics.set("hook_running", float(running))
