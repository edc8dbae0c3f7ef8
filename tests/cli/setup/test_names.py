"""Tests of the names that the Tab key completes."""

import json
import os
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.samples import a_maintenance, a_vm, page
from tests.cli.support.service import Service
from tests.patience import PATIENCE

from forewarn.cli import contexts
from forewarn.cli.contexts import ServiceContext, ServiceContexts

Patch = pytest.MonkeyPatch

VMS = page(*map(a_vm, ("db-0", "web-0", "web-1", "WEB-2")))


@pytest.fixture(autouse=True)
def _home(monkeypatch: Patch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.mark.parametrize(
    ("prefix", "shown"),
    [
        ("web", ["web-0", "web-1", "WEB-2"]),
        ("WEB-0", ["web-0"]),
        ("db-0,web", ["db-0,web-0", "db-0,web-1", "db-0,WEB-2"]),
        ("WEB-0,web", ["WEB-0,web-1", "WEB-0,WEB-2"]),
        ("x", []),
    ],
)
def test_names_have_the_prefix_of_the_last_item(
    service: Service, run: Cli, prefix: str, shown: list[str]
) -> None:
    service.respond("GET", "/v1/vms", VMS)
    assert run("__complete vms", prefix).splitlines() == shown


def test_only_one_page_is_requested_and_it_starts_at_the_prefix(
    service: Service, run: Cli
) -> None:
    vms = map(a_vm, ("web-4321", "web-44"))
    service.respond("GET", "/v1/vms", page(*vms, following="web-44"))
    assert run("__complete vms web-4") == "web-4321\nweb-44\n"
    assert service.only("GET").query == [("after", "web-3~"), ("limit", "200")]


def test_live_maintenance_operations_have_descriptions(
    service: Service, run: Cli
) -> None:
    service.respond("GET", "/v1/maintenances", page(a_maintenance(id="m-17")))
    output = run("__complete maintenances m")
    assert output == "m-17\tReboot of web-0, web-1, SCHEDULED\n"
    phases = [value for name, value in service.only("GET").query if name == "phase"]
    assert phases == ["SCHEDULED", "STARTED"]


@pytest.mark.parametrize(
    "words",
    [
        ("--url", "{url}", "--token", "typed"),
        ("--url={url}", "--token=typed"),
        ("--context", "lab"),
        ("--context=lab", "--url"),
    ],
)
def test_flags_on_the_line_choose_the_service(
    service: Service, run: Cli, monkeypatch: Patch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("FOREWARN_URL", "http://127.0.0.1:1")
    lab = ServiceContext(url=service.url, token="typed")
    contexts.save(ServiceContexts(by_name={"lab": lab}), os.environ)
    service.respond("GET", "/v1/vms", VMS)
    line = [word.format(url=service.url) for word in words]
    assert run("__complete vms db", "forewarn", "vm", "restart", *line) == "db-0\n"
    assert service.only("GET").headers["Authorization"] == "Bearer typed"


def test_kinds_are_independent(service: Service, run: Cli) -> None:
    service.refuse("GET", "/v1/tokens", 403, "no")
    service.respond("GET", "/v1/vms", VMS)
    assert run("__complete tokens,vms db") == "db-0\n"


def test_context_names_need_no_service(run: Cli) -> None:
    lab = ServiceContext(url="http://127.0.0.1:1")
    contexts.save(ServiceContexts(by_name={"lab": lab}), os.environ)
    assert run("__complete contexts la") == "lab\thttp://127.0.0.1:1\n"


def test_names_of_bundled_scenarios_and_facts(run: Cli) -> None:
    output = run("__complete scenarios user-re")
    assert output.splitlines()[0] == "user-reboot\tA user restarts the VM"
    assert run("__complete facts start") == "Started\n"


# --- failures ----------------------------------------------------------------


@pytest.mark.parametrize("words", ["", "vms", "nonsense x", "vms x --url nonsense"])
def test_invalid_calls_print_nothing(run: Cli, words: str) -> None:
    assert run(f"__complete {words}") == ""


def test_without_a_service_nothing_is_printed(run: Cli, monkeypatch: Patch) -> None:
    monkeypatch.setenv("FOREWARN_URL", "http://127.0.0.1:1")
    assert run("__complete vms w") == ""


def test_rejected_token_prints_nothing(service: Service, run: Cli) -> None:
    service.refuse("GET", "/v1/vms", 401, "no")
    assert run("__complete vms w") == ""


def test_invalid_contexts_file_prints_nothing(run: Cli) -> None:
    contexts.save(ServiceContexts(), os.environ).write_text("= =")
    assert run("__complete vms w") == ""


def test_a_service_that_hangs_is_not_waited_for(service: Service, run: Cli) -> None:
    released = Event()

    def hang(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        for _ in range(int(PATIENCE * 10)):  # faster than the time limit of a read
            handler.wfile.write(b" ")
            if released.wait(0.1):
                return
        handler.wfile.write(json.dumps(VMS).encode())

    service.reply_with("GET", "/v1/vms", hang)
    try:
        assert run("__complete vms w") == ""
    finally:
        released.set()
