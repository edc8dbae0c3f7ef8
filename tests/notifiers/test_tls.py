"""Webhooks over TLS: only receivers trusted by the system get any data."""

import ssl
from collections.abc import Iterator
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.notifiers.receiver import Receiver, a_receiver
from tests.notifiers.samples import a_notice
from tests.notifiers.test_webhook import SHORT, a_webhook, refusal
from tests.patience import PATIENCE

from forewarn.clocks import SystemClock


def write_certificate(path: Path, address: str) -> None:
    """Write a key and a self-signed certificate for `address`."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "receiver")])
    now = SystemClock().now()
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))]), False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + signed.public_bytes(serialization.Encoding.PEM)
    )


def serving(path: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tls") / "receiver.pem"
    write_certificate(path, "127.0.0.1")
    return path


@pytest.fixture
def secure(certificate: Path) -> Iterator[Receiver]:
    with a_receiver(serving(certificate)) as server:
        yield server


def test_untrusted_certificate_is_refused(secure: Receiver) -> None:
    assert "a certificate that is not trusted" in refusal(a_webhook(secure.url))
    assert secure.got == []


def test_certificate_trusted_by_the_system_is_accepted(
    secure: Receiver, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    a_webhook(secure.url, "hush").notify(a_notice())
    (got,) = secure.got
    assert got.headers["Host"] == secure.url.removeprefix("https://")


def test_certificate_for_another_address_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "other.pem"
    write_certificate(path, "127.0.0.2")
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    with a_receiver(serving(path)) as other:
        assert "IP address mismatch" in refusal(a_webhook(other.url))
        assert other.got == []


def test_slow_response_times_out(
    secure: Receiver, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    secure.reply = secure.trickle
    message = refusal(a_webhook(secure.url, timeout=SHORT))
    assert "did not answer within 0.2 s" in message


def test_receiver_without_tls_is_refused(receiver: Receiver) -> None:
    url = receiver.url.replace("http://", "https://")
    assert "cannot be reached" in refusal(a_webhook(url, timeout=PATIENCE))
