"""The whole API, asked in every way that its description allows and forbids."""

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

#: How often each operation is asked; more, by hand, finds more.
EXAMPLES = os.environ.get("FUZZ_EXAMPLES")

#: What is not checked, and why.
UNCHECKED = {
    # A description cannot say which names there are, nor how much notice is enough.
    "positive_data_acceptance": {"enabled": False},
    # Of a parameter that is given twice, one counts; one that is unknown is ignored.
    "negative_data_rejection": {"enabled": False},
    # Whoever shows wrong tokens again and again is answered 429 instead of 401.
    "ignored_auth": {"enabled": False},
}
#: As far as bodies go, what is forbidden is refused.
STRICT = {**UNCHECKED, "negative_data_rejection": {"enabled": True}}


def a_schema(
    examples: int,
    *modes: GenerationMode,
    checks: Mapping[str, object] = UNCHECKED,
    limits: bool = True,  # whether to try the limits of every value too
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
    found = schemathesis.openapi.from_dict(description(), config=config)
    return found.exclude(path="/v1/stream")  # it never ends


def ask(case: AnyCase, service: RunningService) -> None:
    case.call_and_validate(
        base_url=service.control, headers={"Authorization": f"Bearer {TOKEN}"}
    )


@pytest.fixture(scope="module")
def wild(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service to which anything may happen."""
    with a_service(tmp_path_factory.mktemp("wild")) as made:
        yield made


@pytest.fixture(scope="module")
def orderly(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service that keeps its fleet."""
    with a_service(tmp_path_factory.mktemp("orderly")) as made:
        yield made


# --- anything ----------------------------------------------------------------

#: What has a body has no parameters in the query; but the fleet has both.
SENT, ALONE = ["POST", "PUT"], "^/v1/(?!fleet)"

reading = a_schema(size(6, 30), *GenerationMode).exclude(method=SENT, path_regex=ALONE)
sending = a_schema(size(6, 30), *GenerationMode, checks=STRICT).include(
    method=SENT, path_regex=ALONE
)


@reading.parametrize()
def test_whatever_is_asked_the_answer_is_as_described(
    case: AnyCase, wild: RunningService
) -> None:
    ask(case, wild)


@sending.parametrize()
def test_whatever_is_sent_the_answer_is_as_described(
    case: AnyCase, wild: RunningService
) -> None:
    ask(case, wild)


# --- names that there are ----------------------------------------------------

#: Names by the first word of the path.
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
def test_whatever_is_asked_of_what_is_there_the_answer_is_as_described(
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
    ask(case, orderly)


def an_id(service: RunningService, choice: int) -> str:
    """Choose a maintenance or an event; there is always one."""
    events = service.get("/v1/events?limit=1000")["items"]
    if not events:
        return str(service.announce(vms=["lone"])["id"])
    event = events[choice % len(events)]
    return str(event["id" if choice % 3 else "maintenance"])


def an_order(choice: int) -> Mapping[str, Any]:
    """Choose what is announced, and for whom; what else there is stays."""
    kinds = ("Freeze", "reboot", "Redeploy", "PREEMPT", "Terminate")
    nouns = ("vms", "host", "group")
    noun = nouns[choice % 3]
    names = NAMES[noun if noun == "vms" else f"{noun}s"]
    chosen = names[choice % len(names)]
    given: dict[str, Any] = dict.fromkeys(nouns)
    given["type"] = kinds[choice % len(kinds)]
    given[noun] = [chosen] if noun == "vms" else chosen
    given["not_before"] = None
    given["notice_seconds"] = None if choice % 2 else 3600
    return given
