"""The progress line, on a pseudoterminal."""

from contextlib import closing
from io import StringIO

import pytest
from tests.cli.support.terminals import ERASE, open_terminal

from forewarn.cli.progress import ProgressLine


@pytest.mark.parametrize("width", [5, 20, 40, 80])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    with open_terminal(width) as terminal:
        with closing(ProgressLine(terminal.stream, "w" * 200, 12, delay=0)) as line:
            line.update(done=10)
            terminal.read_until(ERASE)
        lines = terminal.read().split(ERASE)
    assert 0 < max(map(len, lines)) < width


def test_line_shows_what_is_done_and_is_erased_at_the_end() -> None:
    with open_terminal() as terminal:
        line = ProgressLine(terminal.stream, "starting", 4, delay=0)
        line.update("reading", done=2)
        terminal.read_until("reading  [#####.....] 2/4  ")
        line.close()
        assert terminal.read().endswith(ERASE)


def test_nothing_is_shown_without_a_terminal() -> None:
    stream = StringIO()
    ProgressLine(stream, "reading", delay=0).close()
    assert stream.getvalue() == ""


def test_nothing_is_shown_on_a_terminal_that_cannot_erase_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    with open_terminal() as terminal:
        line = ProgressLine(terminal.stream, "reading", delay=0)
        line.close()
        assert terminal.read() == ""
