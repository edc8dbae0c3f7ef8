"""What a rehearsal takes down, and when."""

from itertools import count

from forewarn.testing.watching import Watching


def test_a_fact_that_is_read_before_it_is_told_was_committed_just_now() -> None:
    watching = Watching(monotonic=count(1.0).__next__)
    watching.mark("drained")
    read_at = watching.committed_at(5)
    assert read_at == 2.0  # after the mark
    watching.committed(5)
    assert watching.committed_at(5) == read_at
