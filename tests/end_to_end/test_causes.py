"""Causes on the command line: what the real service announces and explains."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.end_to_end.program import FinishedCommand, run, serving

Forewarn = Callable[..., FinishedCommand]

FLEET = """
hosts = [{ name = "host-a" }, { name = "host-b" }, { name = "bare" }]
groups = [
  { name = "web", kind = "availability-set" },
  { name = "quick", kind = "availability-set", listening = "always", auto_approve = [
    "user-reboot", "user-redeploy",
  ] },
  { name = "batch", kind = "scale-set" },
  { name = "pool", kind = "scale-set", terminate_notice_seconds = 600 },
]
vms = [
  { name = "web-0", group = "web", host = "host-a", update_domain = 0 },
  { name = "web-1", group = "web", host = "host-b", update_domain = 1 },
  { name = "quick-0", group = "quick", host = "host-a" },
  { name = "batch_0", group = "batch" },
  { name = "pool_0", group = "pool" },
  { name = "pool_1", group = "pool", spot = true },
  { name = "lone", host = "host-b" },
]
"""


@pytest.fixture
def forewarn(tmp_path: Path) -> Iterator[Forewarn]:
    """Return the command, connected to a service with a manual clock."""
    fleet = tmp_path / "fleet.toml"
    fleet.write_text(FLEET)
    with serving(tmp_path, "--clock", "manual", fleet=fleet) as program:
        where = {"FOREWARN_URL": program.service.control, "COLUMNS": "80"}

        def command(words: str, *more: str) -> FinishedCommand:
            return run(tmp_path, *words.split(), *more, **where)

        yield command


def output_text(done: FinishedCommand) -> str:
    assert (done.code, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    return " ".join(done.out.split())


def id_in(done: FinishedCommand) -> str:
    return output_text(done).split(" id ")[1].split()[0]


@pytest.mark.full
def test_a_start_without_notice_is_explained(forewarn: Forewarn) -> None:
    for words, explanation in {
        "restart web-0": "group web has never asked for events: web-0 is restarted",
        "redeploy quick-0": "group quick approves redeployments beforehand: quick-0",
        "delete lone": "only scale sets give terminate notice: lone is deleted",
        "delete batch_0": "scale set batch gives no terminate notice: batch_0",
        "delete pool_1": "spot VMs get no terminate notice: pool_1 is deleted",
    }.items():
        out = output_text(forewarn(f"vm {words}"))
        assert "starts at once, without notice" in out
        assert explanation in out


@pytest.mark.full
def test_a_deleted_vm_gets_its_notice_and_then_leaves_the_fleet(
    forewarn: Forewarn,
) -> None:
    out = output_text(forewarn("vm delete pool_0"))
    assert "(in 10m)" in out
    assert "pool_0 leaves the fleet when that is done" in out
    output_text(forewarn("clock advance 11m"))
    assert "pool_0" not in output_text(forewarn("fleet show"))
    entry = "FleetChanged fleet changed automatically: removed VM pool_0"
    assert entry in output_text(forewarn("journal"))


@pytest.mark.full
def test_a_repeated_host_report_changes_nothing(forewarn: Forewarn) -> None:
    output_text(forewarn("host degraded host-a --fails-by 2d"))
    again = output_text(forewarn("host degraded host-a --fails-by 3d"))
    assert again.startswith("nothing new: Redeploy of host-a (quick-0, web-0) is SCHED")
    output_text(forewarn("host failed host-a"))
    again = output_text(forewarn("host failed host-a"))
    assert again.startswith("nothing new: Reboot of host-a (quick-0, web-0) is STARTED")
    output_text(forewarn("clock advance 1m"))
    over = output_text(forewarn("host recovered host-a"))
    assert over.startswith("completed: Reboot of host-a (quick-0, web-0) (")
    over = output_text(forewarn("host recovered host-a"))
    assert over == "nothing to do: host-a is neither degraded nor failed"


@pytest.mark.full
def test_a_recovered_host_has_its_maintenance_canceled(
    forewarn: Forewarn,
) -> None:
    maintenance = id_in(forewarn("host degraded host-b"))
    over = output_text(forewarn("host recovered host-b"))
    assert over == f"canceled: Redeploy of host-b (lone, web-1) ({maintenance})"


@pytest.mark.full
@pytest.mark.parametrize("command", ["maintain", "degraded", "failed"])
def test_an_empty_host_notifies_nobody(forewarn: Forewarn, command: str) -> None:
    message = "bare has no VMs; nobody was told"
    assert output_text(forewarn(f"host {command} bare")) == message


def test_waiting_maintenance_is_explained_and_finished_maintenance_has_a_story(
    forewarn: Forewarn,
) -> None:
    maintenance = id_in(forewarn("host maintain host-b --type reboot"))
    why = output_text(forewarn(f"events explain {maintenance}"))
    assert "group web has not approved event" in why
    assert "group lone has not approved event" in why
    output_text(forewarn("clock advance 16m"))
    story = output_text(forewarn(f"events show {maintenance}"))
    assert "announced by admin: Reboot of host host-b (lone, web-1)" in story
    assert story.endswith("Never approved by lone, web.")


@pytest.mark.full
def test_an_event_whose_vms_have_left_is_shown_as_withdrawn(
    forewarn: Forewarn,
) -> None:
    maintenance = id_in(forewarn("host maintain host-b"))
    output_text(forewarn("vm delete lone"))
    output_text(forewarn("clock advance 1m"))
    shown = output_text(forewarn(f"events show {maintenance}"))
    assert "resources lone status withdrawn: its VMs have left approved not" in shown
    assert "resources web-1 status Scheduled approved not yet" in shown
    facts = output_text(forewarn("journal"))
    left = f"VmsLeft {maintenance} left, and will not be touched: lone"
    assert left in facts
    assert "withdrawn for group lone: all its VMs have left" in facts
