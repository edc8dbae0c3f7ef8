"""The real agent against the real service."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.end_to_end.agents import an_agent
from tests.end_to_end.program import Program, serving, until
from tests.patience import PATIENCE

#: Each test has its own VM, or its own group of two VMs on one host.
VMS = ("done", "failed", "canceled", "dry", "tried", "other", "stopped", "second")
PAIRS = ("leader", "each", "when-ready")
FLEET = "".join(
    [
        *(f'[[vms]]\nname = "{name}"\n' for name in VMS),
        '[[vms]]\nname = "spot"\nspot = true\n',
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
command = "echo $FOREWARN_STEP >> drain; exit $(cat code 2>/dev/null || echo 0)"
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
SOON = {"emergency": True, "reason": "a test", "notice_seconds": 300}  # 5 real seconds
LATE = {"notice_seconds": 4 * 3600}  # 4 real minutes; all tests end before


@pytest.fixture(scope="module")
def fast(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Run a service whose clock is 60 times as fast."""
    with a_service(tmp_path_factory.mktemp("service"), "x60") as program:
        yield program


@contextmanager
def a_service(folder: Path, clock: str) -> Iterator[Program]:
    fleet = folder / "fleet.toml"
    fleet.write_text(FLEET)
    options = ("--clock", clock, "--store", "memory")
    with serving(folder, *options, fleet=fleet, FOREWARN_SHOWN_REBOOT="5") as program:
        yield program


def approvals(program: Program, group: str) -> list[Any]:
    facts = program.service.facts("Approved")
    return [fact for fact in facts if fact["group"] == group]


def endpoint(program: Program, vm: str) -> str:
    return f"{program.metadata[0]}/vm/{vm}"


def maintenance(program: Program, made: Any) -> Any:
    return program.service.get(f"/v1/maintenances/{made['id']}")


def phase(program: Program, made: Any) -> str:
    return str(maintenance(program, made)["phase"])


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
    assert phase(fast, announced) == "COMPLETED"
    assert (agent.folder / "drain").read_text() == "prepare\n"
    assert (agent.folder / "fill").read_text() == "recover\n"


@pytest.mark.full
def test_a_reboot_whose_hook_fails_is_not_approved_and_starts_at_not_before(
    fast: Program, tmp_path: Path
) -> None:
    folder = tmp_path / "vm"
    folder.mkdir()
    (folder / "code").write_text("3")
    with an_agent(folder, endpoint(fast, "failed"), HOOKS + RULE) as agent:
        agent.wait_until_it_reads()
        announced = fast.service.announce(vms=["failed"], **SOON)
        held = agent.wait_for("not-approved")
        agent.wait_for("started")
    assert held["reason"] == "drain: it ended with exit code 3"
    assert agent.lines("approved") == []
    assert approvals(fast, "failed") == []
    current = maintenance(fast, announced)
    assert moment(current["started_at"]) >= moment(current["not_before"])


@pytest.mark.full
def test_a_canceled_event_runs_the_undo_hooks(fast: Program, tmp_path: Path) -> None:
    folder = tmp_path / "vm"
    folder.mkdir()
    (folder / "code").write_text("3")  # so that it is not approved
    with an_agent(folder, endpoint(fast, "canceled"), HOOKS + RULE) as agent:
        announced = fast.service.announce(vms=["canceled"], **LATE)
        agent.wait_for("not-approved")
        body = {"reason": "a test"}
        fast.service.request("POST", f"/v1/maintenances/{announced['id']}/cancel", body)
        gone = agent.wait_for("gone")
        agent.wait_for("over")
    assert gone["canceled"] is True
    assert (agent.folder / "fill").read_text() == "undo\n"


@pytest.mark.full
def test_a_hook_longer_than_the_notice_of_a_preempt_is_ended_in_time(
    tmp_path: Path,
) -> None:
    long = f"""
[hooks.drain]
command = "echo $FOREWARN_SECONDS_LEFT > left; sleep {40 / 6}; echo ended > late"
[[rules]]
name = "evictions"
types = ["Preempt"]
prepare = ["drain"]
"""
    with (
        a_service(tmp_path, "x6") as slow,
        an_agent(tmp_path / "vm", endpoint(slow, "spot"), long) as agent,
    ):
        agent.wait_until_it_reads()
        answer = slow.service.request("POST", "/v1/vms/spot/evict")
        assert answer.status == 201
        (announced,) = answer.json["maintenances"]
        ended = agent.wait_for("hook-ended")
        agent.wait_for("started")
        assert approvals(slow, "spot") == []
    assert (ended["outcome"], ended["reason"]) == ("cut", "its time was up")
    due = moment(announced["not_before"])
    assert 0 < (due - moment(ended["at"])).total_seconds() <= 6
    assert 0 < int((agent.folder / "left").read_text()) <= 25
    assert not (agent.folder / "late").exists()


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
        assert agent_1.lines("not-approved")[-1]["reason"].startswith(
            "leader-0 is named"
        )
        assert [each["approved_elsewhere"] for each in started] == [False, True]


@pytest.mark.full
def test_a_dry_run_runs_nothing_and_approves_nothing(
    fast: Program, tmp_path: Path
) -> None:
    where = endpoint(fast, "dry")
    folder = tmp_path / "vm"
    with an_agent(folder, where, HOOKS + RULE, "--dry-run") as agent:
        agent.wait_until_it_reads()
        fast.service.announce(vms=["dry"], **SOON)
        agent.wait_for("started")
        assert agent.stop() == 0
    assert agent.lines("hook-began", "approved") == []
    assert not (folder / "drain").exists()
    assert approvals(fast, "dry") == []


def test_a_dry_run_does_not_bind_later_agents(fast: Program, tmp_path: Path) -> None:
    where, folder = endpoint(fast, "tried"), tmp_path / "vm"
    never = HOOKS + RULE + 'approve = "never"\n'
    fast.service.announce(vms=["tried"], **LATE)
    with an_agent(folder, where, never, "--dry-run") as tried:
        assert tried.wait_for("not-approved")["reason"] == 'rule "all" says never'
    with an_agent(folder, where, HOOKS + RULE) as agent:
        agent.wait_for("approved")


@pytest.mark.full
def test_an_approval_from_elsewhere_is_noticed(fast: Program, tmp_path: Path) -> None:
    never = HOOKS + RULE + 'approve = "never"\n'
    with an_agent(tmp_path / "vm", endpoint(fast, "other"), never) as agent:
        announced = fast.service.announce(vms=["other"], **LATE)
        agent.wait_for("not-approved")
        fast.service.approve_as("other", announced["events"][0]["id"])
        assert agent.wait_for("started")["approved_elsewhere"] is True


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


@pytest.mark.full
def test_a_second_agent_on_the_same_state_is_refused(
    fast: Program, tmp_path: Path
) -> None:
    where, folder = endpoint(fast, "second"), tmp_path / "vm"
    with an_agent(folder, where, HOOKS + RULE) as first:
        first.wait_for("began")
        with an_agent(folder, where, HOOKS + RULE) as second:
            assert second.process.wait(PATIENCE) == 1
            assert "Traceback" not in second.log
            assert str(first.process.pid) in second.log
