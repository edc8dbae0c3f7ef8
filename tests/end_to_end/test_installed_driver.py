"""A driver that somebody wrote, installed as he would and served with."""

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from tests.end_to_end.program import finish, run, serving, until
from tests.end_to_end.test_refusals import PORTS, check_sentence

EXAMPLE = Path(__file__).parents[2] / "examples" / "driver"
PIP = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder where pip has put the example."""
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
    """Answer 200 to all but `web-2`; tell what was asked."""
    asked: list[object] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the library wants this name
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(body)
            self.send_response(503 if body["vm"] == "web-2" else 200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/act", asked
        finally:
            server.shutdown()
            thread.join()


def test_it_acts_and_what_it_reports_is_written_down(
    tmp_path: Path, installed: Path
) -> None:
    with a_web_service() as (url, asked):
        config = tmp_path / "forewarn.toml"
        config.write_text(
            '[driver]\nname = "http"\nlead = 0\n'
            f'[driver.options]\nurl = "{url}"\ntimeout = 5\n'
        )
        path = str(installed)
        with serving(tmp_path, "--config", str(config), PYTHONPATH=path) as program:
            for vm in ("web-1", "web-2"):
                order = {"emergency": True, "ignore_gates": True, "reason": "smoke"}
                program.service.announce(vms=[vm], **order)
            until(lambda: bool(program.service.facts("WorkFailed")))
            until(lambda: bool(program.service.facts("WorkDone")))
            (done,) = program.service.facts("WorkDone")
            (failed,) = program.service.facts("WorkFailed")
    assert {"vm": "web-1", "type": "Reboot", "attempt": 1} in asked
    assert (done["vms"], failed["vms"]) == (["web-1"], ["web-2"])
    assert failed["detail"] == "HTTP Error 503: Service Unavailable"


@pytest.mark.full
def test_without_what_it_needs_there_is_a_sentence(
    tmp_path: Path, installed: Path
) -> None:
    options = ("serve", *PORTS, "--driver", "http")
    ended = run(tmp_path, *options, PYTHONPATH=str(installed))
    check_sentence(ended, 1, "http", "forewarn_driver_http:HttpDriver", "url")


@pytest.mark.full
def test_where_it_is_not_installed_those_that_are_there_are_listed(
    tmp_path: Path,
) -> None:
    ended = run(tmp_path, "serve", *PORTS, "--driver", "http")
    check_sentence(ended, 2, "nothing, operator, script", "http")
