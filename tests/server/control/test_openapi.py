"""OpenAPI description: complete and correct.

`RunningService.request` checks in every test that responses match the description.
"""

import jsonschema_rs
import pytest
from tests.server.support.api_description import description, faults

LISTED = {
    (method, path): operation
    for path, methods in description()["paths"].items()
    for method, operation in methods.items()
}
#: Responses that are not JSON, and the one error that is not a problem.
TEXT, NOT_READY = ("/v1/stream", "/metrics"), ("/readyz", "503")


@pytest.mark.parametrize("name", description()["components"]["schemas"])
def test_schema_is_valid(name: str) -> None:
    schema = description()["components"]["schemas"][name]
    jsonschema_rs.meta.validate({**schema, "$schema": _DRAFT})


@pytest.mark.parametrize("operation", LISTED, ids=" ".join)
def test_every_response_has_a_model(operation: tuple[str, str]) -> None:
    path = operation[1]
    for code, response in LISTED[operation]["responses"].items():
        is_problem = code >= "400" and (path, code) != NOT_READY
        kind = "application/problem+json" if is_problem else "application/json"
        if code == "204":
            assert "content" not in response
        elif is_problem or path not in TEXT:
            assert [*response["content"]] == [kind]
            assert response["content"][kind]["schema"].keys() == {"$ref"}


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
