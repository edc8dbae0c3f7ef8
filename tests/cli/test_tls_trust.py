"""TLS certificates: which are trusted, and the error messages for the others."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.service import Service, a_service
from tests.server.support.certificates import (
    FUTURE,
    PAST,
    CertificateAuthority,
    CertificateFiles,
)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> CertificateAuthority:
    return CertificateAuthority(tmp_path_factory.mktemp("authority"))


@contextmanager
def a_service_with(pair: CertificateFiles) -> Iterator[Service]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.cert, pair.key)
    with a_service(context) as service:
        yield service


def test_private_authority_is_given_as_an_option(
    authority: CertificateAuthority, run: Cli
) -> None:
    with a_service_with(authority.sign("127.0.0.1")) as service:
        run(f"clock show --url {service.url} --ca", authority.file)


def test_private_authority_is_given_in_the_environment(
    authority: CertificateAuthority, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    monkeypatch.setenv("FOREWARN_CA", authority.file)
    with a_service_with(authority.sign("127.0.0.1")) as service:
        run(f"clock show --url {service.url}")


def tls_error(run: Cli, url: str, *options: str) -> str:
    message = run(f"clock show --url {url}", *options, code=1)
    assert message.count("\n") == 1
    return message


def test_unknown_authority_is_reported_with_a_remedy(
    authority: CertificateAuthority, run: Cli
) -> None:
    with a_service_with(authority.sign("127.0.0.1")) as service:
        message = tls_error(run, service.url)
    assert "unknown certificate authority" in message
    assert "--ca FILE" in message


@pytest.mark.parametrize("name", ["localhost", "127.0.0.2"])
def test_a_certificate_for_another_name_is_refused(
    authority: CertificateAuthority, run: Cli, name: str
) -> None:
    with a_service_with(authority.sign(name)) as service:
        message = tls_error(run, service.url, "--ca", authority.file)
    assert "does not match the hostname" in message


def test_an_expired_certificate_is_refused(
    authority: CertificateAuthority, run: Cli
) -> None:
    with a_service_with(authority.sign("127.0.0.1", ends=PAST)) as service:
        message = tls_error(run, service.url, "--ca", authority.file)
    assert "has expired; restart the service with a new one" in message


def test_certificate_that_is_not_valid_yet_is_refused(
    authority: CertificateAuthority, run: Cli
) -> None:
    with a_service_with(authority.sign("127.0.0.1", begins=FUTURE)) as service:
        message = tls_error(run, service.url, "--ca", authority.file)
    assert "is not valid yet; check the clocks" in message


def test_https_without_tls_is_reported(service: Service, run: Cli) -> None:
    message = tls_error(run, service.url.replace("http:", "https:"))
    assert f"if the service has no certificate, use {service.url}" in message


def test_http_with_tls_is_reported(authority: CertificateAuthority, run: Cli) -> None:
    with a_service_with(authority.sign("127.0.0.1")) as service:
        message = tls_error(run, service.url.replace("https:", "http:"))
    assert f"if the service has a certificate, use {service.url}" in message


def test_unreadable_authority_is_wrong_usage(run: Cli) -> None:
    message = run("clock show --url https://127.0.0.1:1 --ca gone.pem", code=2)
    assert "--ca: cannot read gone.pem" in message


def test_file_without_a_certificate_is_wrong_usage(tmp_path: Path, run: Cli) -> None:
    (tmp_path / "text").write_text("text")
    line = "clock show --url https://127.0.0.1:1 --ca"
    assert "contains no PEM certificate" in run(line, tmp_path / "text", code=2)
