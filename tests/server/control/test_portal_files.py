"""Portal files: paths, caching, compression and security headers."""

import gzip
import http.client
import random
import re
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.server.support.service import ReceivedResponse, RunningService, send_request

from forewarn.server.control.routes.portal import FOLDER, read_portal

POLICY = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
}
SCRIPT = FOLDER / "app.js"
SERVED = sorted(read_portal(FOLDER).files)
EDITION = read_portal(FOLDER).edition


def get(service: RunningService, path: str, **headers: Any) -> ReceivedResponse:
    """Request a file without a token."""
    return send_request("GET", service.control + path, **headers)


def raw(service: RunningService, method: str, path: str) -> http.client.HTTPResponse:
    """Send a request without following redirects."""
    where = urlsplit(service.control)
    with closing(
        http.client.HTTPConnection(where.hostname or "", where.port, 10)
    ) as connection:
        connection.request(method, path)
        answer = connection.getresponse()
        answer.read()
        return answer


# --- paths -------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/portal"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_root_redirects_to_the_portal(
    shared: RunningService, method: str, path: str
) -> None:
    answer = raw(shared, method, path)
    assert answer.status == 307
    assert answer.headers["Location"] == "/portal/"


def test_page_needs_no_token(shared: RunningService) -> None:
    answer = get(shared, "/portal/")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.body == get(shared, "/portal/index.html").body


def test_page_preloads_all_modules(
    shared: RunningService,
) -> None:
    page = get(shared, "/portal/").body.decode()
    link = rf'<link rel="modulepreload" href="{EDITION}/(.*)" />\n'
    assert re.findall(link, page) == [path for path in SERVED if path.endswith(".js")]
    rest = re.sub(link, "", page).replace(f"{EDITION}/", "")
    assert rest == (FOLDER / "index.html").read_text()


def test_files_named_by_the_page_are_immutable(
    shared: RunningService,
) -> None:
    page = get(shared, "/portal/")
    assert page.headers["Cache-Control"] == "no-cache"
    links = re.findall(r'(?:src|href)="([^"#]+)"', page.body.decode())
    assert {link.removeprefix(f"{EDITION}/") for link in links} < {*SERVED}
    for link in links:
        answer = get(shared, f"/portal/{link}")
        assert answer.status == 200
        assert answer.headers["Cache-Control"] == "max-age=31536000, immutable"


def test_changed_file_has_another_edition_and_etag(tmp_path: Path) -> None:
    editions, tags = set(), set()
    for content in ("a", "b"):
        folder = tmp_path / content
        folder.mkdir()
        (folder / "a.js").write_text(content)
        portal = read_portal(folder)
        editions.add(portal.edition)
        tags.add(portal.files["a.js"].plain.tag)
    assert (len(editions), len(tags)) == (2, 2)


def test_file_of_another_edition_gets_404(shared: RunningService) -> None:
    assert get(shared, f"/portal/{'0' * len(EDITION)}/app.js").status == 404


def test_scripts_styles_and_images_are_served_unchanged(
    shared: RunningService,
) -> None:
    for path in {*SERVED} - {"index.html"}:
        answer = get(shared, f"/portal/{path}")
        assert (answer.status, answer.body) == (200, (FOLDER / path).read_bytes())


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("app.js", "text/javascript; charset=utf-8"),
        ("vendor/preact.js", "text/javascript; charset=utf-8"),
        ("vendor/LICENSE", "text/plain; charset=utf-8"),
        ("style.css", "text/css; charset=utf-8"),
        ("icon.svg", "image/svg+xml"),
    ],
)
def test_file_has_its_content_type(
    shared: RunningService, path: str, kind: str
) -> None:
    assert get(shared, f"/portal/{path}").headers["Content-Type"] == kind


def test_only_files_for_browsers_are_served(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    for name in ("a.js", "types.d.ts", "secret.py", "inner/b.css", "index.html"):
        (tmp_path / name).write_text(name)
    (tmp_path / "folder.js").mkdir()
    assert {*read_portal(tmp_path).files} == {"a.js", "inner/b.css", "index.html"}


@pytest.mark.parametrize(
    "path",
    [
        "/portal/nothing.js",
        "/portal/vendor",
        "/portal/vendor/",
        "/portal/types.d.ts",
        "/portal/../control/app.py",
        "/portal/..%2fcontrol%2fapp.py",
        "/portal/%2e%2e/control/app.py",
        "/portal//etc/passwd",
        "/portal/vendor/../app.js",
        "/portal/app.js%00",
    ],
)
def test_other_paths_get_404(shared: RunningService, path: str) -> None:
    answer = get(shared, path)
    assert answer.status == 404
    assert "not found; /docs lists all paths" in answer.detail


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_files_are_read_only(shared: RunningService, method: str) -> None:
    answer = send_request(method, f"{shared.control}/portal/app.js", b"")
    assert answer.status == 405
    assert answer.headers["Allow"] == "GET, HEAD"


def test_head_returns_the_headers_of_get(shared: RunningService) -> None:
    head = raw(shared, "HEAD", "/portal/app.js")
    expected = get(shared, "/portal/app.js").headers
    assert head.status == 200
    for name in ("ETag", "Content-Type", "Content-Length"):
        assert head.headers[name] == expected[name]


# --- caching and compression -------------------------------------------------


def test_unchanged_file_gets_304(shared: RunningService) -> None:
    tag = get(shared, "/portal/app.js").headers["ETag"]
    for if_none_match in (tag, f'"other", {tag}', f"W/{tag}"):
        again = get(shared, "/portal/app.js", If_None_Match=if_none_match)
        assert (again.status, again.body) == (304, b"")
        assert again.headers["ETag"] == tag
        assert again.headers["Cache-Control"] == "no-cache"
        assert "Content-Security-Policy" in again.headers
    assert get(shared, "/portal/app.js", If_None_Match='"other"').status == 200


def test_client_that_accepts_gzip_gets_gzip(shared: RunningService) -> None:
    plain = get(shared, "/portal/app.js")
    compressed = get(shared, "/portal/app.js", Accept_Encoding="br, gzip;q=0.8")
    assert compressed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(compressed.body) == plain.body == SCRIPT.read_bytes()
    assert len(compressed.body) < len(plain.body)
    assert compressed.headers["ETag"] != plain.headers["ETag"]
    assert compressed.headers["Vary"] == plain.headers["Vary"] == "Accept-Encoding"
    assert "Content-Encoding" not in plain.headers


@pytest.mark.parametrize(
    "taken", ["identity", "br", "gzip;q=0", "gzip; q=0.0", "zgzip"]
)
def test_client_that_does_not_accept_gzip_gets_the_plain_file(
    shared: RunningService, taken: str
) -> None:
    answer = get(shared, "/portal/app.js", Accept_Encoding=taken)
    assert answer.body == SCRIPT.read_bytes()


@pytest.mark.parametrize("content", [b"a" * 1000, random.Random(0).randbytes(2000)])
def test_incompressible_file_is_not_compressed(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.js").write_bytes(content)
    file = read_portal(tmp_path).files["a.js"]
    assert file.packed == file.plain


# --- security headers --------------------------------------------------------


@pytest.mark.parametrize("path", ["", "app.js", "vendor/preact.js", "style.css"])
def test_policy_allows_only_own_files(shared: RunningService, path: str) -> None:
    headers = get(shared, f"/portal/{path}").headers
    assert {*headers["Content-Security-Policy"].split("; ")} == POLICY
    assert len(headers.get_all("Content-Security-Policy", [])) == 1


def test_page_cannot_be_framed_and_sends_no_referrer(
    shared: RunningService,
) -> None:
    headers = get(shared, "/portal/").headers
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "camera=()" in headers["Permissions-Policy"]


def test_page_has_no_inline_script_or_style(shared: RunningService) -> None:
    page = get(shared, "/portal/").body.decode()
    assert page.count("<script") == page.count('<script type="module" src="')
    assert "<style" not in page
    assert "style=" not in page
    assert "//" not in page.replace("<!doctype html>", "")
