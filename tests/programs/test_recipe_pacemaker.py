"""The recipe for Pacemaker, with stubs of its commands."""

import shutil
from pathlib import Path

import pytest
from tests.programs.recipe import OTHER, HookEnvironment, a_stage

ASKED = (
    "crm_attribute --node node-0 --lifetime forever --name standby --query --quiet"
    " --default off"
)
#: The two possible shells, and their command to end standby.
SHELLS = {"pcs": "unstandby", "crm": "online"}


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    if request.param == "crm" and shutil.which("pcs") is not None:
        pytest.skip("pcs is here, and is taken first")
    return str(request.param)


@pytest.fixture
def pacemaker(tmp_path: Path, shell: str) -> HookEnvironment:
    stage = a_stage(tmp_path, "pacemaker/standby.sh")
    stage.write("standby", "off\n")
    stage.stub("crm_attribute", "cat standby")
    stage.stub("crm_node", "echo node-0")
    stage.stub("crm_resource", "exit ${WAITED-0}")
    stage.stub(shell, 'echo "${2/standby/on}" >standby; exit ${SHELL_ENDS-0}')
    return stage


def on(stage: HookEnvironment, step: str, **more: str) -> int:
    """Run the hook with marks in the folder and return its exit code."""
    return stage.run(step, left=62, MARKS=str(stage.folder / "marks"), **more).code


def test_a_node_goes_to_standby_and_waits_until_the_cluster_has_settled(
    pacemaker: HookEnvironment, shell: str
) -> None:
    assert on(pacemaker, "prepare") == 0
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
    assert on(pacemaker, "prepare", **{what: "1"}) != 0


@pytest.mark.parametrize("step", ["recover", "undo"])
def test_a_node_put_on_standby_by_the_hook_comes_back(
    pacemaker: HookEnvironment, shell: str, step: str
) -> None:
    on(pacemaker, "prepare")
    pacemaker.calls()
    assert on(pacemaker, step, SHELL_ENDS="1") != 0  # the cluster is not up yet
    assert on(pacemaker, step) == 0
    back = f"{shell} node {SHELLS[shell]} node-0"
    assert pacemaker.calls() == ["crm_node -n", back] * 2
    assert on(pacemaker, step) == 0
    assert pacemaker.calls() == ["crm_node -n"]


def test_a_node_put_on_standby_by_somebody_else_stays_so(
    pacemaker: HookEnvironment,
) -> None:
    pacemaker.write("standby", "on\n")
    assert on(pacemaker, "prepare") == 0
    assert on(pacemaker, "recover") == 0
    waited = "crm_resource --wait --timeout 60s"
    assert pacemaker.calls() == ["crm_node -n", ASKED, waited, "crm_node -n"]


def test_a_repeated_pacemaker_hook_repeats_its_work(
    pacemaker: HookEnvironment, shell: str
) -> None:
    on(pacemaker, "prepare")
    pacemaker.calls()
    assert on(pacemaker, "prepare", FOREWARN_AGAIN="1") == 0
    assert f"{shell} node standby node-0" in pacemaker.calls()


def test_a_node_stays_on_standby_for_the_next_event(
    pacemaker: HookEnvironment, shell: str
) -> None:
    on(pacemaker, "prepare")
    on(pacemaker, "prepare", event=OTHER)
    pacemaker.calls()
    assert on(pacemaker, "recover") == 0
    assert pacemaker.calls() == ["crm_node -n"]
    assert on(pacemaker, "recover", event=OTHER) == 0
    assert pacemaker.calls()[1:] == [f"{shell} node {SHELLS[shell]} node-0"]
