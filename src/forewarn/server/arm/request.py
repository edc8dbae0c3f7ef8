"""Requests to the Azure Resource Manager API, and errors that refuse them."""

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from starlette.exceptions import HTTPException

from forewarn.engine.tokens import TokenHolder
from forewarn.ports import Snapshot
from forewarn.server.arm.paths import ArmPath
from forewarn.server.control.context import Services


class ArmError(HTTPException):
    """An error that refuses a request; `code` is intended for programs."""

    def __init__(
        self,
        status: int,
        message: str,
        code: str | None = None,  # None for the usual code of `status`
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Create an error that refuses a request with this HTTP `status`."""
        super().__init__(status, message, dict(headers or {}))
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmRequest:
    """One request, with the services that handle it."""

    services: Services
    holder: TokenHolder
    path: ArmPath
    query: Mapping[str, str]  # names in lower case
    body: bytes
    origin: str  # scheme and host to which the request was sent

    @property
    def by(self) -> str:
        """The caller's name in the journal."""
        return self.holder.name

    @property
    def version(self) -> str:
        """The api-version; any value is accepted."""
        return self.query["api-version"]

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Return a snapshot of the store."""
        return self.services.engine.store.snapshot()

    def read_body(self) -> Mapping[str, object]:
        """Parse the body, which must be a JSON object."""
        try:
            parsed = json.loads(self.body)
            json.dumps(parsed, ensure_ascii=False).encode()  # errors may quote the body
        except (ValueError, RecursionError):  # not JSON, or not even text
            parsed = None
        if not isinstance(parsed, dict):
            raise ArmError(
                400, "the body must be a JSON object", "InvalidRequestContent"
            )
        return parsed
