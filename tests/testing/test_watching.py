"""What a rehearsal takes down, and when."""

from itertools import count
from threading import Event, Thread

from forewarn.testing.watching import Watching


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
