"""What a rehearsal takes down, and when."""

from itertools import count
from threading import Event, Thread

from forewarn.server.requests import Request
from forewarn.testing.watching import MARKS, Watching


def test_a_fact_that_is_read_before_it_is_told_was_committed_just_now() -> None:
    watching = Watching(monotonic=count(1.0).__next__)
    watching.mark("drained")
    read_at = watching.committed_at(5)
    assert read_at == 2.0  # after the mark
    watching.committed(5)
    assert watching.committed_at(5) == read_at


def test_a_wait_may_be_longer_than_threads_can_wait() -> None:
    watching, looks, end = Watching(), count(), Event()

    def ring() -> None:
        while not end.is_set():
            watching.ring()

    ringing = Thread(target=ring)
    ringing.start()
    try:
        assert watching.wait(lambda: next(looks) == 200, seconds=1e12)
    finally:
        end.set()
        ringing.join()


def a_request(method: str, path: str = MARKS) -> Request:
    return Request(method=method, path=path, query=())


def test_a_mark_is_posted_and_nothing_else() -> None:
    watching = Watching()
    got = watching.take(a_request("GET"), b"")
    empty = watching.take(a_request("POST"), b" ")
    taken = watching.take(a_request("POST", f"{MARKS}/"), b"drained\n")
    other = watching.take(a_request("POST", "/metadata/scheduledevents"), b"drained")
    assert [each and each.status for each in (got, empty, taken, other)] == [
        405,
        400,
        200,
        None,
    ]
    assert [each.name for each in watching.marks] == ["drained"]


def test_whose_questions_came_is_told_apart() -> None:
    watching = Watching()
    watching.came("web-0", 1.0)
    watching.came("web-1", 2.0)
    watching.came(None, 3.0)
    assert [*watching.came_at("web-1")] == [2.0]
