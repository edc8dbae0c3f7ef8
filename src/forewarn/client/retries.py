"""Retry rules: which failed requests are repeated and after what delay.

Every request may be repeated, even an approval, because approving twice is harmless. A
request that the service rejects as invalid is final, because it would be rejected
again.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from forewarn.errors import ForewarnError, Misunderstood, Refused, Unreachable

#: The longest delay that Retry-After can impose, in seconds.
_LONGEST = 60.0
#: The largest random addition to a delay, as a fraction, so that VMs do not retry in
#: step.
_JITTER = 0.25

_SLOW = (1.0, 2.0, 5.0, 10.0)  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class _RetryRule:
    delays: tuple[float, ...] = (0.5, 1.0, 2.0, 5.0, 10.0)  # the last value is repeated
    patience: float = 0.0  # minimum seconds of retries, unless retries are off


#: Rules, keyed by status; all other statuses below 500 are final.
_BY_STATUS: Mapping[int, _RetryRule] = {
    404: _RetryRule(delays=_SLOW),  # the endpoint may not be up yet
    # The service is being updated, which takes at most 70 seconds.
    410: _RetryRule(delays=(1.0, 2.0, 5.0), patience=70.0),
    429: _RetryRule(delays=_SLOW),  # too many requests
}
_AWAY = _RetryRule()  # the service or the network is failing or restarting
_STRANGE = _RetryRule(delays=_SLOW)  # something else responds while the service starts


def can_retry(error: ForewarnError) -> bool:
    """Return whether a retry may help after `error`."""
    return _rule_for(error) is not None


def _rule_for(error: ForewarnError) -> _RetryRule | None:
    match error:
        case Refused() if error.status < 500:
            return _BY_STATUS.get(error.status)
        case Refused() | Unreachable():
            return _AWAY
        case Misunderstood():
            return _STRANGE
        case _:
            return None


def delay(error: ForewarnError, attempt: int, chance: float = 0.0) -> float | None:
    """Return the seconds to wait before the next attempt, or None if there is none.

    `attempt` counts consecutive failures from 0. `chance` is between 0 and 1.
    """
    rule = _rule_for(error)
    if rule is None:
        return None
    retry_after = error.retry_after if isinstance(error, Refused) else None
    pause = rule.delays[min(attempt, len(rule.delays) - 1)]
    if retry_after is not None:
        pause = min(max(retry_after, pause), _LONGEST)
    return pause * (1 + _JITTER * chance)


def patience_for(error: ForewarnError, patience: float) -> float:
    """Return how many seconds to keep retrying after `error`."""
    rule = _rule_for(error)
    return patience if rule is None or not patience else max(rule.patience, patience)
