"""Recording of marks, requests and commits during a rehearsal."""

from itertools import count
from threading import Event, Thread

from forewarn.server.metadata.transport.requests import Request
from forewarn.testing.rehearsal.observer import MARKS, RehearsalObserver


def test_fact_read_before_its_notification_has_the_time_of_the_read() -> None:
    watching = RehearsalObserver(monotonic=count(1.0).__next__)
    watching.mark("drained")
    read_at = watching.committed_at(5)
    assert read_at == 2.0  # after the mark
    watching.committed(5)
    assert watching.committed_at(5) == read_at


def test_wait_may_exceed_the_limit_of_threads() -> None:
    watching, looks, end = RehearsalObserver(), count(), Event()

    def ring() -> None:
        while not end.is_set():
            watching.wake()

    ringing = Thread(target=ring)
    ringing.start()
    try:
        assert watching.wait(lambda: next(looks) == 200, seconds=1e12)
    finally:
        end.set()
        ringing.join()


def a_request(method: str, path: str = MARKS) -> Request:
    return Request(method=method, path=path, query=())


def test_only_a_posted_mark_is_accepted() -> None:
    watching = RehearsalObserver()
    got = watching.intercept(a_request("GET"), b"")
    empty = watching.intercept(a_request("POST"), b" ")
    taken = watching.intercept(a_request("POST", f"{MARKS}/"), b"drained\n")
    other = watching.intercept(
        a_request("POST", "/metadata/scheduledevents"), b"drained"
    )
    assert [item and item.status for item in (got, empty, taken, other)] == [
        405,
        400,
        200,
        None,
    ]
    assert [item.name for item in watching.marks] == ["drained"]


def test_requests_are_kept_per_vm() -> None:
    watching = RehearsalObserver()
    watching.started("web-0", 1.0)
    watching.started("web-1", 2.0)
    watching.started(None, 3.0)
    assert [*watching.arrivals_of("web-1")] == [2.0]
