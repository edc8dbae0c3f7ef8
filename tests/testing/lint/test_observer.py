"""Observer of a lint: the event of a future version."""

import pytest
from tests.programs.record import start_requests

from forewarn.client.client import Client
from forewarn.server.metadata.transport.requests import Request
from forewarn.testing.lint.observer import FUTURE_EVENT, LintObserver, LintRehearsal


@pytest.mark.parametrize(
    ("event", "status"), [(FUTURE_EVENT, 200), ("another", None)], ids=["it", "another"]
)
def test_event_shown_as_future_can_be_approved_after_its_part(
    event: str, status: int | None
) -> None:
    observer = LintObserver("vm-0")
    observer.future_since = None  # its part is over
    request = Request(
        method="POST",
        path="/metadata/scheduledevents",
        query=(("api-version", "2020-07-01"),),
        has_metadata_header=True,
    )
    response = observer.intercept(request, start_requests(event).encode())
    assert (response and response.status) == status
    assert [record.events for record in observer.requests] == (
        [(event,)] if status else []
    )


def test_future_event_starts_when_it_is_approved() -> None:
    with LintRehearsal() as rehearsal, Client(rehearsal.endpoint) as client:
        rehearsal.observer.future_since = rehearsal.now
        (event,) = client.document().events
        client.approve(event)
        (started,) = client.document().events
    assert (event.status, started.status) == ("Scheduled", "Started")
    assert started.not_before is None
    shown = [(e.scheduled, e.started) for e in rehearsal.observer.shown]
    it = frozenset({FUTURE_EVENT})
    assert shown == [(it, frozenset()), (frozenset(), it)]
