"""OpenAPI description: complete and correct.

`RunningService.ask` checks in every test that responses match the description.
"""

import jsonschema_rs
import pytest
from tests.server.support.api_description import description, faults

from forewarn.server.control.models import SCHEMAS
from forewarn.server.control.openapi import OPERATIONS

LISTED = {
    (method, path): operation
    for path, methods in description()["paths"].items()
    for method, operation in methods.items()
}


def test_description_lists_exactly_the_routes() -> None:
    assert OPERATIONS.keys() == LISTED.keys()


@pytest.mark.parametrize("name", SCHEMAS)
def test_schema_is_valid(name: str) -> None:
    jsonschema_rs.meta.validate({**SCHEMAS[name], "$schema": _DRAFT})


def test_every_schema_is_used() -> None:
    text = str(description())
    assert [name for name in SCHEMAS if f"schemas/{name}'" not in text] == []


@pytest.mark.parametrize("operation", LISTED, ids=" ".join)
def test_every_error_is_a_problem_document(operation: tuple[str, str]) -> None:
    answers = LISTED[operation]["responses"]
    errors = {code: response for code, response in answers.items() if code >= "400"}
    own = {str(code) for code in OPERATIONS[operation].success}
    assert all(
        [*response["content"]] == ["application/problem+json"]
        for code, response in errors.items()
        if code not in own
    )


@pytest.mark.parametrize("operation", LISTED, ids=" ".join)
def test_description_shows_which_operations_need_a_token(
    operation: tuple[str, str],
) -> None:
    needs = "security" in LISTED[operation]
    assert needs is (operation[1] not in ("/healthz", "/readyz"))
    assert needs is ("401" in LISTED[operation]["responses"])


@pytest.mark.parametrize(
    ("status", "kind", "body", "said"),
    [
        (200, "application/json", b'{"items": [], "next": null}', 0),
        (200, "application/json", b'{"items": [], "next": null, "more": 1}', 1),
        (200, "application/json", b'{"items": [{"name": "x"}], "next": null}', 1),
        (200, "text/html", b"", 1),
        (418, "application/json", b"", 1),
    ],
)
def test_response_that_does_not_match_the_description_is_detected(
    status: int, kind: str, body: bytes, said: int
) -> None:
    assert bool(faults("GET", "/v1/vms?limit=1", status, kind, body)) is bool(said)


_DRAFT = "https://json-schema.org/draft/2020-12/schema"
