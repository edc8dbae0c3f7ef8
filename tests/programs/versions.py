"""Versions of the programs that are tested here.

Print them with `.venv/bin/python -m tests.programs.versions`.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import version

from tests.programs.installed import NODE_MODULES, PROGRAMS

#: The command that prints each version; `nc` has none.
_COMMANDS = {
    "bash": ("bash", "--version"),
    "busybox": ("busybox",),
    "curl": ("curl", "--version"),
    "go": ("go", "version"),
    "jq": ("jq", "--version"),
    "mono": ("mono", "--version"),
    "nft": ("nft", "--version"),
    "node": ("node", "--version"),
    "ohai": ("ohai", "--version"),
    "perl": ("perl", "--version"),
    "ruby": ("ruby", "--version"),
    "wget": ("wget", "--version"),
}
_UNPACKED = ("cloud-init", "haproxy", "hey", "resource-agents", "waagent")
_PYPI = (
    "aiohttp",
    "httpx",
    "msal",
    "opentelemetry-resource-detector-azure",
    "requests",
    "urllib3",
)
_NPM = ("@opentelemetry/resource-detector-azure", "axios", "node-fetch")
_NUMBER = re.compile(r"\d+\.\d+(\.\d+)?")


def versions() -> Iterator[tuple[str, str]]:
    """Yield each installed program with its version."""
    for name, command in _COMMANDS.items():
        if shutil.which(name) is not None:
            yield name, _version_of(command)
    for name in _UNPACKED:
        if (file := PROGRAMS / name / "version").exists():
            yield f"{name} (Debian)", file.read_text().strip()
    for name in _PYPI:
        yield f"{name} (PyPI)", version(name)
    for name in _NPM:
        if (file := NODE_MODULES / name / "package.json").exists():
            yield f"{name} (npm)", json.loads(file.read_text())["version"]


def _version_of(command: Sequence[str]) -> str:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    match = _NUMBER.search(result.stdout + result.stderr)
    return "unknown" if match is None else match[0]


if __name__ == "__main__":
    for each, number in versions():
        sys.stdout.write(f"{each}  {number}\n")
