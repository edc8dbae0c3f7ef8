"""One request in this dialect: what it names, who sent it, what it brings."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from forewarn.engine.tokens import Holder
from forewarn.server.arm.errors import Refusal
from forewarn.server.arm.paths import Path
from forewarn.server.control.asked import Parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked, and of whom."""

    parts: Parts
    holder: Holder
    path: Path
    query: Mapping[str, str]  # names in lower case
    body: bytes
    origin: str  # the scheme and host that the request was sent to

    @property
    def by(self) -> str:
        """The name that the journal tells."""
        return self.holder.name

    @property
    def version(self) -> str:
        """The api-version; any is as good as another."""
        return self.query["api-version"]

    def read_body(self) -> Mapping[str, object]:
        """Read the body, a JSON object."""
        try:
            read = json.loads(self.body)
            json.dumps(read, ensure_ascii=False).encode()  # it may have to be told
        except (ValueError, RecursionError):  # not JSON, or not even text
            read = None
        if not isinstance(read, dict):
            raise Refusal(
                400, "the body must be a JSON object", "InvalidRequestContent"
            )
        return read
