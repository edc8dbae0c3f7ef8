"""Observer of a lint: the event of a future version."""

import pytest
from tests.programs.record import start_requests

from forewarn.server.metadata.transport.requests import Request
from forewarn.testing.lint.observer import FUTURE_EVENT, LintObserver


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
