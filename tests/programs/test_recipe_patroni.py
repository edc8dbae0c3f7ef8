"""The recipe for PostgreSQL with Patroni, with a stub of patronictl."""

from pathlib import Path

import pytest
from tests.programs.installed import needs
from tests.programs.recipe import HookEnvironment, an_environment

pytestmark = needs("jq")

LIST = "patronictl -c /etc/patroni/config.yml list --format json"
SWITCH = "patronictl -c /etc/patroni/config.yml switchover main --leader db-0 --force"


@pytest.fixture
def patroni(tmp_path: Path) -> HookEnvironment:
    environment = an_environment(tmp_path, "patroni/switchover.sh", MEMBER="db-0")
    leads = members("db-1", "db-0")
    environment.stub(
        "patronictl",
        f"case $3 in list) cat members ;; *) ${{SWITCHES-true}} && "
        f"cat >members <<<'{leads}' ;; esac",
    )
    environment.write("members", members("db-0", "db-1"))
    return environment


def members(leader: str, replica: str, state: str = "running") -> str:
    """Return the output of `patronictl list`."""
    first = f'{{"Cluster": "main", "Member": "{leader}", "Role": "Leader"'
    second = f'{{"Cluster": "main", "Member": "{replica}", "Role": "Replica"'
    return f'[{first}, "State": "{state}"}}, {second}, "State": "streaming"}}]'


def test_a_leader_hands_over(patroni: HookEnvironment) -> None:
    assert patroni.run("prepare").code == 0
    assert patroni.calls() == [LIST, SWITCH, LIST]


def test_a_replica_leaves_the_leader_alone(patroni: HookEnvironment) -> None:
    patroni.write("members", members("db-1", "db-0"))
    assert patroni.run("prepare").code == 0
    assert set(patroni.calls()) == {LIST}


def test_a_refused_switchover_is_a_failure(patroni: HookEnvironment) -> None:
    assert patroni.run("prepare", SWITCHES="false").code != 0
    assert patroni.calls() == [LIST, SWITCH]


def test_a_cluster_without_a_leader_at_the_deadline_is_not_ready(
    patroni: HookEnvironment,
) -> None:
    patroni.write("members", members("db-1", "db-0", "starting"))
    ended = patroni.run("prepare", left=3)
    # 124: a busy machine takes longer to list the members than there is time.
    assert (ended.code, ended.err) in [(1, "the leader is still unknown\n"), (124, "")]


def test_a_member_without_a_list_is_not_ready(patroni: HookEnvironment) -> None:
    patroni.stub("patronictl", "exit 1")
    assert patroni.run("prepare").code != 0


def test_a_member_returns_by_itself(patroni: HookEnvironment) -> None:
    assert patroni.run("recover").code == 0
    assert patroni.calls() == []
