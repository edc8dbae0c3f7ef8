"""Whether the service is the one that is meant: certificates, and what is wrong."""

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

#: What OpenSSL has against a certificate, by its number.
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
    """Trust the authority in the file `ca`, or those that this machine trusts."""
    try:
        return ssl.create_default_context(cafile=ca)
    except ssl.SSLError as error:
        raise WrongUsage(f"--ca: there is no certificate in PEM in {ca}") from error
    except OSError as error:
        raise WrongUsage(f"--ca: {ca} cannot be read: {error.strerror}") from error


def distrust(error: ssl.SSLError, url: str) -> Unreachable:
    """Say why no TLS came about with what answers at `url`."""
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
    """Remind whoever asks without TLS that a service with TLS would hang up."""
    if url.startswith("https:"):
        return ""
    return f"; if it has a certificate, write {url.replace('http:', 'https:', 1)}"
