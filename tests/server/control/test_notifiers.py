"""Notifiers in the control API: state, lag and errors of each."""

from collections.abc import Iterator

import pytest
from tests.end_to_end.program import until
from tests.notifiers.receiver import Receiver, a_receiver, a_reply
from tests.server.conftest import Serve
from tests.server.support.service import RunningService

KEYS = {
    "name",
    "kind",
    "url",
    "position",
    "behind",
    "lag_seconds",
    "state",
    "failures",
    "last_error",
    "last_success",
    "next_attempt",
}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with a_receiver() as listening:
        yield listening


def the_one(service: RunningService) -> dict[str, object]:
    page = service.get("/v1/notifiers")
    assert page["next"] is None
    (notifier,) = page["items"]
    assert notifier.keys() == KEYS
    return dict(notifier)


def test_list_is_empty_without_notifiers(service: RunningService) -> None:
    assert service.get("/v1/notifiers") == {"items": [], "next": None}


def test_notifier_without_backlog_is_idle(serve: Serve, receiver: Receiver) -> None:
    service = serve(webhook=[f"{receiver.url}/hook"])
    service.announce(vms=["web-0"])
    receiver.wait_for(lambda: len(receiver.got) == 1)
    until(lambda: the_one(service)["behind"] == 0)
    notifier = the_one(service)
    assert (notifier["kind"], notifier["state"]) == ("webhook", "idle")
    assert notifier["url"] == receiver.url
    assert notifier["position"] == len(service.facts())
    assert (notifier["failures"], notifier["lag_seconds"]) == (0, 0)
    assert notifier["last_success"] == service.get("/v1/clock")["now"]
    assert (notifier["last_error"], notifier["next_attempt"]) == (None, None)


def test_notification_matches_the_api(serve: Serve, receiver: Receiver) -> None:
    service = serve(webhook=[receiver.url])
    maintenance = service.announce(host="host-a")
    receiver.wait_for(lambda: len(receiver.got) == 1)
    event = receiver.got[0].event
    assert event["subject"] == maintenance["id"]
    assert event["data"]["maintenance"] == maintenance
    assert event["data"]["entry"] in service.facts("Announced")
    events = [service.document(vm)["Events"] for vm in ("web-0", "db-0")]
    assert event["data"]["scheduled_events"] in (
        [*events[0], *events[1]],
        [*events[1], *events[0]],
    )


def test_failing_notifier_shows_the_reason_without_secrets(
    serve: Serve, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.reply = a_reply(500, "we are hush-hush-hush closed")
    url = receiver.url.replace("//", "//me:pass-word@") + "/T0/xoxb?key=quiet"
    service = serve(webhook=[url], webhook_secret=["hush-hush-hush"])
    service.announce(vms=["web-0"])
    until(lambda: the_one(service)["failures"] != 0)
    notifier = the_one(service)
    assert notifier["state"] == "waiting"
    assert notifier["next_attempt"] is not None
    assert notifier["last_error"] == (
        f"{receiver.url} responded with 500 Internal Server Error: we are *** closed"
    )
    for text in (repr(notifier), caplog.text, repr(service.facts())):
        for secret in ("hush-hush-hush", "pass-word", "xoxb", "quiet"):
            assert secret not in text
    assert "delivery to" in caplog.text
