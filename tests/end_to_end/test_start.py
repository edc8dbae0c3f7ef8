"""Program start: printed addresses, token, options and store."""

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.end_to_end.program import DEMO, PORTS, Program, run, serving
from tests.server.support.service import send_request


def test_a_first_start_creates_a_token_that_only_its_owner_can_read(
    tmp_path: Path,
) -> None:
    with serving(tmp_path, FOREWARN_TOKEN=None) as program:
        file = tmp_path / "state" / "token"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        token = program.service.token
        assert len(token) >= 32
        assert program.service.request("GET", "/v1/vms").status == 200
        program.stop()
        assert token not in program.log
    with serving(tmp_path, FOREWARN_TOKEN=None) as program:
        assert program.service.token == token
        assert program.service.request("GET", "/v1/vms").status == 200


def test_commands_find_a_service_on_another_port(tmp_path: Path) -> None:
    with serving(tmp_path, FOREWARN_TOKEN=None) as program:
        found = run(tmp_path, "fleet", "show", "-o", "name", FOREWARN_TOKEN=None)
        assert (found.code, found.err) == (0, "")
        assert "web-0" in found.out.split()
        program.stop()
        assert not (tmp_path / "state" / "control-url").exists()


def test_a_token_that_others_can_read_causes_a_warning(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    file = tmp_path / "state" / "token"
    file.write_text("secret\n")
    file.chmod(0o640)
    with serving(tmp_path, "--store", "memory", FOREWARN_TOKEN=None) as program:
        assert program.service.request("GET", "/v1/vms").status == 200
        program.stop()
        assert f"{file} is readable by other users" in program.log
        assert "chmod 600" in program.log
        assert "secret" not in program.log


@pytest.fixture(scope="module")
def configured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Run a program with a given token, and options from three sources."""
    folder = tmp_path_factory.mktemp("given")
    config = folder / "forewarn.toml"
    config.write_text('[clock]\nmode = "x60"\n[driver]\nname = "operator"\n')
    options = ("--config", str(config), "--default-vm", "db-0")
    with serving(
        folder,
        *options,
        fleet=None,
        FOREWARN_CLOCK="manual",
        FOREWARN_FLEET=str(DEMO),
    ) as program:
        yield program


def test_a_given_token_is_not_written_to_disk(configured: Program) -> None:
    assert configured.service.request("GET", "/v1/vms").status == 200
    assert send_request("GET", f"{configured.service.control}/v1/vms").status == 401
    assert not (configured.folder / "state" / "token").exists()


def test_options_come_from_command_line_environment_and_file(
    configured: Program,
) -> None:
    assert configured.service.get("/v1/clock")["clock"] == "manual"
    assert configured.service.get("/v1/vms/web-0")["name"] == "web-0"
    path = "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
    answer = send_request("GET", configured.metadata[0] + path, Metadata="true")
    assert answer.body == b"db-0"
    maintenance = configured.service.announce(vms=["db-0"])
    configured.service.advance(15 * 60 + 60)
    path = f"/v1/maintenances/{maintenance['id']}"
    assert configured.service.get(path)["phase"] == "STARTED"


def test_the_store_is_a_file_in_the_state_directory(configured: Program) -> None:
    assert (configured.folder / "state" / "forewarn.db").is_file()


def test_a_second_server_on_the_same_file_does_not_start(configured: Program) -> None:
    second = run(configured.folder, "serve", *PORTS)
    assert (second.code, second.out) == (1, "")
    assert second.err.startswith("forewarn: ")
    assert "in use by another forewarn" in second.err
    assert second.err.count("\n") == 1
    assert configured.service.as_vm("web-0").status == 200


@pytest.mark.parametrize("option", ["--metadata", "--control"])
def test_a_port_in_use_is_named(configured: Program, option: str) -> None:
    planes = {
        "--metadata": configured.metadata[0],
        "--control": configured.service.control,
    }
    address = planes[option].removeprefix("http://")
    ports = {"--metadata": "127.0.0.1:0", "--control": "127.0.0.1:0", option: address}
    words = [word for pair in ports.items() for word in pair]
    second = run(configured.folder, "serve", "--store", "memory", *words)
    assert (second.code, second.out) == (1, "")
    assert second.err.startswith(
        f"forewarn: cannot listen on {address}: address already in use"
    )
    assert second.err.count("\n") == 1


def test_the_addresses_are_printed_as_text_by_default(tmp_path: Path) -> None:
    with serving(tmp_path, "--store", "memory", as_json=False) as program:
        assert program.service.as_vm("web-0").status == 200
        program.stop()
        assert program.rest_of_stdout() == b""
    assert not (tmp_path / "state").exists()
