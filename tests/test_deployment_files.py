"""Container and CI files checked against the program.

They do not use Docker or GitHub. Whether the files work there is untested, as the pages
state.
"""

import re
import tomllib
from collections.abc import Sequence
from fnmatch import fnmatch
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest
from tests.cli.support.command_tree import commands
from tests.deployment_files import (
    COMPOSE,
    DOCKERFILE,
    PAGES,
    ROOT,
    command_lines,
    compose,
    config_of,
    copied_files,
    image_environment,
    instructions_with,
    only,
    parts_of,
    steps,
    variables,
    workflow,
)

from forewarn.cli import main
from forewarn.config.load import SettingSources, load
from forewarn.config.settings import SETTINGS
from forewarn.core import fleet_file

#: Variables that replace no option.
OTHERS = {"FOREWARN_TOKEN", "FOREWARN_STATE_DIR", "FOREWARN_CONFIG"}

COMMAND_LINES = command_lines()
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
    "optional-dependencies"
]


# --- all files ---------------------------------------------------------------


@pytest.mark.parametrize("words", COMMAND_LINES.values(), ids=COMMAND_LINES)
def test_every_command_line_can_be_parsed(
    words: Sequence[str], capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        args = main.parse(words)
    except SystemExit:
        pytest.fail(capsys.readouterr().err)
    assert callable(args.run)


def test_every_file_has_command_lines() -> None:
    places = {place.partition(":")[0] for place in COMMAND_LINES}
    files = {"Dockerfile", "compose.yaml", "rehearse.yaml"}
    assert places == {*files, *(page.name for page in PAGES)}


@pytest.mark.parametrize(("file", "names"), variables().items(), ids=variables())
def test_every_variable_is_known(file: str, names: Sequence[str]) -> None:
    existing = {option.variable for command in commands() for option in command.options}
    existing |= {setting.variable for setting in SETTINGS} | OTHERS
    assert names
    assert {*names} <= existing, file


def test_every_installed_extra_exists() -> None:
    installed = [step.get("run", "") for step in steps()]
    named = re.findall(r"pip install [^\n]*?\[([\w,]+)\]", "\n".join(installed))
    assert len(named) == 3  # a job each
    for extras in named:
        assert {*extras.split(",")} <= EXTRAS.keys()
        assert "server" in extras.split(",")


@pytest.mark.parametrize("page", PAGES, ids=lambda each: each.name)
def test_pages_list_what_is_untested(page: Path) -> None:
    assert "\n## What has not been tested\n" in page.read_text()


# --- image -------------------------------------------------------------------


def test_service_accepts_the_settings_of_the_image() -> None:
    config = config_of(image_environment())
    assert config.fleet == "demo"
    assert not config.is_open  # clients cannot choose which VM they are
    assert config.control.is_loopback  # no token crosses a network


def test_ports_of_the_image_are_those_of_the_service() -> None:
    config = config_of(image_environment())
    usual = load(SettingSources(environment={"HOME": "/"}))
    ports = [str(config.metadata[0].port), str(config.control.port)]
    assert only("EXPOSE").words == ports
    assert ports == [str(usual.metadata[0].port), str(usual.control.port)]


def test_state_is_in_the_volume_and_not_owned_by_root() -> None:
    kept = image_environment()["FOREWARN_STATE_DIR"]
    assert only("VOLUME").words == [kept]
    user, group = only("USER").rest.split(":")
    last_command = instructions_with("RUN")[-1].rest
    assert f"--uid {user} --gid {group}" in last_command
    assert last_command.endswith(kept)
    assert int(user) > 0


def test_every_copied_file_exists_and_is_not_ignored() -> None:
    ignored = [
        line
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    for name in copied_files():
        assert (ROOT / name).exists()
        matches = [entry for entry in ignored if fnmatch(name, entry.lstrip("!"))]
        assert matches[-1].startswith("!"), f"{name} is ignored"


def test_every_file_needed_for_the_build_is_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    needed = {"pyproject.toml", project["project"]["readme"]}
    needed |= {*project["project"]["license-files"]}
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    (package,), man_pages = wheel["packages"], wheel["shared-data"]
    needed |= {
        "Dockerfile",
        *man_pages,
        "scripts/sbom",
    }  # the SBOM lists the base image
    assert needed | {Path(package).parts[0], "requirements"} == {*copied_files()}


def test_image_installs_nothing_without_a_hash() -> None:
    installs = [
        command
        for instruction in instructions_with("RUN")
        for command in instruction.rest.split("&&")
        if "pip install" in command
    ]
    assert len(installs) == 3
    for command in installs:
        assert "--require-hashes" in command or "--no-index" in command


def test_copies_between_stages_keep_their_path() -> None:
    (between,) = [
        instruction
        for instruction in instructions_with("COPY")
        if "--from" in instruction.rest
    ]
    source, target = between.words
    assert source == target  # a virtual environment cannot be moved
    assert f"python -m venv {source}" in instructions_with("RUN")[0].rest
    assert image_environment()["PATH"].startswith(f"{target}/bin:")


# --- Compose -----------------------------------------------------------------

SERVICES = compose()["services"]
OF_THE_IMAGE = [name for name, each in SERVICES.items() if each["image"] == "forewarn"]


@pytest.mark.parametrize("name", OF_THE_IMAGE)
def test_service_accepts_the_settings_of_compose(name: str) -> None:
    environment = SERVICES[name]["environment"]
    assert all(isinstance(value, str) for value in environment.values())
    config = config_of(image_environment(), environment)
    assert config.control.is_loopback
    assert not config.open


def test_service_is_at_the_real_address_and_may_listen_there() -> None:
    service = SERVICES["forewarn"]
    config = config_of(image_environment(), service["environment"])
    (address,) = config.metadata
    assert str(address) == "169.254.169.254:80"
    assert service["networks"]["metadata"]["ipv4_address"] == address.host
    lowest = service["sysctls"]["net.ipv4.ip_unprivileged_port_start"]
    assert lowest <= address.port


def test_every_address_is_in_the_metadata_subnet() -> None:
    (range_of_addresses,) = compose()["networks"]["metadata"]["ipam"]["config"]
    subnet = ip_network(range_of_addresses["subnet"])
    addresses = [
        item["networks"]["metadata"]["ipv4_address"]
        for item in SERVICES.values()
        if "metadata" in item.get("networks", {})
    ]
    assert len({*addresses}) == len(addresses) == 2
    assert all(ip_address(item) in subnet for item in addresses)


def test_application_is_identified_by_its_address() -> None:
    service = SERVICES["forewarn"]
    inside = service["environment"]["FOREWARN_FLEET"]
    (outside,) = [
        source
        for source, target in map(parts_of, service["volumes"])
        if target == inside
    ]
    file = COMPOSE.parent / outside
    fleet = fleet_file.read_fleet(tomllib.loads(file.read_text()), file.name)
    addresses = {str(address) for vm in fleet.vms.values() for address in vm.addresses}
    assert SERVICES["app"]["networks"]["metadata"]["ipv4_address"] in addresses


def test_application_gets_only_an_address() -> None:
    assert "environment" not in SERVICES["app"]
    assert "default" in SERVICES["app"]["networks"]  # it can still reach other networks


def test_the_application_waits_until_the_service_is_healthy() -> None:
    waits = SERVICES["app"]["depends_on"]
    assert waits == {"forewarn": {"condition": "service_healthy"}}
    assert "healthcheck" in SERVICES["forewarn"]


@pytest.mark.parametrize("name", SERVICES)
def test_every_mounted_file_exists(name: str) -> None:
    for source, target in map(parts_of, SERVICES[name]["volumes"]):
        if source.startswith("."):
            assert (COMPOSE.parent / source).exists()
        else:
            assert source in compose()["volumes"]
            assert target == only("VOLUME").rest
    build = SERVICES[name].get("build")
    assert build is None or (COMPOSE.parent / build / DOCKERFILE.name).exists()


@pytest.mark.parametrize("name", SERVICES)
def test_commands_of_a_service_refer_to_mounted_files(name: str) -> None:
    targets = [parts_of(volume)[1] for volume in SERVICES[name]["volumes"]]
    for word in SERVICES[name].get("command", ()):
        if word.startswith("/"):
            assert any(word.startswith(target) for target in targets), word


# --- workflow ----------------------------------------------------------------


def test_actions_are_pinned_to_a_major_version() -> None:
    used = [action["uses"] for action in steps() if "uses" in action]
    assert used
    assert [
        action for action in used if not re.fullmatch(r"[\w/-]+@v\d+", action)
    ] == []


def test_service_accepts_the_settings_of_the_workflow() -> None:
    environment = workflow()["jobs"]["service"]["env"]
    config = config_of({"HOME": "/home/runner"}, environment)
    assert (config.fleet, config.clock, config.store) == ("demo", "manual", "memory")
    (address,) = config.metadata
    assert environment["FOREWARN_ENDPOINT"] == f"http://{address}/vm/web-0"
