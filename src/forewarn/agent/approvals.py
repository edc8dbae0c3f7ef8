"""When an approval is sent, and sent again; kept only while the agent runs.

Sending one twice does no harm, so nothing of this need survive.
"""

from dataclasses import dataclass

from forewarn.client.retries import delay
from forewarn.errors import ForewarnError

_NEVER = float("inf")
_RELUCTANT = 300.0  # seconds until an approval that was refused is tried again


@dataclass(slots=True)
class _State:
    due: float = 0.0  # on the monotonic clock
    failures: int = 0
    is_ready: bool = False  # a hook has told that all are ready


class Approvals:
    """What is known of each event's approval."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._states: dict[str, _State] = {}

    def take(self, event: str, now: float) -> bool:
        """Say whether it is time to send, or to ask; if so, an answer is awaited."""
        state = self._states.setdefault(event, _State())
        if state.due > now:
            return False
        state.due = _NEVER
        return True

    def is_ready(self, event: str) -> bool:
        """Say whether all were found ready."""
        return event in self._states and self._states[event].is_ready

    def told(self, event: str, *, is_ready: bool, again_at: float) -> None:
        """Take in whether all are ready; if not, ask `again_at`."""
        state = self._states.get(event)
        if state is None:
            return  # it was forgotten meanwhile, and nobody would ever take it
        state.is_ready = is_ready
        state.due = 0.0 if is_ready else again_at

    def again(self, event: str) -> None:
        """Take in that it was not sent after all."""
        self._states[event].due = 0.0

    def refused(self, event: str, error: ForewarnError, now: float) -> None:
        """Take in that an approval was not taken."""
        state = self._states.get(event)
        if state is None:
            return
        pause = delay(error, state.failures)
        state.failures += 1
        state.due = now + (_RELUCTANT if pause is None else pause)

    def forget(self, event: str) -> None:
        """Take in that nothing is left to be approved."""
        self._states.pop(event, None)

    @property
    def next_due(self) -> float:
        """When the next one is due, on the monotonic clock."""
        return min((state.due for state in self._states.values()), default=_NEVER)
