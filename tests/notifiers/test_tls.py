"""Webhooks over TLS: only receivers trusted by the system get any data."""

import ssl
from collections.abc import Iterator

import pytest
from tests.notifiers.receiver import Receiver, a_receiver
from tests.notifiers.samples import a_notice, a_webhook, refusal
from tests.patience import PATIENCE
from tests.server.support.certificates import CertificateAuthority


def serving(authority: CertificateAuthority, address: str) -> ssl.SSLContext:
    files = authority.sign(address)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.cert, files.key)
    return context


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> CertificateAuthority:
    return CertificateAuthority(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def trusted(authority: CertificateAuthority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", authority.file)


@pytest.fixture
def secure(authority: CertificateAuthority) -> Iterator[Receiver]:
    with a_receiver(serving(authority, "127.0.0.1")) as server:
        yield server


def test_untrusted_certificate_is_refused(secure: Receiver) -> None:
    assert "an untrusted certificate" in refusal(a_webhook(secure.url))
    assert secure.got == []


@pytest.mark.usefixtures("trusted")
def test_certificate_trusted_by_the_system_is_accepted(secure: Receiver) -> None:
    a_webhook(secure.url, "hush").notify(a_notice())
    (got,) = secure.got
    assert got.headers["Host"] == secure.url.removeprefix("https://")


@pytest.mark.usefixtures("trusted")
def test_certificate_for_another_address_is_refused(
    authority: CertificateAuthority,
) -> None:
    with a_receiver(serving(authority, "127.0.0.2")) as other:
        assert "IP address mismatch" in refusal(a_webhook(other.url))
        assert other.got == []


@pytest.mark.usefixtures("trusted")
def test_slow_response_times_out(secure: Receiver) -> None:
    secure.reply = secure.trickle
    message = refusal(a_webhook(secure.url, timeout=0.2))
    assert "did not respond within 0.2 s" in message


def test_receiver_without_tls_is_refused(receiver: Receiver) -> None:
    url = receiver.url.replace("http://", "https://")
    assert "cannot reach" in refusal(a_webhook(url, timeout=PATIENCE))
