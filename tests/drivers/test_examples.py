"""Examples: they work, and the pages show them word for word."""

import os
from pathlib import Path

import pytest
from tests.drivers.scripts import a_work, output, reports, write_script
from tests.patience import PATIENCE

from forewarn.drivers.script import ScriptDriver
from forewarn.ports import Report
from forewarn.protocol.types import EventType

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PAGES = ROOT / "docs" / "how-to"

SHOWN = {
    "scripts/libvirt.sh": "run-a-script.md",
    "scripts/libvirt.py": "run-a-script.md",
    "scripts/maintain-libvirt.sh": "maintain-a-host.md",
    "scripts/maintain-proxmox.py": "maintain-a-host.md",
    "scripts/maintain-openstack.py": "maintain-a-host.md",
    "scripts/moved.sh": "maintain-a-host.md",
    "driver/pyproject.toml": "write-a-driver.md",
    "driver/forewarn_driver_http.py": "write-a-driver.md",
}

VIRSH = """\
echo "$@" >>{trace}
test "$2" != broken || {{ echo "error: domain $2 is gone" >&2; exit 1; }}
"""


@pytest.mark.parametrize("example", SHOWN)
def test_the_page_shows_the_example_word_for_word(example: str) -> None:
    code = (EXAMPLES / example).read_text()
    assert f"\n{code}```\n" in (PAGES / SHOWN[example]).read_text()


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Log the calls of a fake virsh that does nothing."""
    trace = tmp_path / "trace"
    write_script(tmp_path / "virsh", VIRSH.format(trace=trace))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return trace


@pytest.mark.parametrize("name", ["libvirt.sh", "libvirt.py"])
def test_the_script_acts_on_every_vm(trace: Path, name: str) -> None:
    driver = ScriptDriver([str(EXAMPLES / "scripts" / name)], timeout=PATIENCE)
    results = reports(driver.carry_out(a_work()))
    assert [(report.vm, report.failed) for report in results] == [
        ("web-0", False),
        ("web-1", False),
    ]
    assert trace.read_text() == "reset web-0\nreset web-1\n"


@pytest.mark.parametrize("name", ["libvirt.sh", "libvirt.py"])
def test_a_freeze_of_unknown_duration_ends(trace: Path, name: str) -> None:
    driver = ScriptDriver([str(EXAMPLES / "scripts" / name)], timeout=PATIENCE)
    work = a_work("web-0", type=EventType.FREEZE)
    assert reports(driver.carry_out(work)) == [Report(vm="web-0")]
    assert trace.read_text() == "suspend web-0\nresume web-0\n"


def test_sh_example_stops_at_the_first_failure(trace: Path) -> None:
    driver = ScriptDriver([str(EXAMPLES / "scripts" / "libvirt.sh")], timeout=PATIENCE)
    results = [*driver.carry_out(a_work("broken", "web-1"))]
    assert {report.detail for report in reports(results)} == {
        "exit code 1: error: domain broken is gone"
    }
    assert output(results).startswith("Reboot, attempt 1: Host server is")
    assert trace.read_text() == "reset broken\n"


def test_python_example_continues_after_a_failure(trace: Path) -> None:
    driver = ScriptDriver([str(EXAMPLES / "scripts" / "libvirt.py")], timeout=PATIENCE)
    results = reports(driver.carry_out(a_work("broken", "web-1")))
    assert results == [
        Report(vm="broken", failed=True, detail="error: domain broken is gone"),
        Report(vm="web-1"),
    ]
    assert trace.read_text() == "reset broken\nreset web-1\n"
