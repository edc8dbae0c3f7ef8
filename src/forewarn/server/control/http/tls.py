"""TLS for the control plane, whose certificate is tested before clients see it."""

import ssl
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from forewarn.errors import CannotStart

_ROUNDS = 8  # more than any handshake requires

#: OpenSSL's error codes for certificates that no client would accept.
_REJECTED: Mapping[int, str] = {
    9: "is not valid yet; check this machine's clock",
    10: "has expired; get a new one",
    26: (
        "is not a server certificate; get one whose extended key usage includes"
        " serverAuth"
    ),
}


def tls_context(certificate: str, key: str) -> ssl.SSLContext:
    """Return a TLS context from the PEM files `certificate` and `key`."""
    _check_pem(certificate, "-----BEGIN CERTIFICATE-----", "certificate")
    _check_pem(key, "PRIVATE KEY-----", "private key")

    def passphrase() -> str:
        raise CannotStart(
            f"the private key in {key} is encrypted; store it without a passphrase"
            f" (openssl pkey -in {key} -out PLAIN) in a file that only the service can"
            " read"
        )

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key, passphrase)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            why = "they do not match"
        else:
            why = str(error.reason or error).lower().replace("_", " ")
        raise CannotStart(
            f"cannot use the certificate in {certificate} with the private key in"
            f" {key}: {why}"
        ) from error
    _try_handshake(context, certificate)
    return context


def _check_pem(name: str, mark: str, noun: str) -> None:
    try:
        content = Path(name).read_bytes()
    except OSError as error:
        raise CannotStart(
            f"cannot read the {noun} in {name}: {error.strerror}"
        ) from error
    if mark.encode() not in content:
        raise CannotStart(f"{name} contains no {noun} in PEM format")


def _try_handshake(context: ssl.SSLContext, certificate: str) -> None:
    """Test `context` with a client that trusts the certificate but checks its dates."""
    client_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client_context.check_hostname = False
    client_context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    client_context.load_verify_locations(certificate)
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context.wrap_bio(back, there)
    server = context.wrap_bio(there, back, server_side=True)
    try:
        for _ in range(_ROUNDS):
            for side in (client, server):
                with suppress(ssl.SSLWantReadError):
                    side.do_handshake()
    except ssl.SSLCertVerificationError as error:
        why = _REJECTED.get(error.verify_code)
        if why is not None:  # anything else depends on what clients trust
            raise CannotStart(f"the certificate in {certificate} {why}") from error
    except ssl.SSLError as error:
        raise CannotStart(
            f"cannot use the certificate in {certificate}: {error.reason}"
        ) from error
