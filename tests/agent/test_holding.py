"""A folder is held by one agent, and by nobody who has ended."""

import os
from pathlib import Path

import pytest

from forewarn.agent import holding
from forewarn.errors import CannotStart


def test_who_holds_the_folder_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("a number that is longer than ours")
    held = holding.hold(tmp_path, patience=0)
    assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"
    holding.let_go(held)


def test_an_agent_that_is_about_to_let_go_is_waited_for(tmp_path: Path) -> None:
    first = holding.hold(tmp_path, patience=0)
    second = holding.hold(tmp_path, 60, wait=lambda seconds: holding.let_go(first))
    holding.let_go(second)


def test_a_folder_that_somebody_goes_on_to_hold_is_refused(tmp_path: Path) -> None:
    held = holding.hold(tmp_path, patience=0)
    with pytest.raises(CannotStart, match="in use by another agent, process"):
        holding.hold(tmp_path, patience=0)
    holding.let_go(held)


def test_letting_go_counts_also_where_a_child_has_the_file_open(
    tmp_path: Path,
) -> None:
    held = holding.hold(tmp_path, patience=0)
    childs = os.dup(held)  # as between a fork and the program that follows it
    holding.let_go(held)
    holding.let_go(holding.hold(tmp_path, patience=0))
    os.close(childs)
