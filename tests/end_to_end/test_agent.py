"""The real agent against the real service."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.end_to_end.agents import Agent, an_agent
from tests.end_to_end.program import Program, run, serving, until

#: Each test has its own VM, or its own group of two VMs on one host.
VMS = ("done", "tried", "stopped")
PAIRS = ("leader", "each", "when-ready")
FLEET = "".join(
    [
        *(f'[[vms]]\nname = "{name}"\n' for name in VMS),
        *(
            f"""
[[hosts]]
name = "{name}"
[[groups]]
name = "{name}"
kind = "availability-set"
[[vms]]
name = "{name}-0"
group = "{name}"
host = "{name}"
update_domain = 0
[[vms]]
name = "{name}-1"
group = "{name}"
host = "{name}"
update_domain = 0
"""
            for name in PAIRS
        ),
    ]
)

#: Every hook appends its step to a file named after the hook.
HOOKS = """
[hooks.drain]
command = "echo $FOREWARN_STEP >> drain; echo all is drained"
[hooks.fill]
command = "echo $FOREWARN_STEP >> fill"
"""
RULE = """
[[rules]]
name = "all"
prepare = ["drain"]
recover = ["fill"]
undo = ["fill"]
"""
LATE = {"notice_seconds": 4 * 3600}  # 4 real minutes; all tests end before


@pytest.fixture(scope="module")
def fast(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Run a service whose clock is 60 times as fast."""
    folder = tmp_path_factory.mktemp("service")
    options = ("--clock", "x60", "--store", "memory")
    with serving(folder, *options, fleet=FLEET, FOREWARN_SHOWN_REBOOT="5") as program:
        yield program


def approvals(program: Program, group: str) -> list[Any]:
    facts = program.service.facts("Approved")
    return [fact for fact in facts if fact["group"] == group]


def endpoint(program: Program, vm: str) -> str:
    return f"{program.metadata[0]}/vm/{vm}"


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_a_reboot_is_approved_when_its_hook_has_succeeded(
    fast: Program, tmp_path: Path
) -> None:
    with an_agent(tmp_path / "vm", endpoint(fast, "done"), HOOKS + RULE) as agent:
        announced = fast.service.announce(vms=["done"], **LATE)
        agent.wait_for("over")
        kinds = [kind for kind in agent.entry_kinds() if kind != "approved"]
        assert kinds == [
            "seen",
            "decided",
            "hook-began",
            "hook-ended",
            "approval-sent",
            "started",
            "gone",
            "hook-began",
            "hook-ended",
            "over",
        ]
        (approved,) = approvals(fast, "done")
        (ended, recovered) = agent.lines("hook-ended")
    assert (ended["step"], ended["outcome"]) == ("prepare", "done")
    assert (recovered["step"], recovered["outcome"]) == ("recover", "done")
    assert moment(approved["at"]) >= moment(ended["at"])
    assert (approved["by"], approved["via"]) == ("done", "metadata")
    path = f"/v1/maintenances/{announced['id']}"
    assert fast.service.get(path)["phase"] == "COMPLETED"
    assert (agent.folder / "drain").read_text() == "prepare\n"
    assert (agent.folder / "fill").read_text() == "recover\n"
    check_report(tmp_path, agent, announced["events"][0]["id"])


def check_report(folder: Path, agent: Agent, event: str) -> None:
    """Check that the agent's report contains the whole story of `event`."""
    done = run(folder, "agent", "report", event[:8], "--state", str(agent.state))
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Reboot of done\n\n  event        {event}\n")
    for part in (
        'rule "all" matches',
        "prepare: drain succeeded",
        "| all is drained",
        "approved; the service returned 200",
        "This agent approved it",
        "succeeded.",
    ):
        assert part in done.out


@pytest.mark.full
@pytest.mark.parametrize(
    ("together", "posts"), [("leader", 1), ("each", 2), ("when-ready", 2)]
)
def test_two_agents_approve_a_common_event_once(
    fast: Program, tmp_path: Path, together: str, posts: int
) -> None:
    """Readiness hooks find out from one file per VM whether all are ready."""
    ready = f"""
[hooks.here]
command = "touch {tmp_path}/$FOREWARN_NAME"
[hooks.all-here]
command = "test -e {tmp_path}/{together}-0 -a -e {tmp_path}/{together}-1"
[[rules]]
name = "all"
prepare = ["here"]
together = "{together}"
ready = "all-here"
"""
    first = an_agent(tmp_path / "vm-0", endpoint(fast, f"{together}-0"), ready)
    second = an_agent(tmp_path / "vm-1", endpoint(fast, f"{together}-1"), ready)
    with first as agent_0, second as agent_1:
        agent_0.wait_until_it_reads()
        agent_1.wait_until_it_reads()
        fast.service.announce(host=together, **LATE)
        started = [each.wait_for("started") for each in (agent_0, agent_1)]
        until(lambda: len(agent_0.lines("approved") + agent_1.lines("approved")) >= 1)
    assert len(approvals(fast, together)) == 1
    assert len(agent_0.lines("approved") + agent_1.lines("approved")) <= posts
    if together == "leader":
        assert agent_0.lines("approved") != []
        assert agent_1.lines("approved") == []
        for line in agent_1.lines("not-approved"):  # none if it prepares for too long
            assert line["reason"].startswith("leader-0 is the first VM")
        assert [each["approved_elsewhere"] for each in started] == [False, True]


def test_a_dry_run_does_not_bind_later_agents(fast: Program, tmp_path: Path) -> None:
    where, folder = endpoint(fast, "tried"), tmp_path / "vm"
    never = HOOKS + RULE + 'approve = "never"\n'
    fast.service.announce(vms=["tried"], **LATE)
    with an_agent(folder, where, never, "--dry-run") as tried:
        assert (
            tried.wait_for("not-approved")["reason"]
            == 'rule "all" has approve = "never"'
        )
    with an_agent(folder, where, HOOKS + RULE) as agent:
        agent.wait_for("approved")


def test_a_stopped_agent_ends_its_hooks_and_repeats_them_after_a_restart(
    fast: Program, tmp_path: Path
) -> None:
    folder = tmp_path / "vm"
    twice = """
[hooks.drain]
command = "echo ${FOREWARN_AGAIN:-0} >> drain; test 1 = ${FOREWARN_AGAIN:-0} || sleep 9"
[[rules]]
name = "all"
prepare = ["drain"]
"""
    where = endpoint(fast, "stopped")
    with an_agent(folder, where, twice) as agent:
        fast.service.announce(vms=["stopped"], **LATE)
        until(lambda: (folder / "drain").exists())
        assert agent.stop() == 0
    with an_agent(folder, where, twice) as agent:
        agent.wait_for("approved")
    assert (folder / "drain").read_text() == "0\n1\n"
