"""Retry rules: which failed requests are repeated, and after which delays.

Every request may be repeated, even an approval, because approving twice is harmless. A
request that the service rejects as wrong is final: it would be rejected again.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from forewarn.errors import ForewarnError, Misunderstood, Refused, Unreachable

#: The longest delay that Retry-After can impose, in seconds.
LONGEST = 60.0
#: Largest random addition to a delay, as a fraction, so that VMs do not retry in step.
JITTER = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRule:
    """A reason to retry, and the delays in seconds."""

    reason: str
    delays: tuple[float, ...] = (0.5, 1.0, 2.0, 5.0, 10.0)  # the last one is repeated
    patience: float = 0.0  # minimum seconds of retries, unless these are off


#: By status; all others below 500 are final.
BY_STATUS: Mapping[int, RetryRule] = {
    404: RetryRule(
        reason="the endpoint may not be up yet", delays=(1.0, 2.0, 5.0, 10.0)
    ),
    410: RetryRule(
        reason="the service is updated, which takes 70 seconds at most",
        delays=(1.0, 2.0, 5.0),
        patience=70.0,
    ),
    429: RetryRule(reason="asked too often", delays=(1.0, 2.0, 5.0, 10.0)),
}
SERVER_ERROR = RetryRule(reason="the service has trouble, or is restarting")
NO_ANSWER = RetryRule(reason="nobody answers yet, or the network is away")
STRANGE = RetryRule(
    reason="something else may answer while the service starts",
    delays=(1.0, 2.0, 5.0, 10.0),
)


def rule_for(error: ForewarnError) -> RetryRule | None:
    """Return the retry rule for `error`; None if a retry would not help."""
    match error:
        case Refused():
            if error.status >= 500:
                return SERVER_ERROR
            return BY_STATUS.get(error.status)
        case Unreachable():
            return NO_ANSWER
        case Misunderstood():
            return STRANGE
        case _:
            return None


def delay(error: ForewarnError, attempt: int, chance: float = 0.0) -> float | None:
    """Return the seconds to wait before the next attempt; None if there is none.

    `attempt` counts consecutive failures from 0; `chance` is between 0 and 1.
    """
    rule = rule_for(error)
    if rule is None:
        return None
    retry_after = error.retry_after if isinstance(error, Refused) else None
    pause = rule.delays[min(attempt, len(rule.delays) - 1)]
    if retry_after is not None:
        pause = min(max(retry_after, pause), LONGEST)
    return pause * (1 + JITTER * chance)


def patience_for(error: ForewarnError, patience: float) -> float:
    """Return for how many seconds such failures are retried."""
    rule = rule_for(error)
    return patience if rule is None or not patience else max(rule.patience, patience)
