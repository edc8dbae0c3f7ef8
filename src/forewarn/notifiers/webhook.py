"""Webhook notifier: posts notifications as signed CloudEvents."""

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

#: The header with the number of the delivery attempt.
ATTEMPT = "Forewarn-Delivery-Attempt"


class Webhook:
    """Posts to the URL of a target; anything but a 2xx response is retried."""

    def __init__(
        self, target: Target, *, source: str, now: Callable[[], datetime]
    ) -> None:
        """Send as `source`; `now` returns the real time for signatures."""
        self._target = target
        self._source = source
        self._now = now
        self._sender = Sender(
            target.url or "",
            timeout=target.timeout,
            hidden=(
                *target.secrets,
                *(
                    word
                    for value in target.headers.values()
                    for word in words_of(value)
                ),
            ),
        )

    def close(self) -> None:
        """Abort the current request."""
        self._sender.close()

    def notify(self, notice: Notice) -> None:
        """Post `notice`; raise `Undelivered` unless the response is 2xx."""
        answer = self.send(cloud_event(notice, self._source), notice.attempt)
        if not answer.is_success:
            raise Undelivered(f"{self._target.shown_url} answered {answer}")

    def send(self, event: Json, attempt: int = 1) -> Answer:
        """Post `event`, signed, and return the response."""
        body = written(event)
        return self._sender.post(body, self._headers(body, attempt))

    def _headers(self, body: bytes, attempt: int) -> Mapping[str, str]:
        secrets = self._target.secrets
        headers = {
            **self._target.headers,
            "Content-Type": CONTENT_TYPE,
            "User-Agent": f"forewarn/{__version__}",
            "Connection": "close",
            ATTEMPT: str(attempt),
        }
        if secrets:
            headers[SIGNATURE] = signature(body, secrets, self._now())
        return headers
