"""Services with certificates: which are trusted, and what is said of the others."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cli.service import Service, a_service
from tests.server.certificates import FUTURE, PAST, Authority, Pair

from forewarn import cli

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
SHOW = ["clock", "show"]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@contextmanager
def a_service_with(pair: Pair) -> Iterator[Service]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.cert, pair.key)
    with a_service(context) as service:
        service.is_at("2026-01-01T12:00:00Z")
        yield service


def test_a_private_authority_is_named_by_an_option(authority: Authority) -> None:
    with a_service_with(authority.sign("127.0.0.1")) as service:
        assert cli.main([*SHOW, "--url", service.url, "--ca", authority.file]) == 0


def test_a_private_authority_is_named_in_the_environment(
    authority: Authority, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("FOREWARN_CA", authority.file)
    with a_service_with(authority.sign("127.0.0.1")) as service:
        assert cli.main([*SHOW, "--url", service.url]) == 0


def complaint_about(url: str, ca: str | None, capsys: Capture) -> str:
    given = [] if ca is None else ["--ca", ca]
    assert cli.main([*SHOW, "--url", url, *given]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def test_an_unknown_authority_is_told_by_what_to_do(
    authority: Authority, capsys: Capture
) -> None:
    with a_service_with(authority.sign("127.0.0.1")) as service:
        said = complaint_about(service.url, None, capsys)
    assert "authority that is not known here" in said
    assert "--ca FILE" in said


@pytest.mark.parametrize("name", ["localhost", "127.0.0.2"])
def test_a_certificate_for_another_name_is_refused(
    authority: Authority, capsys: Capture, name: str
) -> None:
    with a_service_with(authority.sign(name)) as service:
        said = complaint_about(service.url, authority.file, capsys)
    assert "is for another name" in said


def test_an_expired_certificate_is_refused(
    authority: Authority, capsys: Capture
) -> None:
    with a_service_with(authority.sign("127.0.0.1", ends=PAST)) as service:
        said = complaint_about(service.url, authority.file, capsys)
    assert "has expired; the service needs a new one" in said


def test_a_certificate_of_tomorrow_is_refused(
    authority: Authority, capsys: Capture
) -> None:
    with a_service_with(authority.sign("127.0.0.1", begins=FUTURE)) as service:
        said = complaint_about(service.url, authority.file, capsys)
    assert "is not valid yet; are the clocks" in said


def test_https_where_there_is_no_tls_is_told(service: Service, capsys: Capture) -> None:
    url = service.url.replace("http:", "https:")
    said = complaint_about(url, None, capsys)
    assert f"if the service has no certificate, write {service.url}" in said


def test_http_where_there_is_tls_is_told(authority: Authority, capsys: Capture) -> None:
    with a_service_with(authority.sign("127.0.0.1")) as service:
        plain = service.url.replace("https:", "http:")
        said = complaint_about(plain, None, capsys)
    assert f"if it has a certificate, write {service.url}" in said


def test_an_authority_that_cannot_be_read_is_wrong_usage(capsys: Capture) -> None:
    words = [*SHOW, "--url", "https://127.0.0.1:1", "--ca"]
    assert cli.main([*words, "gone.pem"]) == 2
    assert "--ca: gone.pem cannot be read" in capsys.readouterr().err


def test_an_authority_that_is_none_is_wrong_usage(
    tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "text").write_text("text")
    words = [*SHOW, "--url", "https://127.0.0.1:1", "--ca"]
    assert cli.main([*words, str(tmp_path / "text")]) == 2
    assert "there is no certificate in PEM" in capsys.readouterr().err
