"""Requests to the service: every failure becomes an error message."""

import json
import socket
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.samples import page
from tests.cli.support.service import Service, close_connection, json_reply, text_reply

Patch = pytest.MonkeyPatch


def test_every_page_of_a_list_is_read(service: Service, run: Cli) -> None:
    service.respond("GET", "/v1/maintenances", page({"id": "1"}, following="c/1"))
    service.respond("GET", "/v1/maintenances", page({"id": "2"}))
    assert json.loads(run("maintenance list --all --json")) == [
        {"id": "1"},
        {"id": "2"},
    ]
    first, second = service.requests
    assert first.query == [("limit", "1000")]
    assert second.query == [("limit", "1000"), ("after", "c/1")]


def test_problem_is_reported_by_its_detail(service: Service, run: Cli) -> None:
    service.refuse("GET", "/v1/maintenances/X", 404, "maintenance 'X' not found")
    assert run("maintenance show X", code=1) == "forewarn: maintenance 'X' not found\n"


def test_error_without_a_problem_document_is_reported_by_its_status(
    service: Service, run: Cli
) -> None:
    service.reply_with("GET", "/v1/clock", text_reply("<h1>Bad gateway</h1>", 502))
    err = run("clock show", code=1)
    assert err.startswith(f"forewarn: {service.url} returned HTTP 502")


def test_unreachable_service_is_reported(run: Cli) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: port stays ours
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        message = run(f"clock show --url {url}", code=1)
    assert message == (
        f"forewarn: cannot connect to {url}: connection refused; is `forewarn serve`"
        " running there? (check --url)\n"
    )


def test_response_of_another_program_is_recognized(service: Service, run: Cli) -> None:
    service.reply_with("GET", "/v1/clock", text_reply("<h1>It works!</h1>"))
    assert "is not a forewarn control API" in run("clock show", code=1)


def test_response_of_another_shape_is_an_error_message(
    service: Service, run: Cli
) -> None:
    service.respond("GET", "/v1/clock", [1, 2])
    assert "unexpected response" in run("clock show", code=1)


@pytest.mark.parametrize("line", ["vm list", "maintenance show m-1", "events list"])
def test_empty_object_of_another_program_is_no_response(
    service: Service, line: str, run: Cli
) -> None:
    for path in ("vms", "maintenances/m-1", "events"):
        service.respond("GET", f"/v1/{path}", {})
    assert "forewarn: " in run(line, code=1)


def test_the_token_is_found_in_the_state_directory(
    service: Service, monkeypatch: Patch, tmp_path: Path, run: Cli
) -> None:
    monkeypatch.delenv("FOREWARN_TOKEN")
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "token").write_text("kept\n")
    run("clock show")
    assert service.requests[0].headers["Authorization"] == "Bearer kept"


def test_the_state_directory_follows_xdg(
    service: Service, monkeypatch: Patch, tmp_path: Path, run: Cli
) -> None:
    monkeypatch.delenv("FOREWARN_TOKEN")
    monkeypatch.delenv("FOREWARN_STATE_DIR")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "forewarn").mkdir()
    (tmp_path / "forewarn" / "token").write_text("xdg")
    run("clock show")
    assert service.requests[0].headers["Authorization"] == "Bearer xdg"


def test_missing_token_names_the_places_searched(
    service: Service, monkeypatch: Patch, tmp_path: Path, run: Cli
) -> None:
    service.refuse("GET", "/v1/clock", 401, "a bearer token is required")
    monkeypatch.delenv("FOREWARN_TOKEN")
    assert run("clock show", code=1) == (
        "forewarn: no token found; set $FOREWARN_TOKEN, add the service with `forewarn"
        f" context add`, or store the token in {tmp_path / 'state' / 'token'}\n"
    )
    assert "Authorization" not in service.requests[0].headers


def test_wrong_token_is_distinguished_from_no_token(service: Service, run: Cli) -> None:
    service.refuse("GET", "/v1/clock", 401, "it has expired")
    assert "token rejected (it has expired)" in run("clock show", code=1)


def test_token_that_cannot_be_sent_is_wrong_usage(run: Cli) -> None:
    assert "invalid characters" in run("clock show --token", "a\nb", code=2)


def test_lost_request_is_sent_again_with_the_same_key(
    service: Service, run: Cli
) -> None:
    service.reply_with("POST", "/v1/maintenances", close_connection)
    service.respond("POST", "/v1/maintenances", {"maintenances": []}, 201)
    run("announce reboot --vm web-0 --json")
    first, second = service.requests
    assert first.headers["Idempotency-Key"] == second.headers["Idempotency-Key"]
    assert first.body == second.body


def test_request_lost_twice_is_an_error_message(service: Service, run: Cli) -> None:
    service.reply_with("GET", "/v1/clock", close_connection)
    assert "was lost before a response arrived" in run("clock show", code=1)
    assert len(service.requests) == 2


def test_token_is_not_sent_to_a_redirect_target(service: Service, run: Cli) -> None:
    def elsewhere(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(302)
        handler.send_header("Location", f"{service.url}/elsewhere")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    service.reply_with("GET", "/v1/clock", elsewhere)
    service.reply_with("GET", "/elsewhere", json_reply({"clock": "manual"}))
    assert "302" in run("clock show", code=1)
    assert [request.path for request in service.requests] == ["/v1/clock"]


def test_proxies_are_not_used(service: Service, monkeypatch: Patch, run: Cli) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    run("clock show")


def test_dry_run_is_not_sent_to_a_service_that_would_carry_it_out(
    service: Service, run: Cli
) -> None:
    service.respond("GET", "/readyz", {"status": "ready"})  # before dry runs existed
    message = run("vm restart web-0 --dry-run", code=1)
    assert message.endswith("is too old for dry runs; upgrade it\n")
    assert [request.method for request in service.requests] == ["GET"]
