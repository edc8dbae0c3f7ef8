"""Sample notices, and webhooks that send them."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tests.core.support.builders import MINUTE, NOON, SECOND, a_maintenance, an_event
from tests.patience import PATIENCE

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Maintenance, Phase
from forewarn.errors import Undelivered
from forewarn.notifiers.targets import Target
from forewarn.notifiers.webhook import Webhook
from forewarn.ports import Notice

#: The time at which messages are sent and signed.
SENT = datetime(2026, 1, 5, 13, tzinfo=UTC)

STARTED = NOON + 15 * MINUTE


def a_story(phase: Phase = Phase.COMPLETED) -> Maintenance:
    """Make a Reboot of one host, shown to two groups."""
    maintenance = a_maintenance(
        "M0",
        host="host-a",
        events=[
            an_event("E0", group="web", resources=("web-0",)),
            an_event("E1", group="db", resources=("db-0", "db-1")),
        ],
        phase=phase,
        started_at=STARTED,
    )
    return replace(
        maintenance,
        number=17,
        ended_at=STARTED + 5 * SECOND,
        description="Host server is undergoing maintenance.",
    )


def a_notice(
    fact: f.Fact | None = None, *, position: int = 17, attempt: int = 1
) -> Notice:
    """Make a notice, by default about the start of maintenance that is long over."""
    fact = fact or f.Started(at=STARTED, maintenance="M0")
    about = getattr(fact, "maintenance", None)
    return Notice(
        position=position,
        fact=fact,
        maintenance=None if about is None else a_story(),
        sights=(f.Sight(event="E1", vm="db-1", at=NOON),),
        attempt=attempt,
    )


def a_webhook(
    url: str,
    *secrets: str,
    timeout: float = PATIENCE,
    headers: dict[str, str] | None = None,
) -> Webhook:
    target = Target(
        name="ops",
        kind="webhook",
        url=url,
        secrets=secrets,
        timeout=timeout,
        headers=headers or {},
    )
    return Webhook(target, source="/forewarn", now=lambda: SENT)


def refusal(webhook: Webhook) -> str:
    """Return why a notice is not delivered, in one line."""
    with pytest.raises(Undelivered) as refused:
        webhook.notify(a_notice())
    assert "\n" not in str(refused.value)
    return str(refused.value)
