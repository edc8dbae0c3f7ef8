"""State folder lock: held by one agent, and released when it ends."""

import os
from pathlib import Path

from forewarn.agent.storage import store


def test_the_lock_names_its_holder(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("a number that is longer than ours")
    held = store.lock_folder(tmp_path, timeout=0)
    assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"
    store.unlock_folder(held)


def test_a_lock_about_to_be_released_is_waited_for(tmp_path: Path) -> None:
    first = store.lock_folder(tmp_path, timeout=0)
    second = store.lock_folder(
        tmp_path, 60, wait=lambda seconds: store.unlock_folder(first)
    )
    store.unlock_folder(second)


def test_releasing_works_even_if_a_child_has_the_file_open(
    tmp_path: Path,
) -> None:
    held = store.lock_folder(tmp_path, timeout=0)
    childs = os.dup(held)  # as between fork and exec
    store.unlock_folder(held)
    store.unlock_folder(store.lock_folder(tmp_path, timeout=0))
    os.close(childs)
