"""The live line of a rehearsal, on a pseudoterminal."""

from contextlib import closing

from tests.cli.support.terminals import open_terminal

from forewarn.cli.rehearse.terminal import screen_on


def test_live_line_counts_the_steps_that_have_finished() -> None:
    with open_terminal() as terminal, closing(screen_on(terminal.stream, 10)) as screen:
        screen.begin(2, "web-0 approves it")
        terminal.read_until("web-0 approves it  [#.........] 1/10  ")
