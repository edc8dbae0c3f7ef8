"""The program on PostgreSQL: a database that stops, and a missing driver."""

import json
from pathlib import Path

import pytest
from tests.end_to_end.client_load import polling
from tests.end_to_end.program import PORTS, Program, check_sentence, run, serving, until
from tests.postgres import PostgresServer


@pytest.fixture
def url(durable_postgres: PostgresServer) -> str:
    return durable_postgres.url(schema=durable_postgres.new_schema())


def test_the_service_survives_a_database_restart(
    tmp_path: Path, url: str, durable_postgres: PostgresServer
) -> None:
    options = ("--log-format", "json", "--store", url)
    with serving(tmp_path, *options, FOREWARN_SHOWN_REBOOT="0.2") as program:
        service = program.service
        event = service.announce(vms=["web-0"])["events"][0]["id"]
        with polling(service, "web-1") as statuses:
            with durable_postgres.stopped():
                shown = service.document("web-1")
                approval = service.approve_as("web-0", event)
                assert approval.status == 503
                assert int(approval.headers["Retry-After"]) > 0
                announced = {"type": "Reboot", "vms": ["db-0"]}
                refused = service.request("POST", "/v1/maintenances", announced)
                assert refused.status == 503
                assert "Connection refused" in refused.detail
                assert service.request("GET", "/v1/vms").status == 503
                assert service.request("GET", "/readyz").status == 503
                assert service.request("GET", "/healthz").status == 200
                assert service.document("web-1") == shown
            assert service.approve_as("web-0", event).status == 200
            until(lambda: service.document("web-1")["Events"] == [])
            assert service.request("GET", "/readyz").status == 200
        assert {*statuses} == {200}
        kinds = [fact["fact"] for fact in service.facts("Announced", "Approved")]
        assert kinds == ["Announced", "Approved"]
        check_log(program)


def check_log(program: Program) -> None:
    """Check that the log has messages, but no tracebacks and no secrets."""
    lines = [json.loads(line) for line in program.log.splitlines()]
    assert any("Connection refused" in line["message"] for line in lines)
    assert not any("exception" in line for line in lines)
    assert "hush" not in program.log


def test_without_the_driver_an_error_names_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "psycopg.py").write_text("raise ModuleNotFoundError(name='psycopg')")
    environment = {"PYTHONPATH": str(tmp_path), "FOREWARN_STORE": "postgres://"}
    ended = run(tmp_path, "serve", *PORTS, **environment)
    check_sentence(ended, 1, "-m pip install")
