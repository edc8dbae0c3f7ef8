"""A request to the Azure Resource Manager API: path, caller, query and body."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from forewarn.engine.tokens import Holder
from forewarn.server.arm.errors import Refusal
from forewarn.server.arm.paths import Path
from forewarn.server.control.asked import Parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request, with the services that handle it."""

    parts: Parts
    holder: Holder
    path: Path
    query: Mapping[str, str]  # names in lower case
    body: bytes
    origin: str  # scheme and host that the request was sent to

    @property
    def by(self) -> str:
        """The caller's name in the journal."""
        return self.holder.name

    @property
    def version(self) -> str:
        """The api-version; any value is accepted."""
        return self.query["api-version"]

    def read_body(self) -> Mapping[str, object]:
        """Parse the body, which must be a JSON object."""
        try:
            parsed = json.loads(self.body)
            json.dumps(parsed, ensure_ascii=False).encode()  # errors may quote it
        except (ValueError, RecursionError):  # not JSON, or not even text
            parsed = None
        if not isinstance(parsed, dict):
            raise Refusal(
                400, "the body must be a JSON object", "InvalidRequestContent"
            )
        return parsed
