"""Fuzz tests of the API with valid and invalid requests from its description."""

import os
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias
from zlib import crc32

import pytest
import schemathesis
from schemathesis import BaseSchema, Case, Config, GenerationMode
from tests.lanes import IS_FULL, SEED, size
from tests.server.support.api_description import description
from tests.server.support.service import TOKEN, RunningService, a_service

AnyCase: TypeAlias = "Case[Any]"

#: Requests per operation; set a higher number by hand to find more.
EXAMPLES = os.environ.get("FUZZ_EXAMPLES")

#: Disabled checks and the reasons.
UNCHECKED = {
    # A description cannot express which names exist or how much notice is enough.
    "positive_data_acceptance": {"enabled": False},
    # One value of a repeated parameter counts; unknown parameters are ignored.
    "negative_data_rejection": {"enabled": False},
    # Repeated wrong tokens get 429 instead of 401.
    "ignored_auth": {"enabled": False},
}
#: For bodies, invalid data must be refused.
STRICT = {**UNCHECKED, "negative_data_rejection": {"enabled": True}}


def a_schema(
    examples: int,
    *modes: GenerationMode,
    checks: Mapping[str, object] = UNCHECKED,
    limits: bool = True,  # also try the limits of every value
) -> BaseSchema:
    config = Config.from_dict(
        {
            "seed": SEED,
            "generation": {
                "max-examples": int(EXAMPLES or examples),
                "deterministic": EXAMPLES is None and not IS_FULL,
                "database": "none",
            },
            "checks": checks,
            "phases": {"coverage": {"enabled": limits}},
        }
    )
    config.projects.default.generation.modes = [*modes]
    schema = schemathesis.openapi.from_dict(description(), config=config)
    return schema.exclude(path="/v1/stream")  # it never ends


def check_case(case: AnyCase, service: RunningService) -> None:
    case.call_and_validate(
        base_url=service.control, headers={"Authorization": f"Bearer {TOKEN}"}
    )


@pytest.fixture(scope="module")
def mutable_service(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[RunningService]:
    """Start a service that may be changed in any way."""
    with a_service(tmp_path_factory.mktemp("wild")) as running:
        yield running


@pytest.fixture(scope="module")
def orderly(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """Start a service that keeps its fleet."""
    with a_service(tmp_path_factory.mktemp("orderly")) as running:
        yield running


# --- any request -------------------------------------------------------------

#: Operations with a body have no query parameters, except for the fleet.
SENT, ALONE = ["POST", "PUT"], "^/v1/(?!fleet)"

reading = a_schema(size(6, 30), *GenerationMode).exclude(method=SENT, path_regex=ALONE)
sending = a_schema(size(6, 30), *GenerationMode, checks=STRICT).include(
    method=SENT, path_regex=ALONE
)


@reading.parametrize()
def test_read_response_matches_the_description(
    case: AnyCase, mutable_service: RunningService
) -> None:
    check_case(case, mutable_service)


@sending.parametrize()
def test_write_response_matches_the_description(
    case: AnyCase, mutable_service: RunningService
) -> None:
    check_case(case, mutable_service)


# --- existing names ----------------------------------------------------------

#: Existing names by the first segment of the path.
NAMES: Mapping[str, tuple[str, ...]] = {
    "vms": ("web-0", "web-1", "web-2", "db-0", "lone"),
    "groups": ("web", "db", "empty", "lone"),
    "hosts": ("host-a", "host-b"),
    "tokens": ("ci",),
}
known = a_schema(size(15, 60), GenerationMode.POSITIVE, limits=False).exclude(
    method="DELETE"
)


@known.exclude(path="/v1/fleet").parametrize()
def test_response_for_existing_names_matches_the_description(
    case: AnyCase, orderly: RunningService
) -> None:
    choice = crc32(repr((case.body, case.query)).encode())
    noun = case.path.split("/")[2] if case.path.startswith("/v1/") else ""
    if "name" in case.path_parameters:
        case.path_parameters["name"] = NAMES[noun][choice % len(NAMES[noun])]
    if "id" in case.path_parameters:
        case.path_parameters["id"] = an_id(orderly, choice)
    if case.path.startswith("/v1/maintenances") and isinstance(case.body, dict):
        case.body = {**case.body, **an_order(choice)}
    if noun == "tokens" and isinstance(case.body, dict):
        role = ("viewer", "Operator", "admin")[choice % 3]
        case.body = {**case.body, "name": f"t{choice}", "role": role, "group": None}
    check_case(case, orderly)


def an_id(service: RunningService, choice: int) -> str:
    """Return the id of a maintenance or event, announcing one if there is none."""
    events = service.get("/v1/events?limit=1000")["items"]
    if not events:
        return str(service.announce(vms=["lone"])["id"])
    event = events[choice % len(events)]
    return str(event["id" if choice % 3 else "maintenance"])


def an_order(choice: int) -> Mapping[str, Any]:
    """Return type, target and notice of an announcement."""
    kinds = ("Freeze", "reboot", "Redeploy", "PREEMPT", "Terminate")
    nouns = ("vms", "host", "group")
    noun = nouns[choice % 3]
    names = NAMES[noun if noun == "vms" else f"{noun}s"]
    chosen = names[choice % len(names)]
    order: dict[str, Any] = dict.fromkeys(nouns)
    order["type"] = kinds[choice % len(kinds)]
    order[noun] = [chosen] if noun == "vms" else chosen
    order["not_before"] = None
    order["notice_seconds"] = None if choice % 2 else 3600
    return order
