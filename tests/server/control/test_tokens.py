"""Tokens: made, shown once, of four roles, expiring, revoked, guessed."""

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
from tests.server.support.service import TOKEN, RunningService, a_service, ask

#: The least role that may, for all that not everybody with a token may.
NEEDS_OPERATOR = {
    (method, path)
    for method, path in GUARDED
    if method == "POST" and not path.startswith(("/v1/tokens", "/v1/session"))
}
NEEDS_ADMIN = {
    (method, path)
    for method, path in GUARDED
    if (method in ("PUT", "DELETE") and path != "/v1/session")
    or path.startswith("/v1/tokens")
}


def make(service: RunningService, name: str, role: str, **more: object) -> Any:
    body = {"name": name, "role": role, **more}
    answer = service.ask("POST", "/v1/tokens", body)
    assert answer.status == 201, answer.body
    return answer.json


def holding(
    service: RunningService, name: str, role: str, **more: object
) -> RunningService:
    """Be another who asks the same service."""
    return replace(service, token=make(service, name, role, **more)["token"])


# --- making and showing ------------------------------------------------------


def test_a_token_is_shown_when_it_is_made_and_never_again(
    service: RunningService,
) -> None:
    made = make(service, "ci", "viewer")
    assert made["token"].startswith("fw_")
    assert len(made["token"]) > 40
    (listed,) = service.get("/v1/tokens")["items"]
    assert listed == {name: made[name] for name in made if name != "token"}
    journal = json.dumps(service.facts())
    assert "ci" in journal
    assert made["token"].split("_", 2)[2] not in journal


def test_no_token_is_in_the_store(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    with a_service(tmp_path, store=f"sqlite:///{file}") as service:
        text = make(service, "ci", "viewer")["token"]
    secret = text.split("_", 2)[2].encode()
    kept = b"".join(each.read_bytes() for each in tmp_path.glob("store.db*"))
    with sqlite3.connect(file) as database:
        (body,) = database.execute("SELECT body FROM tokens").fetchone()
    assert secret not in kept
    assert '"name":"ci"' in body


def test_tokens_outlive_the_service(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with a_service(tmp_path, store=url) as service:
        good = make(service, "good", "viewer")["token"]
        gone = make(service, "gone", "viewer")["token"]
        assert service.ask("DELETE", "/v1/tokens/gone").status == 204
    with a_service(tmp_path, store=url) as again:
        assert replace(again, token=good).ask("GET", "/v1/vms").status == 200
        assert replace(again, token=gone).ask("GET", "/v1/vms").status == 401


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
def test_a_token_that_makes_no_sense_is_not_made(
    shared: RunningService, body: object, status: int
) -> None:
    answer = shared.ask("POST", "/v1/tokens", body)
    assert answer.status == status
    assert answer.detail
    assert shared.get("/v1/tokens")["items"] == []


def test_two_tokens_cannot_have_one_name(service: RunningService) -> None:
    make(service, "ci", "viewer")
    answer = service.ask("POST", "/v1/tokens", {"name": "CI", "role": "admin"})
    assert answer.status == 409
    assert "revoke it" in answer.detail


def test_a_name_is_free_again_when_its_token_is_revoked(
    service: RunningService,
) -> None:
    make(service, "ci", "viewer")
    service.ask("DELETE", "/v1/tokens/ci")
    again = make(service, "ci", "operator")
    assert [each["id"] for each in service.get("/v1/tokens")["items"]] == [again["id"]]


def test_many_who_ask_for_one_name_at_once_get_one_token(
    service: RunningService,
) -> None:
    def ask_for_it(_: int) -> int:
        body = {"name": "ci", "role": "viewer"}
        return service.ask("POST", "/v1/tokens", body).status

    with ThreadPoolExecutor(8) as pool:
        statuses = sorted(pool.map(ask_for_it, range(8)))
    assert statuses == [201] + [409] * 7


def test_lists_of_tokens_come_in_pages(service: RunningService) -> None:
    names = [f"t{number}" for number in range(5)]
    for name in names:
        make(service, name, "viewer")
    found, after = [], ""
    while True:
        page = service.get(f"/v1/tokens?limit=2{after}")
        found += [each["name"] for each in page["items"]]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
    assert found == names


# --- roles -------------------------------------------------------------------


@pytest.fixture(scope="module")
def holders(shared: RunningService) -> dict[str, RunningService]:
    roles = ("viewer", "operator", "admin")
    return {role: holding(shared, f"a-{role}", role) for role in roles}


@pytest.mark.parametrize(("method", "path"), sorted(NEEDS_OPERATOR | NEEDS_ADMIN))
def test_a_viewer_changes_nothing(
    holders: dict[str, RunningService], method: str, path: str
) -> None:
    answer = holders["viewer"].ask(method, path, raw=b"nonsense")
    assert answer.status == 403
    assert "a-viewer" in answer.detail


@pytest.mark.parametrize(("method", "path"), sorted(NEEDS_ADMIN))
def test_an_operator_manages_neither_fleet_nor_tokens(
    holders: dict[str, RunningService], method: str, path: str
) -> None:
    answer = holders["operator"].ask(method, path, raw=b"nonsense")
    assert answer.status == 403
    assert "admin" in answer.detail


@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
@pytest.mark.parametrize("path", ["/v1/vms", "/v1/events", "/v1/journal", "/v1/clock"])
def test_everybody_reads(
    holders: dict[str, RunningService], role: str, path: str
) -> None:
    assert holders[role].ask("GET", path).status == 200


def test_an_operator_commands_and_is_named(service: RunningService) -> None:
    ops = holding(service, "night-shift", "operator")
    made = ops.announce(vms=["web-0"])
    ops.ask("POST", f"/v1/maintenances/{made['id']}/cancel")
    facts = service.facts("Announced", "Canceled")
    assert [each["by"] for each in facts] == ["night-shift", "night-shift"]


def test_an_admin_manages_fleet_and_tokens(service: RunningService) -> None:
    chief = holding(service, "chief", "admin")
    assert chief.ask("PUT", "/v1/hosts/host-c", {}).status == 200
    assert make(chief, "ci", "viewer")["created_by"] == "chief"
    assert chief.ask("DELETE", "/v1/tokens/ci").status == 204
    made, revoked = service.facts("TokenCreated", "TokenRevoked")[1:]
    assert (made["by"], made["name"], made["role"]) == ("chief", "ci", "viewer")
    assert (revoked["by"], revoked["name"]) == ("chief", "ci")


def test_a_path_that_nobody_knows_needs_an_admin(
    holders: dict[str, RunningService],
) -> None:
    assert holders["operator"].ask("PUT", "/v1/nothing", {}).status == 403
    assert holders["admin"].ask("PUT", "/v1/nothing", {}).status == 404


def test_a_key_that_another_has_used_tells_nothing(service: RunningService) -> None:
    one = holding(service, "one", "operator")
    two = holding(service, "two", "operator")
    body = {"type": "Reboot", "vms": ["web-0"]}
    first = one.ask("POST", "/v1/maintenances", body, Idempotency_Key="k")
    other = {"type": "Reboot", "vms": ["web-1"]}
    second = two.ask("POST", "/v1/maintenances", other, Idempotency_Key="k")
    again = one.ask("POST", "/v1/maintenances", body, Idempotency_Key="k")
    assert (first.status, second.status, again.status) == (201, 201, 201)
    assert again.body == first.body != second.body


# --- ends --------------------------------------------------------------------


def test_a_token_expires_on_the_clock_of_the_service(service: RunningService) -> None:
    brief = holding(service, "brief", "viewer", expires_in_seconds=60)
    service.advance(59)
    assert brief.ask("GET", "/v1/vms").status == 200
    service.advance(1)
    answer = brief.ask("GET", "/v1/vms")
    assert answer.status == 401
    assert "expired" in answer.detail


def test_the_name_of_an_expired_token_is_free(service: RunningService) -> None:
    make(service, "brief", "viewer", expires_in_seconds=60)
    service.advance(60)
    make(service, "brief", "viewer")
    assert len(service.get("/v1/tokens")["items"]) == 2


@pytest.mark.parametrize("by", ["name", "id"])
def test_a_revoked_token_opens_nothing_from_then_on(
    service: RunningService, by: str
) -> None:
    made = make(service, "ci", "viewer")
    ci = replace(service, token=made["token"])
    assert ci.ask("GET", "/v1/vms").status == 200
    assert service.ask("DELETE", f"/v1/tokens/{made[by]}").status == 204
    answer = ci.ask("GET", "/v1/vms")
    assert answer.status == 401
    assert "revoked" in answer.detail
    assert service.get("/v1/tokens")["items"] == []


def test_a_second_revocation_changes_nothing(service: RunningService) -> None:
    made = make(service, "ci", "viewer")
    for _ in range(2):
        assert service.ask("DELETE", f"/v1/tokens/{made['id']}").status == 204
    assert len(service.facts("TokenRevoked")) == 1


def test_a_token_named_like_the_id_of_another_is_not_mistaken_for_it(
    service: RunningService,
) -> None:
    first = make(service, "ci", "viewer")
    make(service, first["id"], "viewer")
    for _ in range(2):
        assert service.ask("DELETE", f"/v1/tokens/{first['id']}").status == 204
    (left,) = service.get("/v1/tokens")["items"]
    assert left["name"] == first["id"]


def test_a_token_that_is_not_there_cannot_be_revoked(shared: RunningService) -> None:
    assert shared.ask("DELETE", "/v1/tokens/nobody").status == 404


def test_the_first_token_is_not_revoked_by_the_api(shared: RunningService) -> None:
    answer = shared.ask("DELETE", "/v1/tokens/admin")
    assert answer.status == 409
    assert "FOREWARN_TOKEN" in answer.detail


def test_a_stream_ends_with_its_token(service: RunningService) -> None:
    made = make(service, "ci", "viewer")
    headers = {"Authorization": f"Bearer {made['token']}"}
    with urlopen(
        Request(f"{service.control}/v1/stream", headers=headers), timeout=PATIENCE
    ) as stream:
        assert stream.readline().startswith(b":")
        service.ask("DELETE", "/v1/tokens/ci")
        assert b"Announced" not in stream.read()


def test_when_a_token_was_last_used_is_known_to_the_minute(
    service: RunningService,
) -> None:
    ci = holding(service, "ci", "viewer")
    assert service.get("/v1/tokens")["items"][0]["last_used"] is None
    ci.ask("GET", "/v1/vms")
    first = service.get("/v1/tokens")["items"][0]["last_used"]
    service.advance(59)
    ci.ask("GET", "/v1/vms")
    assert service.get("/v1/tokens")["items"][0]["last_used"] == first
    service.advance(1)
    ci.ask("GET", "/v1/vms")
    assert service.get("/v1/tokens")["items"][0]["last_used"] > first


# --- guessing ----------------------------------------------------------------


def guess(service: RunningService, token: str = "fw_0_wrong") -> int:
    url = f"{service.control}/v1/vms"
    return ask("GET", url, Authorization=f"Bearer {token}").status


def refusals(service: RunningService) -> dict[str, int]:
    """Count what the journal tells, in one fact or, around a heartbeat, in two."""
    counted: dict[str, int] = {}
    for fact in service.facts("AccessRefused"):
        for each in fact["refusals"]:
            place = each["address"]
            counted[place] = counted.get(place, 0) + each["attempts"]
    return counted


def test_a_guess_is_in_the_journal_without_the_token(service: RunningService) -> None:
    ids = make(service, "ci", "viewer")["id"]
    tries = [f"fw_{ids}_nearlyright", "sesame"]
    assert [guess(service, each) for each in tries] == [401, 401]
    assert refusals(service) == {"127.0.0.1": 2}
    text = json.dumps(service.facts())
    assert not any(each in text for each in (*tries, "nearlyright"))


def test_what_a_proxy_tells_and_is_no_address_is_not_in_the_journal(
    serve: Serve,
) -> None:
    service = serve(control_host=["api.example"])
    url = f"{service.control}/v1/vms"
    for told in ("<b>somebody</b>", "x" * 5000):
        ask("GET", url, Authorization="Bearer no", X_Forwarded_For=told)
    assert refusals(service) == {"unknown": 2}


def test_who_guesses_on_and_on_is_told_to_wait(serve: Serve) -> None:
    service = serve()
    url = f"{service.control}/v1/vms"
    answers = [ask("GET", url, Authorization="Bearer wrong") for _ in range(25)]
    assert [each.status for each in answers[:20]] == [401] * 20
    # Not all of them, if the machine took seconds for so many.
    refused = [each for each in answers[20:] if each.status == 429]
    assert int(refused[0].headers["Retry-After"]) >= 1
    assert "too many wrong tokens" in refused[0].detail


def test_who_has_a_good_token_is_not_stopped_by_those_who_guess(serve: Serve) -> None:
    service = serve()
    for _ in range(25):
        guess(service)
    assert service.token == TOKEN
    assert service.ask("GET", "/v1/vms").status == 200


def test_no_token_at_all_is_no_guess(serve: Serve) -> None:
    service = serve()
    url = f"{service.control}/v1/vms"
    assert {ask("GET", url).status for _ in range(30)} == {401}
    assert service.facts("AccessRefused") == []
