"""Who may use the control plane: one token, compared in constant time."""

import hmac
from collections.abc import Mapping


class Tokens:
    """Tokens and the names of their holders."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        """Know `tokens`, each with the name of its holder."""
        self._tokens = {token.encode(): name for token, name in tokens.items()}

    def name_of(self, token: str) -> str | None:
        """Find who holds `token`; None: nobody."""
        given = token.encode()
        found = None
        for known, name in self._tokens.items():
            if hmac.compare_digest(known, given):
                found = name
        return found
