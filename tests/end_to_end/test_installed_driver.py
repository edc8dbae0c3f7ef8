"""A third-party driver, installed with pip and used by the service."""

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from tests.end_to_end.program import (
    finish,
    serving,
    until,
)

EXAMPLE = Path(__file__).parents[2] / "examples" / "driver"
PIP = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the example with pip, and return the target folder."""
    folder = tmp_path_factory.mktemp("installed")
    source = shutil.copytree(EXAMPLE, folder / "source")
    options = ("--no-build-isolation", "--disable-pip-version-check")
    command = [*PIP, *options, "--target", str(folder / "site"), str(source)]
    path = str(Path(sys.executable).parent)
    ended = finish(command, folder, {"PATH": path, "HOME": str(folder)})
    assert ended.code == 0, ended.err
    return folder / "site"


@contextmanager
def a_web_service() -> Iterator[tuple[str, list[object]]]:
    """Respond 200 for all VMs but `web-2`, and collect the request bodies."""
    bodies: list[object] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # name given by http.server
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            bodies.append(body)
            self.send_response(503 if body["vm"] == "web-2" else 200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/act", bodies
        finally:
            server.shutdown()
            thread.join()


def test_an_installed_driver_acts_and_its_reports_are_recorded(
    tmp_path: Path, installed: Path
) -> None:
    with a_web_service() as (url, bodies):
        config = tmp_path / "forewarn.toml"
        config.write_text(
            '[driver]\nname = "http"\nlead = 0\n'
            f'[driver.options]\nurl = "{url}"\ntimeout = 5\n'
        )
        path = str(installed)
        with serving(tmp_path, "--config", str(config), PYTHONPATH=path) as program:
            for vm in ("web-1", "web-2"):
                order = {"emergency": True, "ignore_blockers": True, "reason": "smoke"}
                program.service.announce(vms=[vm], **order)
            until(lambda: bool(program.service.facts("WorkFailed")))
            until(lambda: bool(program.service.facts("WorkDone")))
            (done,) = program.service.facts("WorkDone")
            (failed,) = program.service.facts("WorkFailed")
    assert {"vm": "web-1", "type": "Reboot", "attempt": 1} in bodies
    assert (done["vms"], failed["vms"]) == (["web-1"], ["web-2"])
    assert failed["detail"] == "HTTP Error 503: Service Unavailable"
