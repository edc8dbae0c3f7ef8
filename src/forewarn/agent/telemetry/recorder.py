"""Recorder: reports the agent's actions to the audit log, regular log and metrics."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import assert_never

from forewarn import __version__
from forewarn.agent.audit import entries as e
from forewarn.agent.audit.log import AuditLog
from forewarn.agent.audit.sentences import is_failure, log_text
from forewarn.agent.events.observation import LARGEST_EVENT, MOST_EVENTS
from forewarn.agent.events.state import EventState, LastStatus
from forewarn.agent.telemetry.logs import Conditions
from forewarn.agent.telemetry.metrics import AgentMetrics
from forewarn.client.responses import Reading
from forewarn.client.service_clock import ServiceClock
from forewarn.errors import ForewarnError, Refused, Unavailable
from forewarn.formats import count

_FIRST_RESPONSE = 130.0  # seconds that the first response may take, as on Azure

_log = logging.getLogger("forewarn.agent")


class AgentRecorder:
    """Reports the agent's actions to the audit log, regular log and metrics."""

    def __init__(
        self,
        *,
        audit: AuditLog,
        metrics: AgentMetrics,
        conditions: Conditions,
        clock: ServiceClock,
        endpoint: Callable[[], str],
        blind_after: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create a recorder.

        `blind_after` seconds without a document raise an alarm. `endpoint` returns the
        service's current base URL.
        """
        self._monotonic = monotonic
        self._endpoint = endpoint
        self._audit = audit
        self._metrics = metrics
        self._conditions = conditions
        self._clock = clock
        self._blind_after = blind_after
        self._last = self._monotonic()  # when a document was last read
        self._name = ""  # empty until known
        self._read_from = ""  # endpoint of the last document; empty before that
        self._has_read = False
        self._has_failed = False
        self._is_blind = False
        metrics.set("blind_seconds", lambda: self._monotonic() - self._last)
        metrics.set("blind", lambda: float(self._is_blind))

    def write(
        self, entries: Iterable[e.AuditEntry], find: Callable[[str], EventState | None]
    ) -> None:
        """Write, log and count audit entries; disk failures do not raise an error."""
        for entry in entries:
            state = find(entry.event or "")
            count_entry(entry, state, self._metrics)
            if (text := log_text(entry, state)) is not None:
                level = logging.WARNING if is_failure(entry) else logging.INFO
                _log.log(level, "%s", text, extra={"event": entry.event})
            try:
                self._audit.write(entry.line())
            except Unavailable as error:
                self._metrics.add("state_errors_total")
                self._conditions.report("audit", True, str(error))
            else:
                self._conditions.report("audit", False, "can write the audit log again")

    # --- polls ---------------------------------------------------------------

    def document_read(self, reading: Reading) -> None:
        """Record that the service responded."""
        if self._endpoint() != self._read_from:
            self._read_from = self._endpoint()
            _log.info("reading documents from %s", self._read_from)
            self._set_info()
        self._has_read = True
        self._set_blind(False)
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
        self._conditions.report("reading", False, "can read documents again")

    def read_failed(self, error: ForewarnError) -> None:
        """Record that a poll failed."""
        self._has_failed = True
        self._metrics.add("readings_total", result="failed")
        status = error.status if isinstance(error, Refused) else ""
        kind = f"{type(error).__name__} {status}"
        text = f"cannot read the document: {error}"
        self._conditions.report("reading", True, text, kind=kind)

    def check_blind(self) -> float:
        """Raise the alarm if it is due; return the seconds until the next check."""
        allowed = self._blind_after
        if not self._has_read and not self._has_failed:
            allowed = max(allowed, _FIRST_RESPONSE)
        left = self._last + allowed - self._monotonic()
        if left <= 0:
            self._set_blind(True)
        return left if left > 0 else self._blind_after

    def _set_blind(self, is_blind: bool) -> None:
        if is_blind == self._is_blind:
            return
        self._is_blind = is_blind
        seconds = self._monotonic() - self._last
        text = f"no document for {seconds:.0f} s; the agent would miss new events"
        self._conditions.report(
            "blind", is_blind, text if is_blind else "the agent is no longer blind"
        )
        kind = e.BlindEntry if is_blind else e.SeesAgainEntry
        entry = kind(at=self._clock.now(), seconds=round(seconds, 1))
        self.write([entry], lambda _: None)

    # --- other ---------------------------------------------------------------

    def name_learned(self, name: str) -> None:
        """Record the name of this VM."""
        if name and name != self._name:
            _log.info("the name of this VM is %s", name)
        self._name = name
        self._set_info()

    def _set_info(self) -> None:
        labels = (__version__, self._name, self._endpoint())
        self._metrics.replace("info", {labels: 1.0})

    def name_checked(self, problem: str | None) -> None:
        """Record whether this VM's name may cause missed events."""
        self._metrics.set("name_mismatch", float(problem is not None))
        text = problem or "the name of this VM is correct again"
        if self._conditions.report(
            "name-mismatch", problem is not None, text, kind=text
        ):
            entry = e.NameMismatchEntry(at=self._clock.now(), reason=problem)
            self.write([entry], lambda _: None)

    def save_result(self, error: Unavailable | None) -> None:
        """Record whether event states can be saved."""
        if error is not None:
            self._metrics.add("state_errors_total")
        again = "can save the agent's state again"
        self._conditions.report(
            "state-unwritable", error is not None, str(error or again)
        )

    def events_ignored(self, number: int) -> None:
        """Record how many events in the document are not tracked."""
        self._metrics.set("events_ignored", float(number))
        text = (
            f"ignoring {count(number, 'event')}; the agent tracks at most"
            f" {MOST_EVENTS} events of up to {LARGEST_EVENT // 1024} KiB each and"
            " gives priority to events for this VM"
        )
        over = "no longer ignoring events"
        self._conditions.report("events-ignored", number > 0, text if number else over)

    def hooks_waiting(self, number: int, limit: int) -> None:
        """Record how many hooks are waiting because `limit` hooks are running."""
        self._metrics.set("hook_waiting", float(number))
        verb = "is" if number == 1 else "are"
        text = (
            f"{count(number, 'hook')} {verb} waiting because hooks_at_once is"
            f" {limit}; hooks for this VM's earliest events run first"
        )
        over = "no hooks are waiting anymore"
        self._conditions.report("hooks-waiting", number > 0, text if number else over)

    def approval_failed(self, error: ForewarnError) -> None:
        """Record a failed approval."""
        answer = str(error.status) if isinstance(error, Refused) else "unreachable"
        self._metrics.add("approvals_total", answer=answer)

    def update_gauges(self, states: Iterable[EventState], *, running: int) -> None:
        """Update the metrics for hooks and the events in the document."""
        live = [state for state in states if state.seen is not LastStatus.GONE]
        events: Mapping[tuple[str, ...], int] = Counter(
            (str(state.event.type), state.seen, "1" if state.is_mine else "0")
            for state in live
        )
        self._metrics.replace(
            "events", {labels: float(n) for labels, n in events.items()}
        )
        due: Mapping[tuple[str, ...], float] = {
            (state.id, str(state.event.type)): state.event.not_before.timestamp()
            for state in live
            if state.event.not_before is not None
        }
        self._metrics.replace("not_before_timestamp_seconds", due)
        self._metrics.set("hook_running", float(running))


# --- metrics -----------------------------------------------------------------


def count_entry(
    entry: e.AuditEntry, state: EventState | None, metrics: AgentMetrics
) -> None:
    """Update the metrics for one audit entry."""
    event_type = "" if state is None else str(state.event.type)
    match entry:
        case e.DecidedEntry():
            metrics.add("decisions_total", rule=entry.rule or "none")
            notice = None if state is None else state.notice
            _observe(metrics, "notice_given_seconds", notice, type=event_type)
        case e.HookEndedEntry():
            metrics.add("hooks_total", step=entry.step, outcome=entry.outcome)
            _observe(metrics, "hook_seconds", entry.seconds, step=entry.step)
        case e.ApprovedEntry():
            metrics.add("approvals_total", answer="200")
            used = entry.notice_seconds_used
            _observe(metrics, "notice_used_seconds", used, type=event_type)
        case e.StartedEntry() if entry.approved_elsewhere:
            metrics.add("approved_elsewhere_total")
        case e.GoneEntry() if entry.after_start and state is not None:
            metrics.add("boots_total", float(state.impact.boots))
            _observe(metrics, "impact_seconds", state.impact.seconds, type=event_type)
        case (
            e.SeenEntry()
            | e.CameBackEntry()
            | e.HookBeganEntry()
            | e.ApprovalSentEntry()
            | e.ApprovalFailedEntry()
            | e.NotApprovedEntry()
            | e.StartedEntry()
            | e.GoneEntry()
            | e.OverEntry()
            | e.BeganEntry()
            | e.EndedEntry()
            | e.BlindEntry()
            | e.SeesAgainEntry()
            | e.NameMismatchEntry()
        ):
            pass
        case _:
            assert_never(entry)


def _observe(
    metrics: AgentMetrics, name: str, value: float | None, **labels: str
) -> None:
    if value is not None:
        metrics.observe(name, value, **labels)
