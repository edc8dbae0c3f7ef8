"""Signatures: who has the secret can tell that a message is ours, and how old it is."""

import hmac
from collections.abc import Sequence
from datetime import datetime

#: The header that holds them.
SIGNATURE = "Forewarn-Signature"


def signature(body: bytes, secrets: Sequence[str], at: datetime) -> str:
    """Sign `body` with each of `secrets`; several are in use while they are changed."""
    seconds = int(at.timestamp())
    signed = b"%d.%s" % (seconds, body)
    made = [hmac.digest(each.encode(), signed, "sha256").hex() for each in secrets]
    return ",".join([f"t={seconds}", *(f"v1={each}" for each in made)])
