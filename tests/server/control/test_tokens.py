"""Tokens: creation, roles, expiry, revocation and guessing."""

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from tests.patience import PATIENCE
from tests.server.conftest import Serve
from tests.server.control.test_control import GUARDED
from tests.server.metadata.test_rate_limit import ManualStopwatch
from tests.server.support.service import RunningService, a_service, send_request

from forewarn.server.control.auth.credentials import token_attempts

#: Routes by the least role they need, beyond any valid token.
NEEDS_OPERATOR = {
    (method, path)
    for method, path in GUARDED
    if method == "POST"
    and not path.startswith(("/v1/tokens", "/v1/session", "/v1/portal"))
}
NEEDS_ADMIN = {
    (method, path)
    for method, path in GUARDED
    if (method in ("PUT", "DELETE") and path != "/v1/session")
    or path.startswith("/v1/tokens")
}


def make(service: RunningService, name: str, role: str, **more: object) -> Any:
    body = {"name": name, "role": role, **more}
    answer = service.request("POST", "/v1/tokens", body)
    assert answer.status == 201, answer.body
    return answer.json


def client_with_token(
    service: RunningService, name: str, role: str, **more: object
) -> RunningService:
    """Return a client of the same service with a new token."""
    return replace(service, token=make(service, name, role, **more)["token"])


# --- creating and listing ----------------------------------------------------


def test_token_is_shown_only_once(
    service: RunningService,
) -> None:
    created = make(service, "ci", "viewer")
    assert created["token"].startswith("fw_")
    assert len(created["token"]) > 40
    (listed,) = service.get("/v1/tokens")["items"]
    assert listed == {name: created[name] for name in created if name != "token"}
    journal = json.dumps(service.facts())
    assert "ci" in journal
    assert created["token"].split("_", 2)[2] not in journal


def test_store_contains_no_token(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    with a_service(tmp_path, store=f"sqlite:///{file}") as service:
        text = make(service, "ci", "viewer")["token"]
    secret = text.split("_", 2)[2].encode()
    content = b"".join(part.read_bytes() for part in tmp_path.glob("store.db*"))
    with sqlite3.connect(file) as database:
        (body,) = database.execute("SELECT body FROM tokens").fetchone()
    assert secret not in content
    assert '"name":"ci"' in body


def test_tokens_survive_a_service_restart(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with a_service(tmp_path, store=url) as service:
        valid = make(service, "good", "viewer")["token"]
        revoked = make(service, "gone", "viewer")["token"]
        assert service.request("DELETE", "/v1/tokens/gone").status == 204
    with a_service(tmp_path, store=url) as again:
        assert replace(again, token=valid).request("GET", "/v1/vms").status == 200
        assert replace(again, token=revoked).request("GET", "/v1/vms").status == 401


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"name": "x", "role": "king"}, 422),
        ({"name": "x", "role": "group"}, 422),
        ({"name": "x", "role": "group", "group": "nobody"}, 404),
        ({"name": "x", "role": "viewer", "group": "web"}, 422),
        ({"name": "", "role": "viewer"}, 422),
        ({"name": "a b", "role": "viewer"}, 422),
        ({"name": "x" * 81, "role": "viewer"}, 422),
        ({"name": "Admin", "role": "viewer"}, 422),
        ({"name": "forewarn", "role": "viewer"}, 422),
        ({"name": "x", "role": "viewer", "expires_in_seconds": 0}, 422),
        ({"name": "x", "role": "viewer", "expires_at": "2020-01-01T00:00:00Z"}, 422),
        ({"name": "x", "role": "viewer", "expires_at": "tomorrow"}, 422),
        (
            {
                "name": "x",
                "role": "viewer",
                "expires_at": "2099-01-01T00:00:00Z",
                "expires_in_seconds": 9,
            },
            422,
        ),
        ({"name": "x", "role": "viewer", "secret": "mine"}, 422),
        ({"role": "viewer"}, 422),
    ],
)
def test_invalid_token_request_is_refused(
    shared: RunningService, body: object, status: int
) -> None:
    answer = shared.request("POST", "/v1/tokens", body)
    assert answer.status == status
    assert answer.detail
    assert shared.get("/v1/tokens")["items"] == []


def test_token_names_are_unique(service: RunningService) -> None:
    make(service, "ci", "viewer")
    answer = service.request("POST", "/v1/tokens", {"name": "CI", "role": "admin"})
    assert answer.status == 409
    assert "revoke it" in answer.detail


def test_name_of_a_revoked_token_can_be_reused(
    service: RunningService,
) -> None:
    make(service, "ci", "viewer")
    service.request("DELETE", "/v1/tokens/ci")
    again = make(service, "ci", "operator")
    assert [token["id"] for token in service.get("/v1/tokens")["items"]] == [
        again["id"]
    ]


def test_concurrent_requests_for_one_name_create_one_token(
    service: RunningService,
) -> None:
    def create_token(_: int) -> int:
        body = {"name": "ci", "role": "viewer"}
        return service.request("POST", "/v1/tokens", body).status

    with ThreadPoolExecutor(8) as pool:
        statuses = sorted(pool.map(create_token, range(8)))
    assert statuses == [201] + [409] * 7


def test_token_list_is_paged(service: RunningService) -> None:
    names = [f"t{number}" for number in range(5)]
    for name in names:
        make(service, name, "viewer")
    listed, after = [], ""
    while True:
        page = service.get(f"/v1/tokens?limit=2{after}")
        listed += [token["name"] for token in page["items"]]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
    assert listed == names


# --- roles -------------------------------------------------------------------


@pytest.fixture(scope="module")
def role_clients(shared: RunningService) -> dict[str, RunningService]:
    roles = ("viewer", "operator", "admin")
    return {role: client_with_token(shared, f"a-{role}", role) for role in roles}


@pytest.mark.parametrize(("method", "path"), sorted(NEEDS_OPERATOR | NEEDS_ADMIN))
def test_viewer_cannot_change_anything(
    role_clients: dict[str, RunningService], method: str, path: str
) -> None:
    answer = role_clients["viewer"].request(method, path, raw=b"nonsense")
    assert answer.status == 403
    assert "a-viewer" in answer.detail


@pytest.mark.parametrize(("method", "path"), sorted(NEEDS_ADMIN))
def test_operator_cannot_manage_fleet_or_tokens(
    role_clients: dict[str, RunningService], method: str, path: str
) -> None:
    answer = role_clients["operator"].request(method, path, raw=b"nonsense")
    assert answer.status == 403
    assert "admin" in answer.detail


@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
@pytest.mark.parametrize("path", ["/v1/vms", "/v1/events", "/v1/clock", "/metrics"])
def test_every_role_can_read(
    role_clients: dict[str, RunningService], role: str, path: str
) -> None:
    assert role_clients[role].request("GET", path).status == 200


def test_journal_names_the_operator(service: RunningService) -> None:
    ops = client_with_token(service, "night-shift", "operator")
    maintenance = ops.announce(vms=["web-0"])
    ops.request("POST", f"/v1/maintenances/{maintenance['id']}/cancel")
    facts = service.facts("Announced", "Canceled")
    assert [fact["by"] for fact in facts] == ["night-shift", "night-shift"]


def test_admin_can_manage_fleet_and_tokens(service: RunningService) -> None:
    chief = client_with_token(service, "chief", "admin")
    assert chief.request("PUT", "/v1/hosts/host-c", {}).status == 200
    assert make(chief, "ci", "viewer")["created_by"] == "chief"
    assert chief.request("DELETE", "/v1/tokens/ci").status == 204
    created, revoked = service.facts("TokenCreated", "TokenRevoked")[1:]
    assert (created["by"], created["name"], created["role"]) == (
        "chief",
        "ci",
        "viewer",
    )
    assert (revoked["by"], revoked["name"]) == ("chief", "ci")


def test_unknown_path_needs_an_admin(
    role_clients: dict[str, RunningService],
) -> None:
    assert role_clients["operator"].request("PUT", "/v1/nothing", {}).status == 403
    assert role_clients["admin"].request("PUT", "/v1/nothing", {}).status == 404


def test_idempotency_keys_are_separate_per_token(service: RunningService) -> None:
    first_operator = client_with_token(service, "one", "operator")
    second_operator = client_with_token(service, "two", "operator")
    body = {"type": "Reboot", "vms": ["web-0"]}
    first = first_operator.request(
        "POST", "/v1/maintenances", body, Idempotency_Key="k"
    )
    other = {"type": "Reboot", "vms": ["web-1"]}
    second = second_operator.request(
        "POST", "/v1/maintenances", other, Idempotency_Key="k"
    )
    again = first_operator.request(
        "POST", "/v1/maintenances", body, Idempotency_Key="k"
    )
    assert (first.status, second.status, again.status) == (201, 201, 201)
    assert again.body == first.body != second.body


# --- expiry and revocation ---------------------------------------------------


def test_token_expires_by_the_service_clock(service: RunningService) -> None:
    brief = client_with_token(service, "brief", "viewer", expires_in_seconds=60)
    service.advance(59)
    assert brief.request("GET", "/v1/vms").status == 200
    service.advance(1)
    answer = brief.request("GET", "/v1/vms")
    assert answer.status == 401
    assert "expired" in answer.detail


def test_name_of_an_expired_token_can_be_reused(service: RunningService) -> None:
    make(service, "brief", "viewer", expires_in_seconds=60)
    service.advance(60)
    make(service, "brief", "viewer")
    assert len(service.get("/v1/tokens")["items"]) == 2


@pytest.mark.parametrize("by", ["name", "id"])
def test_revoked_token_gets_401(service: RunningService, by: str) -> None:
    created = make(service, "ci", "viewer")
    ci = replace(service, token=created["token"])
    assert ci.request("GET", "/v1/vms").status == 200
    assert service.request("DELETE", f"/v1/tokens/{created[by]}").status == 204
    answer = ci.request("GET", "/v1/vms")
    assert answer.status == 401
    assert "revoked" in answer.detail
    assert service.get("/v1/tokens")["items"] == []


def test_second_revocation_has_no_effect(service: RunningService) -> None:
    created = make(service, "ci", "viewer")
    for _ in range(2):
        assert service.request("DELETE", f"/v1/tokens/{created['id']}").status == 204
    assert len(service.facts("TokenRevoked")) == 1


def test_token_named_like_the_id_of_another_is_distinct(
    service: RunningService,
) -> None:
    first = make(service, "ci", "viewer")
    make(service, first["id"], "viewer")
    for _ in range(2):
        assert service.request("DELETE", f"/v1/tokens/{first['id']}").status == 204
    (left,) = service.get("/v1/tokens")["items"]
    assert left["name"] == first["id"]


def test_revoking_an_unknown_token_gets_404(shared: RunningService) -> None:
    assert shared.request("DELETE", "/v1/tokens/nobody").status == 404


def test_admin_token_cannot_be_revoked_over_the_api(shared: RunningService) -> None:
    answer = shared.request("DELETE", "/v1/tokens/admin")
    assert answer.status == 409
    assert "FOREWARN_TOKEN" in answer.detail


def test_stream_ends_with_its_token(service: RunningService) -> None:
    created = make(service, "ci", "viewer")
    headers = {"Authorization": f"Bearer {created['token']}"}
    with urlopen(
        Request(f"{service.control}/v1/stream", headers=headers), timeout=PATIENCE
    ) as stream:
        assert stream.readline().startswith(b":")
        service.request("DELETE", "/v1/tokens/ci")
        assert b"Announced" not in stream.read()


def test_last_use_is_recorded_to_the_minute(
    service: RunningService,
) -> None:
    ci = client_with_token(service, "ci", "viewer")
    assert service.get("/v1/tokens")["items"][0]["last_used"] is None
    ci.request("GET", "/v1/vms")
    first = service.get("/v1/tokens")["items"][0]["last_used"]
    service.advance(59)
    ci.request("GET", "/v1/vms")
    assert service.get("/v1/tokens")["items"][0]["last_used"] == first
    service.advance(1)
    ci.request("GET", "/v1/vms")
    assert service.get("/v1/tokens")["items"][0]["last_used"] > first


# --- guessing ----------------------------------------------------------------


def try_token(service: RunningService, token: str = "fw_0_wrong") -> int:
    url = f"{service.control}/v1/vms"
    return send_request("GET", url, Authorization=f"Bearer {token}").status


def refusals(service: RunningService) -> dict[str, int]:
    """Sum the refusals in the journal; a heartbeat may split them into two facts."""
    attempts: dict[str, int] = {}
    for fact in service.facts("AccessRefused"):
        for refusal in fact["refusals"]:
            address = refusal["address"]
            attempts[address] = attempts.get(address, 0) + refusal["attempts"]
    return attempts


def test_invalid_token_is_journaled_without_the_token(service: RunningService) -> None:
    token_id = make(service, "ci", "viewer")["id"]
    tries = [f"fw_{token_id}_nearlyright", "sesame"]
    assert [try_token(service, guessed) for guessed in tries] == [401, 401]
    assert refusals(service) == {"127.0.0.1": 2}
    text = json.dumps(service.facts())
    assert not any(guessed in text for guessed in (*tries, "nearlyright"))


def test_invalid_forwarded_address_is_not_in_the_journal(
    serve: Serve,
) -> None:
    service = serve(control_host=["api.example"])
    url = f"{service.control}/v1/vms"
    for forwarded_for in ("<b>somebody</b>", "x" * 5000):
        send_request(
            "GET", url, Authorization="Bearer no", X_Forwarded_For=forwarded_for
        )
    assert refusals(service) == {"unknown": 2}


def test_repeated_guesses_get_429(serve: Serve) -> None:
    service = serve()
    url = f"{service.control}/v1/vms"
    answers = [
        send_request("GET", url, Authorization="Bearer wrong") for _ in range(25)
    ]
    assert [answer.status for answer in answers[:20]] == [401] * 20
    # Fewer than five are refused if the requests took several seconds.
    refused = [answer for answer in answers[20:] if answer.status == 429]
    assert int(refused[0].headers["Retry-After"]) >= 1
    assert "too many invalid tokens" in refused[0].detail
    assert service.request("GET", "/v1/vms").status == 200  # with a valid token


def test_missing_token_does_not_count_as_a_guess(serve: Serve) -> None:
    service = serve()
    url = f"{service.control}/v1/vms"
    assert {send_request("GET", url).status for _ in range(30)} == {401}
    assert service.facts("AccessRefused") == []


def test_twenty_attempts_are_allowed_then_one_every_three_seconds() -> None:
    watch = ManualStopwatch()
    attempts = token_attempts(watch)
    assert [attempts.wait("a") for _ in range(20)] == [0.0] * 20
    assert attempts.wait("a") == 3.0
    watch.now += 2
    assert attempts.wait("a") == pytest.approx(1.0)
    watch.now += 1.001
    assert attempts.wait("a") == 0.0
    assert attempts.wait("a") == pytest.approx(3.0, abs=0.01)


def test_attempts_are_counted_per_address() -> None:
    attempts = token_attempts(ManualStopwatch())
    for _ in range(21):
        attempts.wait("a")
    assert attempts.wait("b") == 0.0


def test_limit_resets_after_a_minute() -> None:
    watch = ManualStopwatch()
    attempts = token_attempts(watch)
    for _ in range(30):
        attempts.wait("a")
    watch.now += 60
    assert [attempts.wait("a") for _ in range(20)] == [0.0] * 20


def test_number_of_remembered_addresses_is_limited() -> None:
    attempts = token_attempts(ManualStopwatch())
    for _ in range(21):
        attempts.wait("first")
    for number in range(10_000):
        attempts.wait(str(number))
    assert attempts.wait("first") == 0.0
