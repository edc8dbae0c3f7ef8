"""When a question is asked again, and why: as data.

A question may be repeated, approvals too: whoever approves twice is answered twice.
What the service finds wrong with a question is wrong the next time, too.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from forewarn.errors import (
    ForewarnError,
    Misunderstood,
    Refused,
    Unreachable,
)

#: The longest pause that a service can ask for, in seconds.
LONGEST = 60.0
#: How much longer a pause may be by chance, so that not all VMs ask at once.
SPREAD = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Why to ask again, and after which pauses."""

    reason: str
    delays: tuple[float, ...] = (0.5, 1.0, 2.0, 5.0, 10.0)  # the last one is repeated
    patience: float = 0.0  # seconds that it may last, however impatient the caller


#: By status. All others below 500 are final.
BY_STATUS: Mapping[int, Rule] = {
    404: Rule(reason="the endpoint may not be up yet", delays=(1.0, 2.0, 5.0, 10.0)),
    410: Rule(
        reason="the service is updated, which takes 70 seconds at most",
        delays=(1.0, 2.0, 5.0),
        patience=70.0,
    ),
    429: Rule(reason="asked too often", delays=(1.0, 2.0, 5.0, 10.0)),
}
SERVER_ERROR = Rule(reason="the service has trouble, or is restarting")
NO_ANSWER = Rule(reason="nobody answers yet, or the network is away")
STRANGE = Rule(
    reason="something else may answer while the service starts",
    delays=(1.0, 2.0, 5.0, 10.0),
)


def rule_for(error: ForewarnError) -> Rule | None:
    """Find why to ask again after `error`; None if that is of no use."""
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
    """Say how many seconds to wait before asking again; None: never.

    `attempt` counts from 0 the failures in a row; `chance` is between 0 and 1.
    """
    rule = rule_for(error)
    if rule is None:
        return None
    wanted = error.retry_after if isinstance(error, Refused) else None
    pause = rule.delays[min(attempt, len(rule.delays) - 1)]
    if wanted is not None:
        pause = min(max(wanted, pause), LONGEST)
    return pause * (1 + SPREAD * chance)


def patience_for(error: ForewarnError, patience: float) -> float:
    """Say for how many seconds such failures are put up with."""
    rule = rule_for(error)
    return patience if rule is None or not patience else max(rule.patience, patience)
