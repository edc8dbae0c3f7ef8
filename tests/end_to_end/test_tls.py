"""The control plane over TLS, as docs/how-to describes it."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from tests.end_to_end.program import run, serving

PAGE = (
    Path(__file__).parents[2] / "docs/how-to/put-the-control-plane-on-a-network.md"
).read_text()
COMMANDS = re.findall(r"^\$ (openssl .*)$", PAGE, re.MULTILINE)
TLS = ("--tls-cert", "server.pem", "--tls-key", "server.key")


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the commands of the page, and return the folder with their files."""
    folder = tmp_path_factory.mktemp("certified")
    for command in COMMANDS:
        subprocess.run(
            shlex.split(command), cwd=folder, check=True, capture_output=True
        )
    return folder


def test_commands_trust_the_certificate_from_the_docs(certified: Path) -> None:
    with serving(certified, *TLS) as program:
        url = program.service.control
        assert url.startswith("https://")
        shown = run(certified, "clock", "show", "--url", url, "--ca", "ca.pem")
        assert (shown.code, shown.err) == (0, "")
        stranger = run(certified, "clock", "show", "--url", url)
        assert stranger.code == 1
        assert "--ca FILE" in stranger.err


def test_a_key_of_another_certificate_is_refused_at_start(certified: Path) -> None:
    words = ("--tls-cert", "server.pem", "--tls-key", "ca.key")
    ended = run(certified, "serve", "--control", "127.0.0.1:0", *words)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.splitlines()[-1].endswith("they do not match")
