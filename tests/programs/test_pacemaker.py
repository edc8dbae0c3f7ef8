"""Pacemaker's agents as packaged by Debian, with stub cluster commands.

With azure-events-az a node approves its own event once it has moved its work away;
azure-events leaves the approval to the other node.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.programs.deployment import Deployment
from tests.programs.installed import package_file
from tests.programs.record import approval, vms_that_saw

pytestmark = pytest.mark.full

COMMANDS = Path(__file__).parent / "cluster"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Two nodes that run `agent`, and the cluster's attributes."""

    deployment: Deployment
    agent: str
    folder: Path

    def monitor(self, node: str) -> str:
        """Run the agent's monitor action on `node` and return its log."""
        ocf = package_file("resource-agents", "usr/lib/ocf")
        log = self.folder / "log"
        log.write_text("")
        done = self.deployment.on(
            node,
            sys.executable,
            str(ocf / "resource.d" / "heartbeat" / self.agent),
            "monitor",
            PATH=f"{COMMANDS}:{os.environ['PATH']}",
            CLUSTER=str(self.folder),
            OCF_ROOT=str(ocf),
            OCF_RESOURCE_INSTANCE="rsc",
            HA_LOGFILE=str(log),
            HA_debug="1",
        )
        assert done.code == 0, done.err + log.read_text()
        return log.read_text()

    def attribute(self, node: str, name: str) -> str | None:
        """Return an attribute of the cluster, or None if it is not set."""
        file = self.folder / f"{node}.{name}"
        return file.read_text().strip() if file.exists() else None

    def state(self, node: str) -> str | None:
        """Return the agent's state of `node`, or None if it has none."""
        return self.attribute(node, f"{self.agent}_curNodeState")


def test_a_node_moves_its_work_away_and_approves(
    deployment: Deployment, tmp_path: Path
) -> None:
    cluster = Cluster(deployment=deployment, agent="azure-events-az", folder=tmp_path)
    cluster.monitor("db-0")
    cluster.monitor("db-1")
    assert cluster.attribute("cluster", "hostName_db-0") == "db-0"
    assert cluster.state("db-0") is None

    event = deployment.announce("reboot", "db-0")
    cluster.monitor("db-1")
    assert cluster.state("db-1") is None  # it is not affected
    assert "put node standby" in cluster.monitor("db-0")
    assert cluster.state("db-0") == "STOPPING"
    assert cluster.attribute("db-0", "#health-azure") == "-1000000"
    assert approval(deployment.facts(), event) is None

    assert event in cluster.monitor("db-0")
    assert cluster.state("db-0") == "IN_EVENT"
    facts = deployment.facts()
    assert approval(facts, event) == ("db-0", "metadata")
    assert vms_that_saw(facts, event) == ["db-1", "db-0"]

    cluster.monitor("db-0")
    assert cluster.state("db-0") == "IN_EVENT"
    deployment.forewarn("clock", "advance", "5s")
    assert "put node online" in cluster.monitor("db-0")
    assert cluster.state("db-0") == "AVAILABLE"
    assert cluster.attribute("db-0", "#health-azure") == "0"


def test_the_other_node_approves(deployment: Deployment, tmp_path: Path) -> None:
    cluster = Cluster(deployment=deployment, agent="azure-events", folder=tmp_path)
    cluster.monitor("db-0")
    cluster.monitor("db-1")
    event = deployment.announce("redeploy", "db-0")
    cluster.monitor("db-0")
    assert cluster.attribute("db-0", "standby") == "on"
    assert approval(deployment.facts(), event) is None

    assert event in cluster.monitor("db-1")
    assert cluster.state("db-0") == "IN_EVENT"
    assert approval(deployment.facts(), event) == ("db-1", "metadata")

    deployment.forewarn("clock", "advance", "5s")
    cluster.monitor("db-0")
    assert cluster.state("db-0") == "AVAILABLE"
    assert cluster.attribute("db-0", "standby") == "off"


@pytest.mark.parametrize("agent", ["azure-events", "azure-events-az"])
def test_a_type_that_the_cluster_does_not_handle_is_ignored(
    deployment: Deployment, tmp_path: Path, agent: str
) -> None:
    cluster = Cluster(deployment=deployment, agent=agent, folder=tmp_path)
    event = deployment.announce("freeze", "db-1")
    cluster.monitor("db-1")
    cluster.monitor("db-0")
    assert (cluster.state("db-0"), cluster.state("db-1")) == (None, None)
    assert approval(deployment.facts(), event) is None
