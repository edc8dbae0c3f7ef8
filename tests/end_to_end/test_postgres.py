"""The program on PostgreSQL: restarts, kills, and a database that stops or hangs."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest
from tests.end_to_end.approvals import check_that_approvals_survive_a_kill
from tests.end_to_end.program import SOON, Program, run, serving, until
from tests.postgres import PASSWORD, PostgresServer
from tests.server.support.service import RunningService
from tests.stores.relay import relayed

PORTS = ("--metadata", "127.0.0.1:0", "--control", "127.0.0.1:0")


@pytest.fixture
def url(durable_postgres: PostgresServer) -> str:
    return durable_postgres.url(schema=durable_postgres.new_schema())


@pytest.mark.full
def test_maintenance_continues_after_a_restart(tmp_path: Path, url: str) -> None:
    options = ("--clock", "manual", "--store", url)
    with serving(tmp_path, *options) as program:
        maintenance = program.service.announce(vms=["web-0"])
        program.service.advance(15 * 60 - 1)
        before = program.service.as_vm("web-1")
        (code, seconds) = program.stop()
        assert (code, program.log) == (0, "")
        assert seconds < SOON
    with serving(tmp_path, *options) as program:
        service = program.service
        assert service.as_vm("web-1").body == before.body
        tag = before.headers["ETag"]
        assert service.as_vm("web-1", If_None_Match=tag).status == 304
        service.advance(1)
        (event,) = service.document("web-1")["Events"]
        assert (event["EventStatus"], event["NotBefore"]) == ("Started", "")
        service.advance(5)
        assert service.document("web-1") == {"DocumentIncarnation": 3, "Events": []}
        (ended,) = service.get("/v1/maintenances?phase=COMPLETED")["items"]
        assert ended["id"] == maintenance["id"]
        assert not (tmp_path / "state" / "forewarn.db").exists()


def test_an_acknowledged_approval_survives_a_kill(tmp_path: Path, url: str) -> None:
    check_that_approvals_survive_a_kill(tmp_path, url)


# --- a database that stops ---------------------------------------------------


@contextmanager
def polling_vm(service: RunningService, vm: str) -> Iterator[set[int]]:
    """Poll continuously, and collect the statuses of all responses."""
    statuses: set[int] = set()
    over = Event()

    def ask() -> None:
        while not over.wait(0.01):
            statuses.add(service.as_vm(vm).status)

    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(ask)
        try:
            yield statuses
        finally:
            over.set()
        asking.result()


def test_the_service_survives_a_database_restart(
    tmp_path: Path, url: str, durable_postgres: PostgresServer
) -> None:
    options = ("--log-format", "json", "--store", url)
    with serving(tmp_path, *options, FOREWARN_SHOWN_REBOOT="0.2") as program:
        service = program.service
        event = service.announce(vms=["web-0"])["events"][0]["id"]
        with polling_vm(service, "web-1") as statuses:
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
        assert statuses == {200}
        kinds = [fact["fact"] for fact in service.facts("Announced", "Approved")]
        assert kinds == ["Announced", "Approved"]
        check_log(program)


def check_log(program: Program) -> None:
    """Check that the log has messages, but no tracebacks and no secrets."""
    lines = [json.loads(line) for line in program.log.splitlines()]
    assert any("Connection refused" in line["message"] for line in lines)
    assert not any("exception" in line for line in lines)
    assert "hush" not in program.log


@pytest.mark.full
def test_a_commit_whose_response_was_lost_is_shown_soon(
    tmp_path: Path, durable_postgres: PostgresServer
) -> None:
    schema = durable_postgres.new_schema()
    with relayed(durable_postgres.port) as relay:
        store = durable_postgres.url(port=relay.port, schema=schema)
        with serving(tmp_path, FOREWARN_STORE=store) as program:
            service = program.service
            relay.lose(b"COMMIT\0", after=True, behind=b"INSERT INTO maintenances")
            reboot = {"type": "Reboot", "vms": ["web-0"]}
            answer = service.request("POST", "/v1/maintenances", reboot)
            assert answer.status == 503
            assert "unknown" in answer.detail
            until(lambda: service.document("web-0")["DocumentIncarnation"] == 1)
            assert len(service.facts("Announced")) == 1


# --- a database that hangs ---------------------------------------------------


@pytest.mark.full
def test_a_hanging_database_does_not_block_a_stop(
    tmp_path: Path, durable_postgres: PostgresServer
) -> None:
    schema = durable_postgres.new_schema()
    with relayed(durable_postgres.port) as relay:
        store = durable_postgres.url(port=relay.port, schema=schema)
        with (
            serving(tmp_path, FOREWARN_STORE=store) as program,
            ThreadPoolExecutor(2) as pool,
        ):
            service = program.service
            event = service.announce(vms=["web-0"])["events"][0]["id"]
            relay.fall_silent()
            waiting = [
                pool.submit(service.approve_as, "web-0", event),
                pool.submit(service.request, "GET", "/v1/vms"),
            ]
            assert service.document("web-1")["DocumentIncarnation"] == 1
            code, seconds = program.stop()
            assert code == 0
            assert seconds < SOON
            assert "Traceback" not in program.log
            assert [
                future.exception() for future in waiting if future.exception()
            ] == []


# --- refused starts ----------------------------------------------------------


@pytest.mark.full
def test_a_wrong_password_is_a_one_line_error(
    tmp_path: Path, durable_postgres: PostgresServer
) -> None:
    url = durable_postgres.url(password=f"not-{PASSWORD}")
    for level in ("info", "debug"):
        options = ("--store", url, "--log-level", level)
        ended = run(tmp_path, "serve", *PORTS, *options)
        assert (ended.code, ended.out) == (1, "")
        last = ended.err.splitlines()[-1]
        assert last.startswith("forewarn: postgresql://forewarn@127.0.0.1:")
        assert "password authentication failed" in last
        assert "hush" not in ended.err
        assert "Traceback" not in ended.err


@pytest.mark.full
def test_the_password_may_come_from_pgpass_or_the_environment(
    tmp_path: Path, url: str, durable_postgres: PostgresServer
) -> None:
    port = durable_postgres.port
    place = f"postgresql://forewarn@127.0.0.1:{port}/forewarn?{url.partition('?')[2]}"
    file = tmp_path / ".pgpass"
    escaped = PASSWORD.replace(":", "\\:")
    file.write_text(f"127.0.0.1:{port}:*:forewarn:{escaped}\n")
    file.chmod(0o600)
    for password in (None, PASSWORD):
        with serving(tmp_path, FOREWARN_STORE=place, PGPASSWORD=password) as program:
            assert program.service.get("/v1/vms")["items"]
        file.unlink(missing_ok=True)


def test_without_the_driver_an_error_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "psycopg.py").write_text("raise ModuleNotFoundError(name='psycopg')")
    ended = run(
        tmp_path,
        "serve",
        *PORTS,
        PYTHONPATH=str(tmp_path),
        FOREWARN_STORE="postgres://",
    )
    assert ended.code == 1
    assert "pip install 'forewarn[postgres]'" in ended.err
    assert len(ended.err.splitlines()) == 1


@pytest.mark.full
def test_without_postgresql_its_driver_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "psycopg.py").write_text("raise SystemExit('imported')")
    with serving(tmp_path, "--store", "memory", PYTHONPATH=str(tmp_path)) as program:
        assert program.service.get("/v1/vms")["items"]
