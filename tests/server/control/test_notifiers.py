"""Who is notified, over the API."""

from collections.abc import Iterator

import pytest
from tests.end_to_end.program import until
from tests.notifiers.receiver import Receiver, a_receiver, answering
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
    with a_receiver() as made:
        yield made


def the_one(service: RunningService) -> dict[str, object]:
    page = service.get("/v1/notifiers")
    assert page["next"] is None
    (found,) = page["items"]
    assert found.keys() == KEYS
    return dict(found)


def test_where_nobody_is_told_the_list_is_empty(service: RunningService) -> None:
    assert service.get("/v1/notifiers") == {"items": [], "next": None}


def test_a_token_is_needed(service: RunningService) -> None:
    assert service.ask("GET", "/v1/notifiers", Authorization="").status == 401


def test_whoever_is_told_everything_is_idle(serve: Serve, receiver: Receiver) -> None:
    service = serve(webhook=[f"{receiver.url}/hook"])
    service.announce(vms=["web-0"])
    receiver.wait_for(lambda: len(receiver.got) == 1)
    until(lambda: the_one(service)["behind"] == 0)
    found = the_one(service)
    assert (found["kind"], found["state"]) == ("webhook", "idle")
    assert found["url"] == f"{receiver.url}/hook"
    assert found["position"] == len(service.facts())
    assert (found["failures"], found["lag_seconds"]) == (0, 0)
    assert found["last_success"] == service.get("/v1/clock")["now"]
    assert (found["last_error"], found["next_attempt"]) == (None, None)


def test_what_is_sent_is_what_the_api_shows(serve: Serve, receiver: Receiver) -> None:
    service = serve(webhook=[receiver.url])
    made = service.announce(host="host-a")
    receiver.wait_for(lambda: len(receiver.got) == 1)
    event = receiver.got[0].event
    assert event["subject"] == made["id"]
    assert event["data"]["maintenance"] == made
    assert event["data"]["entry"] in service.facts("Announced")
    shown = [service.document(vm)["Events"] for vm in ("web-0", "db-0")]
    assert event["data"]["scheduled_events"] in (
        [*shown[0], *shown[1]],
        [*shown[1], *shown[0]],
    )


def test_whoever_refuses_is_shown_with_the_reason_and_without_secrets(
    serve: Serve, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.reply = answering(500, "we are hush-hush-hush closed")
    url = receiver.url.replace("//", "//me:pass-word@") + "/hook?key=quiet"
    service = serve(webhook=[url], webhook_secret=["hush-hush-hush"])
    service.announce(vms=["web-0"])
    until(lambda: the_one(service)["failures"] != 0)
    found = the_one(service)
    assert found["state"] == "waiting"
    assert found["next_attempt"] is not None
    assert found["last_error"] == (
        f"{receiver.url}/hook answered 500 Internal Server Error: we are *** closed"
    )
    for shown in (repr(found), caplog.text, repr(service.facts())):
        for secret in ("hush-hush-hush", "pass-word", "quiet"):
            assert secret not in shown
    assert "was not told" in caplog.text
