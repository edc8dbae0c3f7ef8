"""TLS on the control plane: protocol versions and refused files."""

import socket
import ssl
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID
from tests.patience import PATIENCE
from tests.server.conftest import Serve
from tests.server.support.certificates import (
    FUTURE,
    PAST,
    CertificateAuthority,
    CertificateFiles,
)
from tests.server.support.service import RunningService

from forewarn.errors import CannotStart
from forewarn.server.control.http.tls import tls_context


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> CertificateAuthority:
    return CertificateAuthority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def service(serve: Serve, authority: CertificateAuthority) -> RunningService:
    return serve(**authority.sign("127.0.0.1").flags)


def address_of(service: RunningService) -> tuple[str, int]:
    host, _, port = service.control.rpartition("/")[2].partition(":")
    return host, int(port)


def negotiate_tls(
    service: RunningService, authority: CertificateAuthority, version: ssl.TLSVersion
) -> str | None:
    """Connect with one TLS version and return the negotiated version."""
    context = ssl.create_default_context(cafile=authority.file)
    context.minimum_version = context.maximum_version = version
    with (
        socket.create_connection(address_of(service), timeout=PATIENCE) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as encrypted,
    ):
        return encrypted.version()


def test_client_that_trusts_the_authority_is_served(
    service: RunningService, authority: CertificateAuthority
) -> None:
    context = ssl.create_default_context(cafile=authority.file)
    with urlopen(
        f"{service.control}/healthz", timeout=PATIENCE, context=context
    ) as answer:
        assert answer.read() == b'{"status":"ok"}'


@pytest.mark.parametrize(
    ("host", "told"), [("127.0.0.1", "max-age=31536000"), ("localhost", None)]
)
def test_hsts_is_sent_except_on_localhost(
    service: RunningService,
    authority: CertificateAuthority,
    host: str,
    told: str | None,
) -> None:
    context = ssl.create_default_context(cafile=authority.file)
    request = Request(f"{service.control}/healthz", headers={"Host": host})
    with urlopen(request, timeout=PATIENCE, context=context) as answer:
        assert answer.headers["Strict-Transport-Security"] == told


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_tls_1_2_and_1_3_are_supported(
    service: RunningService, authority: CertificateAuthority, version: str
) -> None:
    negotiated = negotiate_tls(service, authority, ssl.TLSVersion[version])
    assert negotiated == version.replace("_", ".")


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1:DeprecationWarning")
def test_tls_1_1_is_refused(
    service: RunningService, authority: CertificateAuthority
) -> None:
    with pytest.raises(ssl.SSLError):
        negotiate_tls(service, authority, ssl.TLSVersion.TLSv1_1)


# --- files -------------------------------------------------------------------


def refusal(pair: CertificateFiles) -> str:
    with pytest.raises(CannotStart) as caught:
        tls_context(pair.cert, pair.key)
    return str(caught.value)


def test_certificate_chain_is_accepted(
    authority: CertificateAuthority, tmp_path: Path
) -> None:
    pair = authority.sign("localhost")
    chain = tmp_path / "chain.pem"
    chain.write_bytes(Path(pair.cert).read_bytes() + Path(authority.file).read_bytes())
    assert isinstance(tls_context(str(chain), pair.key), ssl.SSLContext)


def test_missing_file_is_named(authority: CertificateAuthority) -> None:
    pair = authority.sign("localhost")
    assert "cannot read the certificate in gone.pem: No such" in refusal(
        CertificateFiles(cert="gone.pem", key=pair.key)
    )
    assert "cannot read the private key in gone.key: No such" in refusal(
        CertificateFiles(cert=pair.cert, key="gone.key")
    )


def test_swapped_files_are_recognized(authority: CertificateAuthority) -> None:
    pair = authority.sign("localhost")
    message = refusal(CertificateFiles(cert=pair.key, key=pair.cert))
    assert message == f"{pair.key} contains no certificate in PEM format"


def test_key_of_another_certificate_is_refused(authority: CertificateAuthority) -> None:
    first, second = authority.sign("localhost"), authority.sign("localhost")
    message = refusal(CertificateFiles(cert=first.cert, key=second.key))
    assert message.endswith("they do not match")


def test_malformed_certificate_is_refused(
    authority: CertificateAuthority, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.pem"
    broken.write_text("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n")
    key = authority.sign("localhost").key
    assert "cannot use the certificate" in refusal(
        CertificateFiles(cert=str(broken), key=key)
    )


def test_encrypted_key_is_refused(authority: CertificateAuthority) -> None:
    pair = authority.sign("localhost", passphrase=b"secret")
    assert "is encrypted; store it without a passphrase" in refusal(pair)


def test_expired_certificate_is_refused(authority: CertificateAuthority) -> None:
    message = refusal(authority.sign("localhost", ends=PAST))
    assert message.endswith("has expired; get a new one")


def test_certificate_that_is_not_yet_valid_is_refused(
    authority: CertificateAuthority,
) -> None:
    message = refusal(authority.sign("localhost", begins=FUTURE))
    assert "is not valid yet" in message


def test_client_certificate_is_refused(authority: CertificateAuthority) -> None:
    pair = authority.sign("localhost", usage=ExtendedKeyUsageOID.CLIENT_AUTH)
    assert "is not a server certificate" in refusal(pair)
