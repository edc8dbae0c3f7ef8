"""Schedule of approvals and their retries; kept only while the agent runs.

Sending an approval twice is harmless, so none of this is stored.
"""

from dataclasses import dataclass

from forewarn.client.retries import delay
from forewarn.errors import ForewarnError

_NEVER = float("inf")
_RELUCTANT = 300.0  # seconds until a rejected approval is retried


@dataclass(slots=True)
class _State:
    due: float = 0.0  # on the monotonic clock
    failures: int = 0
    is_ready: bool = False  # a hook reported that everyone is ready


class Approvals:
    """Pending approvals, by event."""

    def __init__(self) -> None:
        """Start without any."""
        self._states: dict[str, _State] = {}

    def take(self, event: str, now: float) -> bool:
        """Return whether an approval or a readiness check is due.

        If it is, nothing is due for the event until its result is reported.
        """
        state = self._states.setdefault(event, _State())
        if state.due > now:
            return False
        state.due = _NEVER
        return True

    def is_ready(self, event: str) -> bool:
        """Return whether the readiness hook succeeded."""
        return event in self._states and self._states[event].is_ready

    def told(self, event: str, *, is_ready: bool, again_at: float) -> None:
        """Store the result of a readiness check; if negative, retry `again_at`."""
        state = self._states.get(event)
        if state is None:
            return  # it was forgotten meanwhile
        state.is_ready = is_ready
        state.due = 0.0 if is_ready else again_at

    def again(self, event: str) -> None:
        """Make an approval due again that was not sent after all."""
        self._states[event].due = 0.0

    def refused(self, event: str, error: ForewarnError, now: float) -> None:
        """Schedule the retry of a failed approval."""
        state = self._states.get(event)
        if state is None:
            return
        pause = delay(error, state.failures)
        state.failures += 1
        state.due = now + (_RELUCTANT if pause is None else pause)

    def forget(self, event: str) -> None:
        """Drop an event that needs no approval any more."""
        self._states.pop(event, None)

    @property
    def next_due(self) -> float:
        """When the next one is due, on the monotonic clock."""
        return min((state.due for state in self._states.values()), default=_NEVER)
