"""ARM application: the middleware that handles /subscriptions, and its routes."""

import logging
from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from forewarn.errors import ForewarnError, StoreDamaged
from forewarn.server.arm import actions, approvals, async_operations, paths, reads
from forewarn.server.arm.paths import ArmPath, parse
from forewarn.server.arm.request import ArmError, ArmRequest
from forewarn.server.control.context import Services, get_caller
from forewarn.server.error_responses import (
    FAILED,
    arm_error,
    is_arm,
    new_request_id,
    retry_headers,
    status_of,
)

_log = logging.getLogger(__name__)

Handler = Callable[[ArmRequest], Response]

#: Path patterns and their handlers. The first match applies, so patterns with
#: fixed segments come before patterns with placeholders.
ROUTES: Mapping[str, Mapping[str, Handler]] = {
    paths.ALL_VMS: {"GET": reads.list_vms},
    paths.OPERATION: {"GET": async_operations.get_operation},
    paths.VMS: {"GET": reads.list_vms},
    paths.VM: {"GET": reads.get_vm, "DELETE": actions.delete_vm},
    f"{paths.VM}/instanceview": {"GET": reads.get_vm_view},
    f"{paths.VM}/start": {"POST": actions.start_vm},
    f"{paths.VM}/{{action}}": {"POST": actions.act_on_vm},
    paths.SCALE_SET: {"GET": reads.get_scale_set},
    f"{paths.SCALE_SET}/virtualmachines": {"GET": reads.list_members},
    f"{paths.SCALE_SET}/start": {"POST": actions.start_set},
    f"{paths.SCALE_SET}/{{action}}": {"POST": actions.act_on_set},
    paths.MEMBER: {"GET": reads.get_vm, "DELETE": actions.delete_member},
    f"{paths.MEMBER}/instanceview": {"GET": reads.get_vm_view},
    f"{paths.MEMBER}/start": {"POST": actions.start_vm},
    f"{paths.MEMBER}/{{action}}": {"POST": actions.act_on_vm},
    paths.AVAILABILITY_SET: {"GET": reads.get_availability_set},
    paths.EVENTS: {"POST": approvals.acknowledge_list},
    paths.EVENT: {"POST": approvals.acknowledge},
}


class ArmApp:
    """Middleware that handles /subscriptions and passes on all other requests."""

    def __init__(self, app: ASGIApp, services: Services) -> None:
        """Wrap `app`."""
        self._app = app
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to an ARM request; pass any other request to `app`."""
        if not is_arm(scope["path"]):
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            body = await request.body()
        except ClientDisconnect:
            return
        response = await run_in_threadpool(self._respond, request, body)
        _add_request_ids(request, response)
        await response(scope, receive, send)

    def _respond(self, request: Request, body: bytes) -> Response:
        try:
            return self._handle(request, body)
        except (ForewarnError, ArmError) as error:
            return failed(error)
        except Exception as error:  # no other code would log it
            _log.exception("%s %s failed", request.method, request.url.path)
            return failed(error)

    def _handle(self, request: Request, body: bytes) -> Response:
        query = {
            name.lower(): value
            for name, value in parse_qsl(request.url.query, keep_blank_values=True)
        }
        if not query.get("api-version", "").strip():
            raise ArmError(
                400,
                "The api-version query parameter (?api-version=) is required for all"
                " requests.",
                "MissingApiVersionParameter",
            )
        route = find_route(request.scope["path"])
        if route is None:
            raise ArmError(
                404, f"path {request.url.path} not found", "InvalidResourceType"
            )
        path, handlers = route
        if request.method not in handlers:
            raise ArmError(
                405,
                f"{request.method} is not allowed for {request.url.path}",
                headers={"Allow": ", ".join(handlers)},
            )
        arm_request = ArmRequest(
            services=self._services,
            holder=get_caller(request),
            path=path,
            query=query,
            body=body,
            origin=str(request.base_url).rstrip("/"),
        )
        return handlers[request.method](arm_request)


def find_route(path: str) -> tuple[ArmPath, Mapping[str, Handler]] | None:
    """Return the parsed `path` and its handlers by method, or None."""
    for pattern, handlers in ROUTES.items():
        parsed = parse(pattern, path)
        if parsed is not None:
            return parsed, handlers
    return None


def failed(error: Exception) -> Response:
    """Return the error response for an exception."""
    if isinstance(error, ArmError):
        return arm_error(error.status_code, error.detail, error.code, error.headers)
    status = status_of(error)
    if status == 500:
        return arm_error(500, FAILED)
    status = 400 if status == 422 else status  # ARM has no 422
    response = arm_error(status, str(error), headers=retry_headers(error))
    if isinstance(error, StoreDamaged):
        del response.headers["Retry-After"]
    return response


def _add_request_ids(request: Request, response: Response) -> None:
    """Add the service's request ID to a response, and the client's ID if requested."""
    response.headers.setdefault("x-ms-request-id", new_request_id())
    own = request.headers.get("x-ms-client-request-id")
    is_wanted = request.headers.get("x-ms-return-client-request-id", "").lower()
    if own is not None and is_wanted == "true":
        response.headers["x-ms-client-request-id"] = own
