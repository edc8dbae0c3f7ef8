"""Members of a process group, read from /proc."""

import os
from collections.abc import Iterator
from subprocess import Popen

import pytest

from forewarn import processes


@pytest.fixture
def leader() -> Iterator[int]:
    with Popen(["sleep", "20"], process_group=0) as process:
        yield process.pid
        process.kill()


def test_a_group_has_its_living_members_without_its_leader(leader: int) -> None:
    with Popen(["sleep", "20"], process_group=leader) as member:
        assert [*processes.group_members(leader)] == [member.pid]
        member.kill()


def test_a_zombie_is_not_a_member(leader: int) -> None:
    with Popen(["true"], process_group=leader) as member:
        os.waitid(os.P_PID, member.pid, os.WEXITED | os.WNOWAIT)
        assert [*processes.group_members(leader)] == []
