"""The portal's files: what is served, how, and what browsers are told with it."""

import gzip
import http.client
import random
import re
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.server.support.service import Answer, RunningService, ask

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


def get(service: RunningService, path: str, **headers: Any) -> Answer:
    """Ask for a file, without a token."""
    return ask("GET", service.control + path, **headers)


def raw(service: RunningService, method: str, path: str) -> http.client.HTTPResponse:
    """Ask, and follow nothing."""
    where = urlsplit(service.control)
    with closing(
        http.client.HTTPConnection(where.hostname or "", where.port, 10)
    ) as connection:
        connection.request(method, path)
        answer = connection.getresponse()
        answer.read()
        return answer


# --- what is served ----------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/portal"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_who_comes_without_a_path_is_led_to_the_portal(
    shared: RunningService, method: str, path: str
) -> None:
    answer = raw(shared, method, path)
    assert answer.status == 307
    assert answer.headers["Location"] == "/portal/"


def test_the_page_is_there_without_a_token(shared: RunningService) -> None:
    answer = get(shared, "/portal/")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.body == get(shared, "/portal/index.html").body


def test_the_page_lets_browsers_ask_for_all_modules_at_once(
    shared: RunningService,
) -> None:
    page = get(shared, "/portal/").body.decode()
    link = rf'<link rel="modulepreload" href="{EDITION}/(.*)" />\n'
    assert re.findall(link, page) == [each for each in SERVED if each.endswith(".js")]
    rest = re.sub(link, "", page).replace(f"{EDITION}/", "")
    assert rest == (FOLDER / "index.html").read_text()


def test_what_the_page_names_need_not_be_asked_for_again(
    shared: RunningService,
) -> None:
    page = get(shared, "/portal/")
    assert page.headers["Cache-Control"] == "no-cache"
    named = re.findall(r'(?:src|href)="([^"#]+)"', page.body.decode())
    assert {each.removeprefix(f"{EDITION}/") for each in named} < {*SERVED}
    for each in named:
        answer = get(shared, f"/portal/{each}")
        assert answer.status == 200
        assert answer.headers["Cache-Control"] == "max-age=31536000, immutable"


def test_another_content_is_another_edition(tmp_path: Path) -> None:
    editions = set()
    for number, content in enumerate(("a", "b")):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "a.js").write_text(content)
        editions.add(read_portal(folder).edition)
    assert len(editions) == 2


def test_a_file_of_another_edition_is_not_there(shared: RunningService) -> None:
    assert get(shared, f"/portal/{'0' * len(EDITION)}/app.js").status == 404


def test_every_script_style_and_picture_is_served_as_it_is(
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
def test_a_file_says_what_it_is(shared: RunningService, path: str, kind: str) -> None:
    assert get(shared, f"/portal/{path}").headers["Content-Type"] == kind


def test_what_the_page_names_is_there() -> None:
    page = (FOLDER / "index.html").read_text()
    named = re.findall(r'(?:src|href)="([^"#]+)"', page)
    assert named
    assert [each for each in named if each not in SERVED] == []


def test_of_a_folder_only_what_browsers_need_is_served(tmp_path: Path) -> None:
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
def test_nothing_else_is_there(shared: RunningService, path: str) -> None:
    answer = get(shared, path)
    assert answer.status == 404
    assert "there is nothing at" in answer.detail


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_the_files_are_only_read(shared: RunningService, method: str) -> None:
    answer = ask(method, f"{shared.control}/portal/app.js", b"")
    assert answer.status == 405
    assert answer.headers["Allow"] == "GET, HEAD"


def test_a_head_is_a_get_without_the_file(shared: RunningService) -> None:
    head = raw(shared, "HEAD", "/portal/app.js")
    got = get(shared, "/portal/app.js").headers
    assert head.status == 200
    for name in ("ETag", "Content-Type", "Content-Length"):
        assert head.headers[name] == got[name]


# --- what is not sent twice, and what is packed ------------------------------


def test_what_the_browser_has_is_not_sent_again(shared: RunningService) -> None:
    tag = get(shared, "/portal/app.js").headers["ETag"]
    for known in (tag, f'"other", {tag}', f"W/{tag}"):
        again = get(shared, "/portal/app.js", If_None_Match=known)
        assert (again.status, again.body) == (304, b"")
        assert again.headers["ETag"] == tag
        assert again.headers["Cache-Control"] == "no-cache"
        assert "Content-Security-Policy" in again.headers
    assert get(shared, "/portal/app.js", If_None_Match='"other"').status == 200


def test_the_browser_asks_every_time(shared: RunningService) -> None:
    for path in ("", "app.js"):
        headers = get(shared, f"/portal/{path}").headers
        assert headers["Cache-Control"] == "no-cache"
        assert headers["ETag"].startswith('"')


def test_a_changed_file_has_another_tag(tmp_path: Path) -> None:
    tags = set()
    for text in ("one", "two"):
        folder = tmp_path / text
        folder.mkdir()
        (folder / "a.js").write_text(text)
        tags.add(read_portal(folder).files["a.js"].plain.tag)
    assert len(tags) == 2


def test_who_can_unpack_is_sent_less(shared: RunningService) -> None:
    plain = get(shared, "/portal/app.js")
    packed = get(shared, "/portal/app.js", Accept_Encoding="br, gzip;q=0.8")
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body == SCRIPT.read_bytes()
    assert len(packed.body) < len(plain.body)
    assert packed.headers["ETag"] != plain.headers["ETag"]
    assert packed.headers["Vary"] == plain.headers["Vary"] == "Accept-Encoding"
    assert "Content-Encoding" not in plain.headers


@pytest.mark.parametrize(
    "taken", ["identity", "br", "gzip;q=0", "gzip; q=0.0", "zgzip"]
)
def test_who_cannot_unpack_is_sent_the_file(shared: RunningService, taken: str) -> None:
    answer = get(shared, "/portal/app.js", Accept_Encoding=taken)
    assert answer.body == SCRIPT.read_bytes()


@pytest.mark.parametrize("content", [b"a" * 1000, random.Random(0).randbytes(2000)])
def test_what_packing_does_not_help_is_not_packed(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "a.js").write_bytes(content)
    file = read_portal(tmp_path).files["a.js"]
    assert file.packed == file.plain


# --- what browsers are told --------------------------------------------------


@pytest.mark.parametrize("path", ["", "app.js", "vendor/preact.js", "style.css"])
def test_the_page_runs_nothing_but_its_own_files(
    shared: RunningService, path: str
) -> None:
    headers = get(shared, f"/portal/{path}").headers
    assert {*headers["Content-Security-Policy"].split("; ")} == POLICY
    assert len(headers.get_all("Content-Security-Policy", [])) == 1


def test_the_page_is_in_nobodys_frame_and_hands_nothing_on(
    shared: RunningService,
) -> None:
    headers = get(shared, "/portal/").headers
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "camera=()" in headers["Permissions-Policy"]


def test_the_page_has_no_script_and_no_style_within(shared: RunningService) -> None:
    page = get(shared, "/portal/").body.decode()
    assert page.count("<script") == page.count('<script type="module" src="')
    assert "<style" not in page
    assert "style=" not in page
    assert "//" not in page.replace("<!doctype html>", "")


def test_the_files_are_not_in_the_description_of_the_api(
    shared: RunningService,
) -> None:
    listed = shared.get("/openapi.json")["paths"]
    assert [each for each in listed if "portal" in each] == []
