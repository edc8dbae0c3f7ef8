"""TLS trust: certificate checks, and errors that explain what is wrong."""

import ssl
from collections.abc import Mapping

from forewarn.errors import Lost, Unreachable, WrongUsage

_STRANGER = (
    "is signed by an authority that is not known here; name that authority's"
    " certificate with --ca FILE"
)
_OTHER_NAME = (
    "is for another name; ask for the service by a name that is in it, or give it one"
    " that has this name"
)

#: OpenSSL's verification error codes.
_WRONG: Mapping[int, str] = {
    9: "is not valid yet; are the clocks of both machines right?",
    10: "has expired; the service needs a new one (--tls-cert)",
    18: _STRANGER,
    19: _STRANGER,
    20: _STRANGER,
    21: _STRANGER,
    62: _OTHER_NAME,
    64: _OTHER_NAME,
}


def trusting(ca: str | None) -> ssl.SSLContext:
    """Trust the certificate authority in the file `ca`, or those of this machine."""
    try:
        return ssl.create_default_context(cafile=ca)
    except ssl.SSLError as error:
        raise WrongUsage(f"--ca: there is no certificate in PEM in {ca}") from error
    except OSError as error:
        raise WrongUsage(f"--ca: {ca} cannot be read: {error.strerror}") from error


def distrust(error: ssl.SSLError, url: str) -> Unreachable:
    """Return the error that explains why TLS with `url` failed."""
    if isinstance(error, ssl.SSLCertVerificationError):
        why = _WRONG.get(error.verify_code, f"is refused: {error.verify_message}")
        return Unreachable(f"the certificate of {url} {why}")
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return Lost(f"the connection to {url} broke before it had answered")
    plain = url.replace("https:", "http:", 1)
    return Unreachable(
        f"what answers at {url} does not speak TLS ({error.reason or error}); if the"
        f" service has no certificate, write {plain}"
    )


def is_it_tls(url: str) -> str:
    """Return a hint to use https, if `url` does not."""
    if url.startswith("https:"):
        return ""
    return f"; if it has a certificate, write {url.replace('http:', 'https:', 1)}"
