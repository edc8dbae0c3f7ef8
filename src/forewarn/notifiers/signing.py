"""HMAC signatures, which prove the origin and the age of a message."""

import hmac
from collections.abc import Sequence
from datetime import datetime

#: The header with the signatures.
SIGNATURE = "Forewarn-Signature"


def signature(body: bytes, secrets: Sequence[str], at: datetime) -> str:
    """Sign `body` with each of `secrets`; there are several during a rotation."""
    seconds = int(at.timestamp())
    signed = b"%d.%s" % (seconds, body)
    digests = [hmac.digest(each.encode(), signed, "sha256").hex() for each in secrets]
    return ",".join([f"t={seconds}", *(f"v1={each}" for each in digests)])
