"""What containers and CI are told is what the program knows.

No Docker and no GitHub is asked: whether the files are right for those is untried, and
the pages say so.
"""

import re
import tomllib
from collections.abc import Sequence
from fnmatch import fnmatch
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest
from tests.cli.tree import commands
from tests.harbour import (
    COMPOSE,
    DOCKERFILE,
    PAGES,
    ROOT,
    command_lines,
    compose,
    config_of,
    image_environment,
    only,
    parts_of,
    steps,
    those,
    variables,
    workflow,
)

from forewarn import cli
from forewarn.config import Sources, load
from forewarn.core import fleet_file
from forewarn.settings import SETTINGS

#: Variables that stand in for no option.
OTHERS = {"FOREWARN_TOKEN", "FOREWARN_STATE_DIR", "FOREWARN_CONFIG"}

COMMAND_LINES = command_lines()
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
    "optional-dependencies"
]


# --- all of them -------------------------------------------------------------


@pytest.mark.parametrize("words", COMMAND_LINES.values(), ids=COMMAND_LINES)
def test_every_command_line_can_be_read(
    words: Sequence[str], capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        args = cli.parse(words)
    except SystemExit:
        pytest.fail(capsys.readouterr().err)
    assert callable(args.run)


def test_every_place_has_command_lines() -> None:
    places = {place.partition(":")[0] for place in COMMAND_LINES}
    files = {"Dockerfile", "compose.yaml", "rehearse.yaml"}
    assert places == {*files, *(page.name for page in PAGES)}


@pytest.mark.parametrize(("file", "names"), variables().items(), ids=variables())
def test_every_variable_stands_in_for_something(
    file: str, names: Sequence[str]
) -> None:
    known = {option.variable for each in commands() for option in each.options}
    known |= {setting.variable for setting in SETTINGS} | OTHERS
    assert names
    assert {*names} <= known, file


def test_every_extra_that_is_installed_is_there() -> None:
    installed = [DOCKERFILE.read_text(), *(each.get("run", "") for each in steps())]
    named = re.findall(r"pip install [^\n]*?\[([\w,]+)\]", "\n".join(installed))
    named += re.findall(r'"\.\[([\w,]+)\]"', DOCKERFILE.read_text())
    assert len(named) == 4  # the image, and three jobs
    for extras in named:
        assert {*extras.split(",")} <= EXTRAS.keys()
        assert "server" in extras.split(",")


@pytest.mark.parametrize("page", PAGES, ids=lambda each: each.name)
def test_what_was_not_run_is_called_untried(page: Path) -> None:
    assert "\n## What is not tried\n" in page.read_text()


# --- the image ---------------------------------------------------------------


def test_the_service_takes_what_the_image_sets() -> None:
    config = config_of(image_environment())
    assert config.fleet == "demo"
    assert not config.is_open  # whoever connects is not believed who he is
    assert config.control.is_loopback  # no token crosses a network


def test_the_ports_of_the_image_are_those_of_the_service() -> None:
    config = config_of(image_environment())
    usual = load(Sources(environment={"HOME": "/"}))
    ports = [str(config.metadata[0].port), str(config.control.port)]
    assert only("EXPOSE").words == ports
    assert ports == [str(usual.metadata[0].port), str(usual.control.port)]


def test_what_is_kept_is_in_the_volume_and_its_owner_is_not_root() -> None:
    kept = image_environment()["FOREWARN_STATE_DIR"]
    assert only("VOLUME").words == [kept]
    user, group = only("USER").rest.split(":")
    made = those("RUN")[-1].rest
    assert f"--uid {user} --gid {group}" in made
    assert made.endswith(kept)
    assert int(user) > 0


def test_everything_that_is_copied_is_there_and_not_ignored() -> None:
    ignored = [
        line
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    copied = [each.words[:-1] for each in those("COPY") if "--from" not in each.rest]
    assert copied
    for name in (name for names in copied for name in names):
        assert (ROOT / name).exists()
        matches = [each for each in ignored if fnmatch(name, each.lstrip("!"))]
        assert matches[-1].startswith("!"), f"{name} is ignored"


def test_all_that_the_package_is_built_of_is_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    needed = {"pyproject.toml", project["project"]["readme"]}
    needed |= {*project["project"]["license-files"]}
    (package,) = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    copied = {
        name
        for each in those("COPY")
        if "--from" not in each.rest
        for name in each.words[:-1]
    }
    assert needed | {Path(package).parts[0]} == copied


def test_what_is_copied_between_stages_is_where_it_was_put() -> None:
    (between,) = [each for each in those("COPY") if "--from" in each.rest]
    source, target = between.words
    assert source == target  # a virtual environment cannot be moved
    assert f"python -m venv {source}" in those("RUN")[0].rest
    assert image_environment()["PATH"].startswith(f"{target}/bin:")


# --- Compose -----------------------------------------------------------------

SERVICES = compose()["services"]
OF_THE_IMAGE = [name for name, each in SERVICES.items() if each["image"] == "forewarn"]


@pytest.mark.parametrize("name", OF_THE_IMAGE)
def test_the_service_takes_what_compose_sets(name: str) -> None:
    given = SERVICES[name]["environment"]
    assert all(isinstance(value, str) for value in given.values())
    config = config_of(image_environment(), given)
    assert config.control.is_loopback
    assert not config.open


def test_the_service_is_at_the_real_address_and_may_listen_there() -> None:
    service = SERVICES["forewarn"]
    config = config_of(image_environment(), service["environment"])
    (address,) = config.metadata
    assert str(address) == "169.254.169.254:80"
    assert service["networks"]["metadata"]["ipv4_address"] == address.host
    lowest = service["sysctls"]["net.ipv4.ip_unprivileged_port_start"]
    assert lowest <= address.port


def test_everybody_in_that_network_has_an_address_of_it() -> None:
    (made,) = compose()["networks"]["metadata"]["ipam"]["config"]
    subnet = ip_network(made["subnet"])
    addresses = [
        each["networks"]["metadata"]["ipv4_address"]
        for each in SERVICES.values()
        if "metadata" in each.get("networks", {})
    ]
    assert len({*addresses}) == len(addresses) == 2
    assert all(ip_address(each) in subnet for each in addresses)


def test_the_application_is_known_by_its_address() -> None:
    service = SERVICES["forewarn"]
    inside = service["environment"]["FOREWARN_FLEET"]
    (outside,) = [
        source
        for source, target in map(parts_of, service["volumes"])
        if target == inside
    ]
    file = COMPOSE.parent / outside
    fleet = fleet_file.read_fleet(tomllib.loads(file.read_text()), file.name)
    known = {str(each) for vm in fleet.vms.values() for each in vm.addresses}
    assert SERVICES["app"]["networks"]["metadata"]["ipv4_address"] in known


def test_the_application_is_given_nothing_but_an_address() -> None:
    assert "environment" not in SERVICES["app"]
    assert "default" in SERVICES["app"]["networks"]  # it still gets out


def test_the_application_waits_until_the_service_is_healthy() -> None:
    waits = SERVICES["app"]["depends_on"]
    assert waits == {"forewarn": {"condition": "service_healthy"}}
    assert "healthcheck" in SERVICES["forewarn"]


@pytest.mark.parametrize("name", SERVICES)
def test_everything_that_is_mounted_is_there(name: str) -> None:
    for source, target in map(parts_of, SERVICES[name]["volumes"]):
        if source.startswith("."):
            assert (COMPOSE.parent / source).exists()
        else:
            assert source in compose()["volumes"]
            assert target == only("VOLUME").rest
    build = SERVICES[name].get("build")
    assert build is None or (COMPOSE.parent / build / DOCKERFILE.name).exists()


@pytest.mark.parametrize("name", SERVICES)
def test_what_a_service_runs_is_what_is_mounted(name: str) -> None:
    targets = [parts_of(each)[1] for each in SERVICES[name]["volumes"]]
    for word in SERVICES[name].get("command", ()):
        if word.startswith("/"):
            assert any(word.startswith(target) for target in targets), word


# --- the workflow ------------------------------------------------------------


def test_actions_are_those_of_a_major_version() -> None:
    used = [each["uses"] for each in steps() if "uses" in each]
    assert used
    assert [each for each in used if not re.fullmatch(r"[\w/-]+@v\d+", each)] == []


def test_the_service_takes_what_the_workflow_sets() -> None:
    given = workflow()["jobs"]["service"]["env"]
    config = config_of({"HOME": "/home/runner"}, given)
    assert (config.fleet, config.clock, config.store) == ("demo", "manual", "memory")
    (address,) = config.metadata
    assert given["FOREWARN_ENDPOINT"] == f"http://{address}/vm/web-0"
