"""Unmodified Azure SDK clients, connected to a forewarn service."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from azure.core.credentials import AccessToken
from azure.core.pipeline import PipelineRequest, PipelineResponse
from azure.core.pipeline.policies import SansIOHTTPPolicy
from azure.mgmt.compute import ComputeManagementClient
from azure.mgmt.maintenance import MaintenanceManagementClient
from tests.server.support.service import RunningService

SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True)
class BearerPolicy(SansIOHTTPPolicy[Any, Any]):
    """Policy that sends a token even over plain HTTP, which the SDK's own refuses."""

    token: str
    polled: list[str] = field(default_factory=list)  # bodies of poll responses

    def on_request(self, request: PipelineRequest[Any]) -> None:
        request.http_request.headers["Authorization"] = f"Bearer {self.token}"

    def on_response(
        self, request: PipelineRequest[Any], response: PipelineResponse[Any, Any]
    ) -> None:
        if "/operations/" in request.http_request.url:
            self.polled.append(response.http_response.text())


@dataclass(frozen=True, slots=True)
class Credential:
    """Credential with a forewarn token instead of a directory's."""

    token: str

    def get_token(self, *scopes: str, **options: Any) -> AccessToken:
        return AccessToken(self.token, 2**31)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sdk:
    """Both SDK clients, and the bodies of their poll responses."""

    compute: ComputeManagementClient
    maintenance: MaintenanceManagementClient
    polled: list[str]


@contextmanager
def an_sdk(service: RunningService, **options: Any) -> Iterator[Sdk]:
    """Connect the SDKs to `service`; over TLS, they use all of their own policies."""
    credential, policy = Credential(service.token), BearerPolicy(service.token)
    settings: dict[str, Any] = {"base_url": service.control, **options}
    if service.control.startswith("http:"):
        settings["authentication_policy"] = policy
    with ExitStack() as stack:
        compute = ComputeManagementClient(credential, SUBSCRIPTION, **settings)
        maintenance = MaintenanceManagementClient(credential, SUBSCRIPTION, **settings)
        yield Sdk(
            compute=stack.enter_context(compute),
            maintenance=stack.enter_context(maintenance),
            polled=policy.polled,
        )
