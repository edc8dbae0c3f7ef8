"""Webhook notifier: sends signed CloudEvents 1.0 in JSON through HTTP POST."""

import hmac
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from forewarn import __version__
from forewarn.core.lifecycle.document import notified_events
from forewarn.core.lifecycle.facts import JournalEntry
from forewarn.core.queries.views import Json, entry_view, maintenance_view, rfc3339
from forewarn.errors import Undelivered
from forewarn.notifiers.http_post import PostResponse, Sender, secret_words
from forewarn.notifiers.targets import Target
from forewarn.ports import Notice
from forewarn.protocol.codec import plain_event
from forewarn.protocol.versions import VERSIONS

#: The content type of a message with one event.
CONTENT_TYPE = "application/cloudevents+json; charset=utf-8"

#: The header with the signatures.
SIGNATURE = "Forewarn-Signature"

#: The header with the number of the delivery attempt.
ATTEMPT = "Forewarn-Delivery-Attempt"

_TYPE = "dev.forewarn."
_VERSION = VERSIONS["2020-07-01"]


class Webhook:
    """Posts to a target's URL; any response other than 2xx causes a retry."""

    def __init__(
        self, target: Target, *, source: str, now: Callable[[], datetime]
    ) -> None:
        """Create a notifier for `target`.

        Events have this `source`. `now` returns the real time for signatures.
        """
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
                    for word in secret_words(value)
                ),
            ),
        )

    def close(self) -> None:
        """Abort the current request."""
        self._sender.close()

    def notify(self, notice: Notice) -> None:
        """Post `notice`; raise `Undelivered` unless the response is 2xx."""
        response = self.send(cloud_event(notice, self._source), notice.attempt)
        if not response.is_success:
            raise Undelivered(f"{self._target.shown_url} responded with {response}")

    def send(self, event: Json, attempt: int = 1) -> PostResponse:
        """Sign and post `event`; return the response."""
        body = cloud_event_bytes(event)
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


# --- CloudEvents -------------------------------------------------------------


def cloud_event(notice: Notice, source: str) -> Json:
    """Convert `notice`; the event's ID is the position, the same in every attempt."""
    return envelope(
        id=str(notice.position),
        source=source,
        kind=type(notice.fact).__name__,
        subject=None if notice.maintenance is None else notice.maintenance.label,
        at=notice.fact.at,
        data=_data(notice),
    )


def envelope(
    *,
    id: str,
    source: str,
    kind: str,
    subject: str | None,
    at: datetime,
    data: Json,
) -> Json:
    """Wrap `data` in an event; `subject` is omitted if it is None."""
    return {
        "specversion": "1.0",
        "id": id,
        "source": source,
        "type": _TYPE + kind,
        **({} if subject is None else {"subject": subject}),
        "time": rfc3339(at),
        "datacontenttype": "application/json",
        "data": data,
    }


def cloud_event_bytes(event: Json) -> bytes:
    """Encode `event` as it is sent and signed; lone surrogates become `?`."""
    text = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def _data(notice: Notice) -> Json:
    entry = JournalEntry(position=notice.position, fact=notice.fact)
    maintenance = notice.maintenance
    if maintenance is None:
        return {
            "entry": entry_view(entry, {}),
            "maintenance": None,
            "scheduled_events": [],
        }

    def seen_by(event: str) -> list[str]:
        return [sight.vm for sight in notice.sights if sight.event == event]

    return {
        "entry": entry_view(entry, {maintenance.id: maintenance.label}),
        "maintenance": maintenance_view(maintenance, seen_by),
        "scheduled_events": [
            plain_event(scheduled, _VERSION, _VERSION.date_form)
            for scheduled in notified_events(notice.fact, maintenance)
        ],
    }


# --- signature ---------------------------------------------------------------


def signature(body: bytes, secrets: Sequence[str], at: datetime) -> str:
    """Sign `body` with each of `secrets`; during a rotation there are several."""
    seconds = int(at.timestamp())
    signed = b"%d.%s" % (seconds, body)
    digests = [
        hmac.digest(secret.encode(), signed, "sha256").hex() for secret in secrets
    ]
    return ",".join([f"t={seconds}", *(f"v1={digest}" for digest in digests)])
