"""The recipe for Pacemaker, with stubs of its commands."""

import shutil
from pathlib import Path

import pytest
from tests.programs.recipe import OTHER, HookEnvironment, an_environment

ASKED = (
    "crm_attribute --node node-0 --lifetime forever --name standby --query --quiet"
    " --default off"
)
#: The two possible shells, and their command to end standby.
SHELLS = {"pcs": "unstandby", "crm": "online"}


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    if request.param == "crm" and shutil.which("pcs") is not None:
        pytest.skip("pcs is installed, and is preferred")
    return str(request.param)


@pytest.fixture
def pacemaker(tmp_path: Path, shell: str) -> HookEnvironment:
    marks = str(tmp_path / "marks")
    environment = an_environment(tmp_path, "pacemaker/standby.sh", MARKS=marks)
    environment.write("standby", "off\n")
    environment.stub("crm_attribute", "cat standby")
    environment.stub("crm_node", "echo node-0")
    environment.stub("crm_resource", "exit ${WAITED-0}")
    environment.stub(shell, 'echo "${2/standby/on}" >standby; exit ${SHELL_ENDS-0}')
    return environment


def run_hook(environment: HookEnvironment, step: str, **more: str) -> int:
    """Run the hook and return its exit code."""
    return environment.run(step, left=62, **more).code


def test_a_node_goes_to_standby_and_waits_until_the_cluster_has_settled(
    pacemaker: HookEnvironment, shell: str
) -> None:
    assert run_hook(pacemaker, "prepare") == 0
    assert pacemaker.calls() == [
        "crm_node -n",
        ASKED,
        f"{shell} node standby node-0",
        "crm_resource --wait --timeout 60s",
    ]


@pytest.mark.parametrize("what", ["WAITED", "SHELL_ENDS"])
def test_a_cluster_that_does_not_settle_is_not_ready(
    pacemaker: HookEnvironment, what: str
) -> None:
    assert run_hook(pacemaker, "prepare", **{what: "1"}) != 0


@pytest.mark.parametrize("step", ["recover", "undo"])
def test_a_node_put_on_standby_by_the_hook_comes_back(
    pacemaker: HookEnvironment, shell: str, step: str
) -> None:
    run_hook(pacemaker, "prepare")
    pacemaker.calls()
    assert run_hook(pacemaker, step, SHELL_ENDS="1") != 0  # the cluster is not up yet
    assert run_hook(pacemaker, step) == 0
    back = f"{shell} node {SHELLS[shell]} node-0"
    assert pacemaker.calls() == ["crm_node -n", back] * 2
    assert run_hook(pacemaker, step) == 0
    assert pacemaker.calls() == ["crm_node -n"]


def test_a_node_put_on_standby_by_someone_else_stays_on_standby(
    pacemaker: HookEnvironment,
) -> None:
    pacemaker.write("standby", "on\n")
    assert run_hook(pacemaker, "prepare") == 0
    assert run_hook(pacemaker, "recover") == 0
    waited = "crm_resource --wait --timeout 60s"
    assert pacemaker.calls() == ["crm_node -n", ASKED, waited, "crm_node -n"]


def test_a_repeated_pacemaker_hook_repeats_its_work(
    pacemaker: HookEnvironment, shell: str
) -> None:
    run_hook(pacemaker, "prepare")
    pacemaker.calls()
    assert run_hook(pacemaker, "prepare", FOREWARN_AGAIN="1") == 0
    assert f"{shell} node standby node-0" in pacemaker.calls()


def test_a_node_stays_on_standby_for_the_next_event(
    pacemaker: HookEnvironment, shell: str
) -> None:
    run_hook(pacemaker, "prepare")
    run_hook(pacemaker, "prepare", event=OTHER)
    pacemaker.calls()
    assert run_hook(pacemaker, "recover") == 0
    assert pacemaker.calls() == ["crm_node -n"]
    assert run_hook(pacemaker, "recover", event=OTHER) == 0
    assert pacemaker.calls()[1:] == [f"{shell} node {SHELLS[shell]} node-0"]
