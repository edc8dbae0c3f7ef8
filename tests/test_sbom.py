"""SBOM: valid CycloneDX, complete, and the same every time."""

import gzip
import hashlib
import json
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from tests.patience import PATIENCE
from tests.test_dependencies import REQUIREMENTS, VENDOR, versions

from forewarn import __version__

ROOT = Path(__file__).parents[1]
SCHEMAS = ROOT / "tests" / "golden" / "cyclonedx"  # as published, compressed


def schema(name: str) -> Any:
    return json.loads(
        gzip.decompress((SCHEMAS / f"{name}.schema.json.gz").read_bytes())
    )


def write_sbom(path: Path) -> bytes:
    script = str(ROOT / "scripts" / "sbom")
    subprocess.run([sys.executable, script, str(path)], check=True, timeout=PATIENCE)
    return path.read_bytes()


@pytest.fixture(scope="module")
def sbom(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return json.loads(write_sbom(tmp_path_factory.mktemp("sbom") / "forewarn.cdx.json"))


@pytest.fixture(scope="module")
def validator() -> jsonschema_rs.Draft7Validator:
    others = {
        f"http://cyclonedx.org/schema/{name}.SNAPSHOT.schema.json": schema(name)
        for name in ("spdx", "jsf-0.82")
    }
    registry = jsonschema_rs.Registry([*others.items()], draft=jsonschema_rs.Draft7)
    return jsonschema_rs.Draft7Validator(schema("bom-1.6"), registry=registry)


def test_sbom_is_valid_cyclonedx(
    sbom: Any, validator: jsonschema_rs.Draft7Validator
) -> None:
    assert [str(error) for error in validator.iter_errors(sbom)] == []
    broken = deepcopy(sbom)
    broken["components"][0]["licenses"] = [{"license": {"id": "no such license"}}]
    assert not validator.is_valid(broken)


def test_sbom_lists_every_locked_package_with_its_hashes(sbom: Any) -> None:
    packages = [item for item in sbom["components"] if "pypi" in item["purl"]]
    assert {item["name"]: item["version"] for item in packages} == versions("server")
    digests = [entry["content"] for item in packages for entry in item["hashes"]]
    assert len(digests) == REQUIREMENTS["server"].read_text().count("--hash=sha256:")
    everywhere = [item for item in packages if "properties" not in item]
    assert [item["name"] for item in everywhere if "licenses" not in item] == []


def test_sbom_lists_every_vendored_file_with_its_hash(sbom: Any) -> None:
    libraries = [item for item in sbom["components"] if "npm" in item["purl"]]
    assert all(item["version"] and item["licenses"] for item in libraries)
    files = {
        file["name"]: file["hashes"][0]["content"]
        for item in libraries
        for file in item["components"]
    }
    assert files == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.glob("*.js")
    }


def test_sbom_describes_this_version(sbom: Any) -> None:
    root = sbom["metadata"]["component"]
    assert (root["name"], root["version"]) == ("forewarn", __version__)
    refs = [item["bom-ref"] for item in sbom["components"]]
    assert sbom["dependencies"] == [{"ref": root["bom-ref"], "dependsOn": refs}]
    assert len(set(refs)) == len(refs)


def test_sbom_is_reproducible(tmp_path: Path) -> None:
    assert write_sbom(tmp_path / "first") == write_sbom(tmp_path / "second")
