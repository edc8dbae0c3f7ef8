"""Recipes rehearsed as on their pages: the service, the agent, and the hooks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.end_to_end.agents import Agent, an_agent
from tests.end_to_end.program import Program, serving, until
from tests.programs.recipe import RECIPES, HookEnvironment, an_environment

pytestmark = pytest.mark.full

FLEET = '[[vms]]\nname = "node-0"\n'

#: A node that remembers whether it is cordoned, and for which events.
KUBECTL = """\
cd {folder}
case "$1 ${{5-}}" in
    get*) cat cordoned marks ;;
    cordon*) echo cordoned >cordoned ;;
    uncordon*) : >cordoned ;;
    annotate*=*) echo "${{5%%=*}}" >marks ;;
    annotate*) : >marks ;;
    drain*) while [ -e slow ]; do echo >draining && sleep 0.02; done ;;
esac
"""


@pytest.fixture(scope="module")
def fast(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Provide a service on which an hour takes a minute."""
    folder = tmp_path_factory.mktemp("service")
    (folder / "fleet.toml").write_text(FLEET)
    options = ("--clock", "x60", "--store", "memory")
    file, shown = folder / "fleet.toml", "1"  # real seconds
    with serving(folder, *options, fleet=file, FOREWARN_SHOWN_REBOOT=shown) as program:
        yield program


@pytest.fixture
def node(tmp_path: Path) -> HookEnvironment:
    environment = an_environment(tmp_path, "kubernetes/drain.sh")
    environment.write("cordoned", "")
    environment.write("marks", "")
    environment.stub("kubectl", KUBECTL.format(folder=environment.folder))
    return environment


@pytest.fixture
def agent(fast: Program, node: HookEnvironment) -> Iterator[Agent]:
    text = (RECIPES / "kubernetes" / "agent.toml").read_text()
    text = text.replace("/etc/forewarn", str(node.hook.parent))
    text = text.replace('state = "/var/lib/forewarn-agent"', "")
    path = f"{node.folder / 'bin'}:/usr/sbin:/usr/bin:/sbin:/bin"
    folder = node.folder / "agent"
    url = fast.metadata[0]
    with an_agent(folder, url, text, PATH=path, NODE="node-0") as running:
        running.wait_for("began")
        yield running


def announced(program: Program) -> Any:
    return program.service.announce(vms=["node-0"], notice_seconds=7200)


def verbs(environment: HookEnvironment) -> list[str]:
    """Return the verbs of the kubectl calls that change something."""
    commands = [
        call.split() for call in environment.calls() if call.startswith("kubectl ")
    ]
    return [verb for _, verb, *_ in commands if verb != "get"]


def test_a_rehearsed_node_is_drained_approved_and_uncordoned(
    fast: Program, node: HookEnvironment, agent: Agent
) -> None:
    announced(fast)
    agent.wait_for("over")
    steps = ["annotate", "cordon", "drain", "uncordon", "annotate"]
    assert verbs(node) == steps
    entries = agent.entry_kinds()
    assert (
        entries.index("hook-ended") < entries.index("approved") < entries.index("gone")
    )


def test_a_rehearsed_node_is_uncordoned_when_the_event_is_canceled(
    fast: Program, node: HookEnvironment, agent: Agent
) -> None:
    node.write("slow", "")
    maintenance = announced(fast)
    until((node.folder / "draining").exists)
    response = fast.service.request(
        "POST", f"/v1/maintenances/{maintenance['id']}/cancel", {}
    )
    assert response.status == 200, response.body
    agent.wait_for("over")
    assert verbs(node)[-2:] == ["uncordon", "annotate"]
    assert agent.lines("approved") == []
