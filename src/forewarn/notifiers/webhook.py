"""Webhooks: notices are posted as signed CloudEvents."""

from collections.abc import Callable, Mapping
from datetime import datetime

from forewarn import __version__
from forewarn.core.views import Json
from forewarn.errors import Undelivered
from forewarn.notifiers.cloud_events import CONTENT_TYPE, cloud_event, written
from forewarn.notifiers.hiding import words_of
from forewarn.notifiers.sending import Answer, Sender
from forewarn.notifiers.signing import SIGNATURE, signature
from forewarn.notifiers.targets import Target
from forewarn.ports import Notice

#: The header that says how often a notice was offered.
ATTEMPT = "Forewarn-Delivery-Attempt"


class Webhook:
    """Posts to the URL of a target; what is not answered 2xx is offered again."""

    def __init__(
        self, target: Target, *, source: str, now: Callable[[], datetime]
    ) -> None:
        """Send from `source`, and sign by the time of `now`, which is real time."""
        self._target = target
        self._source = source
        self._now = now
        self._sender = Sender(
            target.url or "",
            timeout=target.timeout,
            hidden=(
                *target.secrets,
                *(word for each in target.headers.values() for word in words_of(each)),
            ),
        )

    def close(self) -> None:
        """Give up what is under way."""
        self._sender.close()

    def notify(self, notice: Notice) -> None:
        """Post `notice`."""
        answer = self.send(cloud_event(notice, self._source), notice.attempt)
        if not answer.is_success:
            raise Undelivered(f"{self._target.shown_url} answered {answer}")

    def send(self, event: Json, attempt: int = 1) -> Answer:
        """Post `event`, signed; answer what came back."""
        body = written(event)
        return self._sender.post(body, self._headers(body, attempt))

    def _headers(self, body: bytes, attempt: int) -> Mapping[str, str]:
        secrets = self._target.secrets
        made = {
            **self._target.headers,
            "Content-Type": CONTENT_TYPE,
            "User-Agent": f"forewarn/{__version__}",
            "Connection": "close",
            ATTEMPT: str(attempt),
        }
        if secrets:
            made[SIGNATURE] = signature(body, secrets, self._now())
        return made
