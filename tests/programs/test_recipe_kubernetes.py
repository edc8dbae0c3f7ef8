"""The recipe for Kubernetes, with a stub of kubectl."""

from pathlib import Path

import pytest
from tests.programs.recipe import EVENT, OTHER, HookEnvironment, an_environment

MARK = f"forewarn/{EVENT.lower()}"
DRAIN = "kubectl drain node-0 --ignore-daemonsets --delete-emptydir-data"


@pytest.fixture
def kubernetes(tmp_path: Path) -> HookEnvironment:
    environment = an_environment(tmp_path, "kubernetes/drain.sh", NODE="node-0")
    environment.stub("kubectl", '[ "$1" != get ] || cat node; [ "$1" != "${FAILS-}" ]')
    environment.write("node", "\n")
    return environment


def kubectl(environment: HookEnvironment) -> list[str]:
    """Return the calls of kubectl, except those that read the node's state."""
    commands = [call for call in environment.calls() if call.startswith("kubectl ")]
    return [
        call for call in commands if not call.startswith("kubectl get node node-0 ")
    ]


def test_a_node_is_cordoned_and_drained_in_the_time_left(
    kubernetes: HookEnvironment,
) -> None:
    assert kubernetes.run("prepare", left=62).code == 0
    assert kubectl(kubernetes) == [
        f"kubectl annotate node node-0 --overwrite {MARK}=Reboot",
        "kubectl cordon node-0",
        f"{DRAIN} --timeout=60s",
    ]


def test_a_drain_without_time_left_does_not_wait_forever(
    kubernetes: HookEnvironment,
) -> None:
    kubernetes.run("prepare", left=0)
    assert kubectl(kubernetes)[-1] == f"{DRAIN} --timeout=1s"


@pytest.mark.parametrize(("told", "given"), [("62", "60s"), ("", "59")])
def test_a_drain_gets_the_time_of_the_service_or_ten_minutes(
    kubernetes: HookEnvironment, told: str, given: str
) -> None:
    kubernetes.run(
        "prepare",
        FOREWARN_REAL_SECONDS_LEFT="",
        FOREWARN_SECONDS_LEFT=told,
    )
    assert kubectl(kubernetes)[-1].startswith(f"{DRAIN} --timeout={given}")


@pytest.mark.parametrize("what", ["get", "annotate", "cordon", "drain"])
def test_a_node_is_not_ready_if_anything_fails(
    kubernetes: HookEnvironment, what: str
) -> None:
    assert kubernetes.run("prepare", FAILS=what).code != 0


def test_a_node_cordoned_by_someone_else_is_drained_and_stays_cordoned(
    kubernetes: HookEnvironment,
) -> None:
    kubernetes.write("node", "cordoned\n\n")
    assert kubernetes.run("prepare", left=62).code == 0
    assert kubectl(kubernetes) == [f"{DRAIN} --timeout=60s"]
    assert kubernetes.run("recover").code == 0
    assert kubectl(kubernetes) == []


def test_a_repeated_kubernetes_hook_repeats_its_work(
    kubernetes: HookEnvironment,
) -> None:
    kubernetes.write("node", f"cordoned\n{MARK}\n")
    kubernetes.run("prepare", left=62, FOREWARN_AGAIN="1")
    assert kubectl(kubernetes) == [
        f"kubectl annotate node node-0 --overwrite {MARK}=Reboot",
        "kubectl cordon node-0",
        f"{DRAIN} --timeout=60s",
    ]


@pytest.mark.parametrize("step", ["recover", "undo"])
def test_a_node_cordoned_by_the_hook_is_uncordoned(
    kubernetes: HookEnvironment, step: str
) -> None:
    kubernetes.write("node", f"cordoned\nexample.org/x\n{MARK}\n")
    assert kubernetes.run(step).code == 0
    assert kubectl(kubernetes) == [
        "kubectl uncordon node-0",
        f"kubectl annotate node node-0 {MARK}-",
    ]


def test_a_node_stays_cordoned_for_the_next_event(kubernetes: HookEnvironment) -> None:
    kubernetes.write("node", f"cordoned\n{MARK}\nforewarn/{OTHER.lower()}\n")
    assert kubernetes.run("recover").code == 0
    assert kubectl(kubernetes) == [f"kubectl annotate node node-0 {MARK}-"]


def test_an_unreachable_node_is_uncordoned_by_the_next_attempt(
    kubernetes: HookEnvironment,
) -> None:
    kubernetes.write("node", f"cordoned\n{MARK}\n")
    assert kubernetes.run("recover", FAILS="uncordon").code != 0
    assert kubectl(kubernetes) == ["kubectl uncordon node-0"]  # the mark is still there
