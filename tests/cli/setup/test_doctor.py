"""Tests of `forewarn doctor`: what it requests, prints and returns."""

import json
from pathlib import Path

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.samples import M1, a_maintenance, page
from tests.cli.support.service import Service, text_reply
from tests.server.support.service import a_service

from forewarn import __version__

Patch = pytest.MonkeyPatch

AGENT = """\
state = "state"
[hooks.drain]
command = ["/bin/true"]
[[rules]]
prepare = ["drain"]
"""
SESSION: dict[str, object] = {
    "name": "ops",
    "role": "operator",
    "group": None,
    "token_expires_at": None,
}


@pytest.fixture(autouse=True)
def home(monkeypatch: Patch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FOREWARN_AGENT_CONFIG", "agent.toml")  # short
    (tmp_path / "agent.toml").write_text(AGENT)
    return tmp_path


@pytest.fixture
def healthy(service: Service) -> Service:
    service.respond("GET", "/readyz", {"status": "ready", "version": __version__})
    service.respond("GET", "/v1/session", SESSION)
    sizes = {"hosts": 1, "groups": 1, "vms": 2, "findings": []}
    service.respond("GET", "/v1/fleet/checks", sizes)
    for path in ("faults", "fleet/limited", "notifiers", "tokens"):
        service.respond("GET", f"/v1/{path}", page())
    return service


def checks(output: str) -> dict[str, str]:
    """Return the level of each check on the lines of `output`."""
    words = [line.split() for line in output.splitlines() if line[:1].strip()]
    return {line[1]: line[0] for line in words if line[0] in ("ok", "problem")}


def test_running_service_is_healthy(
    tmp_path: Path, run: Cli, monkeypatch: Patch
) -> None:
    with a_service(tmp_path, clock="system") as service:
        monkeypatch.setenv("FOREWARN_URL", service.control)
        monkeypatch.setenv("FOREWARN_TOKEN", service.token)
        report = json.loads(run("doctor -o json"))
    levels = {check["check"]: check["level"] for check in report["checks"]}
    assert (report["problems"], "problem" in levels.values()) == (0, False)
    assert levels["clock"] == levels["version"] == levels["notifiers"] == "ok"
    assert "skipped" not in levels.values()


def test_healthy_service_fits_on_one_screen(healthy: Service, run: Cli) -> None:
    healthy.respond("GET", "/v1/overview", page())
    lines = run("doctor").splitlines()
    assert len(lines) <= 20
    assert all(len(line) <= 80 for line in lines)
    assert {line.split()[0] for line in lines[:-2]} == {"ok"}
    assert lines[-1] == "No problems found."


def test_stuck_operation_is_a_problem_with_the_drivers_reason(
    healthy: Service, run: Cli
) -> None:
    stuck = a_maintenance(phase="STARTED", stuck_since="2026-01-01T11:00:00Z")
    item = {"maintenance": stuck, "due": True, "waits": [], "seen": []}
    healthy.respond("GET", "/v1/overview", page(item))
    work = {"kind": "work", "text": "Stuck: the driver failed. Reason: no disk."}
    healthy.respond("GET", f"/v1/maintenances/{M1}/explain", {"waits": [work]})
    output = run("doctor", code=1)
    assert "Reason: no disk." in output
    assert f"\n{' ' * 22}fix: forewarn maintenance retry {M1}\n" in output
    assert output.endswith("\n1 problem.\n")


def test_all_pages_of_operations_are_read_up_to_a_limit(
    healthy: Service, run: Cli
) -> None:
    item = {"maintenance": a_maintenance(), "due": False, "waits": [], "seen": []}
    healthy.respond("GET", "/v1/overview", page(item, following="more"))
    assert "the first 10 operations" in run("doctor")
    pages = [r for r in healthy.requests if r.path == "/v1/overview"]
    assert len(pages) == 10


def test_token_is_not_sent_to_a_foreign_server(service: Service, run: Cli) -> None:
    service.reply_with("GET", "/readyz", text_reply("<html>"))
    output = run("doctor", code=1)
    assert checks(output) == {"connection": "problem", "agent": "ok"}
    assert "is not a forewarn control API" in output
    (request,) = service.requests
    assert "Authorization" not in request.headers


def test_without_a_service_the_agents_file_is_checked(
    home: Path, run: Cli, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("FOREWARN_URL", "http://127.0.0.1:1")
    (home / "agent.toml").write_text("aprove = 1\n")
    output = run("doctor", code=1)
    assert checks(output) == {"connection": "problem", "agent": "problem"}
    assert "agent.toml: line 1: aprove: unknown key" in output
    assert "fix: forewarn agent check --config agent.toml\n" in output


def test_invalid_contexts_are_reported(home: Path, run: Cli) -> None:
    file = home / "config" / "forewarn" / "contexts.toml"
    file.parent.mkdir(parents=True)
    file.write_text("nonsense")
    output = run("doctor", code=1)
    assert checks(output) == {"connection": "problem", "agent": "ok"}
    assert "contexts.toml" in output
