"""Locked dependencies and vendored files: every package and file has a known hash."""

import hashlib
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
VENDOR = ROOT / "src" / "forewarn" / "server" / "portal" / "vendor"
REQUIREMENTS = {path.stem: path for path in (ROOT / "requirements").glob("*.txt")}

SCRIPTS = sorted(path for path in (ROOT / "scripts").iterdir() if path.is_file())

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]

#: By file: the requirements that it must satisfy.
LOCKED = {
    "server": [*EXTRAS["server"], *EXTRAS["postgres"]],
    "dev": [line for lines in EXTRAS.values() for line in lines],
    "build": PROJECT["build-system"]["requires"],
}


def versions(name: str) -> dict[str, str]:
    """Return the locked packages of a file and their versions."""
    lines = re.findall(r"^([\w.-]+)==([^\s;]+)", REQUIREMENTS[name].read_text(), re.M)
    return {canonicalize_name(package): version for package, version in lines}


@pytest.mark.parametrize("name", LOCKED)
def test_locked_versions_satisfy_the_project(name: str) -> None:
    locked = versions(name)
    needed = [Requirement(line) for line in LOCKED[name]]
    unmet = [
        str(requirement)
        for requirement in needed
        if requirement.name != "forewarn"
        and not requirement.specifier.contains(
            locked.get(canonicalize_name(requirement.name), "0"), prereleases=True
        )
    ]
    assert not unmet, "run scripts/lock"


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_every_locked_package_has_hashes(name: str) -> None:
    text = REQUIREMENTS[name].read_text().replace("\\\n", " ")
    packages = [line for line in text.splitlines() if not line.startswith("#")]
    assert packages
    for line in packages:
        assert re.fullmatch(
            r"[\w.-]+==\S+( ; [^#]+?)?( +--hash=sha256:[0-9a-f]{64})+", line
        )


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_install_nothing_without_a_hash(script: Path) -> None:
    text = script.read_text().replace("\\\n", " ")
    installs = re.findall(r"^[^#\n]*pip(?:_| )install .*$", text, re.M)
    unhashed = [line for line in installs if "--require-hashes" not in line]
    for line in unhashed:  # of forewarn itself, or the function that the others use
        assert "--no-deps" in line or '"$@"' in line


def test_the_service_is_tested_with_the_versions_that_it_is_installed_with() -> None:
    assert versions("server").items() <= versions("dev").items()


def test_vendored_files_are_those_that_were_downloaded() -> None:
    lines = (VENDOR / "SHA256SUMS").read_text().splitlines()
    recorded = {name: digest for digest, name in map(str.split, lines)}
    own = {"SHA256SUMS", *(path.name for path in VENDOR.glob("*.d.ts"))}
    assert recorded == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.iterdir()
        if path.name not in own
    }
