"""`scripts/pin-image` against a registry on loopback: digests are verified."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.patience import PATIENCE

SCRIPT = Path(__file__).parents[1] / "scripts" / "pin-image"
TAG = "3.11.14-slim-bookworm"
MANIFEST = json.dumps({"schemaVersion": 2, "manifests": []}).encode()
DIGEST = f"sha256:{hashlib.sha256(MANIFEST).hexdigest()}"
OTHER = f"sha256:{'0' * 64}"
PATH = "/v2/library/python/manifests/"


@dataclass(slots=True)
class Registry:
    """A registry with one image; the fields make it misbehave."""

    url: str = ""
    manifest: bytes = MANIFEST
    digest: str | None = DIGEST  # the header; None for none
    token: str | None = None  # the token that is needed; None if none is
    challenge: str | None = None  # None for a good one
    redirect: str | None = None  # None if manifests are served
    requests: list[str] = field(default_factory=list)

    def respond(self, handler: BaseHTTPRequestHandler) -> None:
        self.requests.append(handler.path)
        where = urlsplit(handler.path)
        if where.path == "/token":
            query = parse_qs(where.query)
            assert query == {"service": ["r"], "scope": ["repository:pull"]}
            self._send(handler, 200, json.dumps({"token": self.token}).encode())
        elif handler.headers["Authorization"] != (
            self.token and f"Bearer {self.token}"
        ):
            good = (
                f'Bearer realm="{self.url}/token",service="r",scope="repository:pull"'
            )
            header = {"WWW-Authenticate": self.challenge or good}
            self._send(handler, 401, b"", header)
        elif self.redirect is not None:
            self._send(handler, 307, b"", {"Location": self.redirect})
        elif where.path in (PATH + TAG, PATH + DIGEST, PATH + OTHER):
            assert "image.index" in handler.headers["Accept"]
            named = (
                {} if self.digest is None else {"Docker-Content-Digest": self.digest}
            )
            self._send(handler, 200, self.manifest, named)
        else:
            self._send(handler, 404, b'{"errors":[]}')

    def _send(
        self,
        handler: BaseHTTPRequestHandler,
        status: int,
        body: bytes,
        headers: dict[str, str] | None = None,
    ) -> None:
        handler.send_response(status)
        for name, value in {
            "Content-Length": str(len(body)),
            **(headers or {}),
        }.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)


@pytest.fixture
def registry() -> Iterator[Registry]:
    fake = Registry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            fake.respond(self)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    Thread(target=server.serve_forever, daemon=True).start()
    yield fake
    server.shutdown()
    server.server_close()


@pytest.fixture
def dockerfile(tmp_path: Path) -> Path:
    path = tmp_path / "Dockerfile"
    path.write_text(f"# an image\nARG PYTHON={TAG}\n\nFROM python:${{PYTHON}}\n")
    return path


def pin(
    registry: Registry, dockerfile: Path, *options: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            *(sys.executable, str(SCRIPT), *options),
            *("--registry", registry.url, "--dockerfile", str(dockerfile)),
        ],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={"PATH": "", "no_proxy": "*"},
        check=False,
    )


def test_tag_is_pinned_to_the_digest_of_its_manifest(
    registry: Registry, dockerfile: Path
) -> None:
    before = dockerfile.read_text()
    assert pin(registry, dockerfile).returncode == 0
    assert dockerfile.read_text() == before.replace(TAG, f"{TAG}@{DIGEST}")
    assert pin(registry, dockerfile).returncode == 0  # again, with the same result
    assert pin(registry, dockerfile, "--check").returncode == 0
    assert registry.requests[-1] == PATH + DIGEST
    assert [*dockerfile.parent.iterdir()] == [dockerfile]


def test_registry_may_require_an_anonymous_token(
    registry: Registry, dockerfile: Path
) -> None:
    registry.token = "t0k3n"
    assert pin(registry, dockerfile).returncode == 0
    assert f"ARG PYTHON={TAG}@{DIGEST}\n" in dockerfile.read_text()
    paths = [urlsplit(path).path for path in registry.requests]
    assert paths == [PATH + TAG, "/token", PATH + TAG]


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        ({"digest": OTHER}, "the registry reports"),
        ({"digest": None}, "the registry reports ''"),
        ({"manifest": b"changed on the way"}, "the registry reports"),
        ({"manifest": b"{}", "digest": None}, "the registry reports"),
        (
            {
                "manifest": b"{}",
                "digest": f"sha256:{hashlib.sha256(b'{}').hexdigest()}",
            },
            "lists neither images nor layers",
        ),
        ({"redirect": "http://127.0.0.1:9/elsewhere"}, "returned 307"),
        ({"token": "x", "challenge": 'Basic realm="r"'}, "requires a password"),
        (
            {"token": "x", "challenge": 'Bearer realm="http://a.example/token"'},
            "is not https",
        ),
    ],
)
def test_unverified_digest_is_not_written(
    registry: Registry, dockerfile: Path, problem: dict[str, object], message: str
) -> None:
    for name, value in problem.items():
        setattr(registry, name, value)
    before = dockerfile.read_text()
    result = pin(registry, dockerfile)
    assert (result.returncode, dockerfile.read_text()) == (1, before)
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_unknown_tag_is_reported(registry: Registry, dockerfile: Path) -> None:
    dockerfile.write_text("ARG PYTHON=9.9\n")
    result = pin(registry, dockerfile)
    assert "the registry returned 404 for 9.9" in result.stderr
    assert dockerfile.read_text() == "ARG PYTHON=9.9\n"


def test_tag_that_has_moved_is_not_pinned_again(
    registry: Registry, dockerfile: Path
) -> None:
    dockerfile.write_text(f"ARG PYTHON={TAG}@{OTHER}\n")
    result = pin(registry, dockerfile)
    assert result.returncode == 1
    assert f"now serves {DIGEST}" in result.stderr
    assert dockerfile.read_text() == f"ARG PYTHON={TAG}@{OTHER}\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"ARG PYTHON={TAG}", "is not pinned"),
        (f"ARG PYTHON={TAG}@{OTHER}", f"returned {DIGEST} for {OTHER}"),
        ("FROM python:3.11", "has no line ARG PYTHON=TAG"),
    ],
)
def test_check_fails_unless_the_pinned_image_is_served(
    registry: Registry, dockerfile: Path, line: str, message: str
) -> None:
    dockerfile.write_text(f"{line}\n")
    result = pin(registry, dockerfile, "--check")
    assert result.returncode == 1
    assert message in result.stderr


def test_registry_elsewhere_needs_tls(dockerfile: Path) -> None:
    result = pin(Registry(url="http://registry.example"), dockerfile)
    assert result.returncode == 1
    assert "is not https" in result.stderr
