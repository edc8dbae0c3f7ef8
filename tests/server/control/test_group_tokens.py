"""Group tokens: access to the group's own resources and to nothing else."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.request import Request, urlopen

import pytest
from tests.patience import PATIENCE
from tests.server.arm.test_tokens import LOCATION
from tests.server.conftest import Serve
from tests.server.control.test_control import PATHS
from tests.server.control.test_tokens import client_with_token
from tests.server.support.arm_client import VERSION
from tests.server.support.scrapes import parse
from tests.server.support.service import ReceivedResponse, RunningService, a_service

#: The only routes that a group token may use.
FOR_GROUPS = {
    ("GET", "/v1/vms"),
    ("GET", "/v1/vms/{name}"),
    ("GET", "/v1/vms/{name}/status"),
    ("POST", "/v1/vms/{name}/restart"),
    ("POST", "/v1/vms/{name}/redeploy"),
    ("POST", "/v1/vms/{name}/reimage"),
    ("POST", "/v1/vms/{name}/evict"),
    ("POST", "/v1/vms/{name}/delete"),
    ("POST", "/v1/vms/{name}/start"),
    ("GET", "/v1/groups"),
    ("GET", "/v1/groups/{name}"),
    ("GET", "/v1/hosts"),
    ("GET", "/v1/hosts/{name}"),
    ("GET", "/v1/maintenances"),
    ("GET", "/v1/maintenances/{id}"),
    ("GET", "/v1/maintenances/{id}/explain"),
    ("GET", "/v1/maintenances/{id}/story"),
    ("GET", "/v1/events"),
    ("GET", "/v1/events/{id}"),
    ("POST", "/v1/events/{id}/approve"),
    ("GET", "/v1/fleet/map"),
    ("GET", "/v1/fleet/limited"),
    ("GET", "/v1/fleet/checks"),
    ("GET", "/v1/overview"),
    ("GET", "/v1/journal"),
    ("GET", "/v1/stream"),
    ("GET", "/v1/clock"),
    ("GET", "/v1/session"),
    ("POST", "/v1/session"),
    ("DELETE", "/v1/session"),
    ("POST", "/v1/portal/links"),
}
ALL = [
    (method.upper(), path)
    for path, methods in PATHS.items()
    for method in sorted(methods)
    if path not in ("/healthz", "/readyz")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTokenEnvironment:
    """A service with maintenance of several groups, and a client with web's token."""

    service: RunningService
    web: RunningService
    shared: Mapping[str, Any]  # on host-a: web-0 and db-0
    theirs: Mapping[str, Any]  # of db-0 only
    secrets: tuple[str, ...]  # texts that web must never receive

    def event_of(self, made: Mapping[str, Any], group: str) -> str:
        (event_id,) = [
            event["id"] for event in made["events"] if event["group"] == group
        ]
        return str(event_id)


@pytest.fixture(scope="module")
def environment(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[GroupTokenEnvironment]:
    with a_service(tmp_path_factory.mktemp("scene")) as service:
        web = client_with_token(service, "web-team", "group", group="WEB")
        client_with_token(service, "db-team", "group", group="db")
        theirs = service.announce(vms=["db-0"], reason="secret-reason")
        shared = service.announce(
            host="host-a", notice_seconds=7200, reason="secret-reason"
        )
        service.document("db-0")
        service.document("web-0")
        service.approve_as("db-0", *[event["id"] for event in theirs["events"]])
        service.advance(3600)
        db_event = next(e["id"] for e in shared["events"] if e["group"] == "db")
        service.approve_as("db-0", db_event)
        service.announce(vms=["lone"], reason="secret-reason")
        secrets = (
            "db-",
            '"db"',
            "group db",
            "lone",
            "host-",
            "secret-reason",
            theirs["id"],
            theirs["events"][0]["id"],
            db_event,
        )
        yield GroupTokenEnvironment(
            service=service, web=web, shared=shared, theirs=theirs, secrets=secrets
        )


def leaks(
    environment: GroupTokenEnvironment, answer: ReceivedResponse, *said: str
) -> list[str]:
    """Return the secrets in a response that the request did not contain."""
    text = answer.body.decode()
    for word in said:
        text = text.replace(word, "")
    return [word for word in environment.secrets if word in text]


# --- forbidden routes --------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path"), [each for each in ALL if each not in FOR_GROUPS]
)
def test_other_routes_are_forbidden_for_any_body(
    environment: GroupTokenEnvironment, method: str, path: str
) -> None:
    answer = environment.web.request(method, path, raw=b"nonsense")
    assert answer.status == 403
    assert "group web" in answer.detail
    assert leaks(environment, answer) == []


# --- resources of other groups -----------------------------------------------


def other_paths(
    environment: GroupTokenEnvironment, path: str
) -> Iterator[tuple[str, str]]:
    """Fill the placeholder of `path` with names and ids of other groups."""
    if "{id}" in path:
        db_event = environment.event_of(environment.shared, "db")
        for other in (
            environment.theirs["id"],
            environment.theirs["events"][0]["id"],
            db_event,
        ):
            yield path.replace("{id}", other), other
            yield path.replace("{id}", other.lower()), other.lower()
    elif "{name}" in path:
        names = {"/v1/groups": "db", "/v1/hosts": "host-a"}
        name = names.get(path.partition("/{")[0], "db-0")
        for other in (name, name.upper(), "lone"):
            yield path.replace("{name}", other), other


@pytest.mark.parametrize(
    ("method", "path"), sorted(each for each in FOR_GROUPS if "{" in each[1])
)
def test_resources_of_other_groups_get_404(
    environment: GroupTokenEnvironment, method: str, path: str
) -> None:
    before = environment.service.get("/v1/journal?limit=1000")["items"]
    for target, name in other_paths(environment, path):
        answer = environment.web.request(method, target)
        assert answer.status == 404, target
        assert leaks(environment, answer, name, name.upper()) == [], target
    assert environment.service.get("/v1/journal?limit=1000")["items"] == before


def test_404_does_not_reveal_whether_the_resource_exists(
    environment: GroupTokenEnvironment,
) -> None:
    def said(path: str, name: str) -> str:
        return environment.web.request("GET", path + name).detail.replace(name, "NAME")

    assert said("/v1/vms/", "db-0") == said("/v1/vms/", "nobody")
    assert said("/v1/groups/", "db") == said("/v1/groups/", "nobody")
    assert said("/v1/events/", environment.theirs["id"]) == said(
        "/v1/events/", "nobody"
    )


# --- lists and shared resources ----------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/v1/vms",
        "/v1/vms/web-0",
        "/v1/groups",
        "/v1/groups/web",
        "/v1/hosts",
        "/v1/maintenances",
        "/v1/maintenances?phase=SCHEDULED&phase=COMPLETED&limit=1",
        "/v1/events",
        "/v1/events?limit=1",
        "/v1/fleet/map",
        "/v1/fleet/limited",
        "/v1/overview",
        "/v1/overview?since=2020-01-01T00:00:00Z",
        "/v1/journal?limit=1000",
        "/v1/journal?limit=1000&after=5",
        "/v1/journal?limit=1000&group=db",
        "/v1/journal?limit=1000&vm=db-0",
        "/v1/journal?limit=1000&fact=TokenCreated",
        "/v1/clock",
    ],
)
def test_lists_reveal_nothing_of_other_groups(
    environment: GroupTokenEnvironment, path: str
) -> None:
    answer = environment.web.request("GET", path)
    assert answer.status == 200
    assert leaks(environment, answer) == []


def test_lists_show_the_groups_own_resources(
    environment: GroupTokenEnvironment,
) -> None:
    web = environment.web
    names = [item["name"] for item in web.get("/v1/vms")["items"]]
    assert names == ["web-0", "web-1", "web-2"]
    assert [item["name"] for item in web.get("/v1/groups")["items"]] == ["web"]
    (shared,) = web.get("/v1/maintenances")["items"]
    assert (shared["id"], shared["vms"]) == (environment.shared["id"], ["web-0"])
    (event,) = web.get("/v1/events")["items"]
    assert event["id"] == environment.event_of(environment.shared, "web")
    facts = {item["fact"] for item in web.get("/v1/journal?limit=1000")["items"]}
    assert {"Announced", "Published", "Seen"} <= facts


@pytest.mark.parametrize("what", ["", "/explain", "/story"])
def test_shared_maintenance_is_redacted(
    environment: GroupTokenEnvironment, what: str
) -> None:
    answer = environment.web.request(
        "GET", f"/v1/maintenances/{environment.shared['id']}{what}"
    )
    assert answer.status == 200
    assert leaks(environment, answer) == []


def test_vm_list_of_a_group_can_be_paged(environment: GroupTokenEnvironment) -> None:
    page = environment.web.get("/v1/vms?limit=2")
    rest = environment.web.get(f"/v1/vms?limit=2&after={page['next']}")
    assert [vm["name"] for vm in rest["items"]] == ["web-2"]


def test_stream_reveals_nothing_of_other_groups(
    environment: GroupTokenEnvironment,
) -> None:
    headers = {
        "Authorization": f"Bearer {environment.web.token}",
        "Last-Event-ID": "0",
    }
    url = f"{environment.web.control}/v1/stream"
    last = environment.web.get("/v1/journal?limit=1000")["items"][-1]["position"]
    text = ""
    with urlopen(Request(url, headers=headers), timeout=PATIENCE) as stream:
        for line in stream:
            text += line.decode()
            if f"id: {last}\n" in text and text.endswith("\n\n"):
                break
    assert "event: Announced" in text
    assert [secret for secret in environment.secrets if secret in text] == []


# --- permitted actions -------------------------------------------------------


@pytest.fixture
def web(service: RunningService) -> RunningService:
    return client_with_token(service, "web-team", "group", group="web")


def test_group_approval_records_the_token_name(
    service: RunningService, web: RunningService
) -> None:
    maintenance = service.announce(host="host-a")
    own = next(event for event in maintenance["events"] if event["group"] == "web")
    answer = web.request("POST", f"/v1/events/{own['id'].lower()}/approve")
    assert answer.status == 200
    assert answer.json["approved_by"] == "web-team"
    assert answer.json["approved_via"] == "control"


@pytest.mark.parametrize("verb", ["restart", "redeploy", "reimage", "delete"])
def test_user_operations_are_limited_to_own_vms(web: RunningService, verb: str) -> None:
    answer = web.request("POST", f"/v1/vms/web-1/{verb}")
    assert answer.status == 201
    assert "host-b" not in json.dumps(answer.json)
    assert web.request("POST", f"/v1/vms/db-0/{verb}").status == 404


def test_user_operations_of_a_group_are_limited(serve: Serve) -> None:
    service = serve(
        user_operations_limit=1,
        user_operations_max_duration=60,
        user_operations_max_notice=1800,
    )
    web = client_with_token(service, "web-team", "group", group="web")
    late = web.request("POST", "/v1/vms/web-0/restart", {"notice_seconds": 1801})
    assert (late.status, "within 30 min" in late.detail) == (422, True)
    long = web.request("POST", "/v1/vms/web-0/restart", {"duration_seconds": 61})
    assert (long.status, "at most 60" in long.detail) == (422, True)
    first = web.request("POST", "/v1/vms/web-0/restart", {"duration_seconds": 60}).json
    again = web.request("POST", "/v1/vms/web-0/redeploy", {})
    assert again.status == 409
    assert first["maintenances"][0]["id"] in again.detail
    more = web.request("POST", "/v1/vms/web-1/restart", {})
    assert (more.status, "the maximum is 1" in more.detail) == (409, True)
    assert service.request("POST", "/v1/vms/web-1/restart", {}).status == 201
    assert len(service.facts("Announced")) == 2
    metrics = parse(service.request("GET", "/metrics").body.decode())
    for limit in ("vm", "group"):
        name = "forewarn_user_operations_refused_total"
        assert metrics.value(name, limit=limit) == 1


def test_operator_sees_which_group_holds_up_maintenance_and_can_end_it(
    service: RunningService, web: RunningService
) -> None:
    body = {"duration_seconds": 600}
    (own,) = web.request("POST", "/v1/vms/web-1/restart", body).json["maintenances"]
    planned = service.announce(host="host-a")
    db = client_with_token(service, "db-team", "group", group="db")
    for event in (*own["events"], *planned["events"]):
        service.request("POST", f"/v1/events/{event['id']}/approve")
    path = f"/v1/maintenances/{planned['id']}"
    (held,) = service.get(f"{path}/explain")["waits"]
    assert (held["held_by"], held["maintenance"]) == ("web", own["id"])
    told = service.get(f"{path}/story")["sentences"][-1]
    assert told.startswith("Blocked by group web until ")
    assert told.endswith(
        f"To unblock it, run `forewarn maintenance complete {own['id']}`."
    )
    for what in ("explain", "story"):
        assert "web" not in json.dumps(db.get(f"{path}/{what}"))
    service.request("POST", f"/v1/maintenances/{own['id']}/complete")
    service.advance(5)
    assert service.get(path)["phase"] == "STARTED"


def test_group_token_cannot_act_as_the_platform(web: RunningService) -> None:
    answer = web.request("POST", "/v1/vms/web-1/reimage", {"source": "Platform"})
    assert answer.status == 403
    assert web.get("/v1/maintenances")["items"] == []


def test_repeated_response_is_redacted_like_the_first(web: RunningService) -> None:
    answers = [
        web.request("POST", "/v1/vms/web-1/restart", {}, Idempotency_Key="k")
        for _ in range(2)
    ]
    assert answers[0].body == answers[1].body
    assert b"host-b" not in answers[0].body


def test_token_is_revoked_when_its_group_is_deleted(
    service: RunningService, web: RunningService
) -> None:
    lone = client_with_token(service, "lone-team", "group", group="lone")
    assert lone.request("GET", "/v1/vms").status == 200
    assert service.request("DELETE", "/v1/vms/lone").status == 204
    assert lone.request("GET", "/v1/vms").status == 401
    assert service.request("PUT", "/v1/vms/lone", {}).status == 200
    assert lone.request("GET", "/v1/vms").status == 401
    (fact,) = service.facts("TokenRevoked")
    assert (fact["by"], fact["name"]) == (None, "lone-team")
    assert web.request("GET", "/v1/vms").status == 200


@pytest.mark.parametrize(
    ("before", "after"), [("maintain", "failed"), ("degraded", "recovered")]
)
def test_cancellation_by_a_host_change_does_not_name_the_host(
    service: RunningService, web: RunningService, before: str, after: str
) -> None:
    planned = service.request("POST", f"/v1/hosts/host-b/{before}", {}).json
    (maintenance,) = planned["maintenances"]
    assert service.request("POST", f"/v1/hosts/host-b/{after}", {}).status in (200, 201)
    own = f"/v1/maintenances/{maintenance['id']}"
    assert web.get(own)["phase"] == "CANCELED"
    operation = f"{LOCATION}/operations/{maintenance['guid']}?{VERSION}"
    for path in ("/v1/journal", f"{own}/story", operation):
        answer = web.request("GET", path)
        assert answer.status == 200
        assert b"its host" in answer.body
        assert b"host-b" not in answer.body


def test_blocker_is_explained_without_other_groups(
    service: RunningService, web: RunningService
) -> None:
    first = service.announce(
        host="host-a", emergency=True, reason="fire", duration_seconds=7200
    )
    assert first["phase"] == "STARTED"
    second = service.announce(vms=["web-1"])
    service.advance(901)
    answer = web.request("GET", f"/v1/maintenances/{second['id']}/explain")
    assert answer.status == 200
    text = answer.body.decode()
    assert first["id"] in text  # blocked within web
    assert "db-0" not in text
    assert "group db" not in text
    assert "host-a" not in text


def test_story_does_not_mention_approvals_of_other_groups(
    service: RunningService, web: RunningService
) -> None:
    maintenance = service.announce(host="host-a")
    own = next(
        entry["id"] for entry in maintenance["events"] if entry["group"] == "web"
    )
    service.approve_as("web-0", own)
    service.advance(901)
    path = f"/v1/maintenances/{maintenance['id']}/story"
    (start,) = [
        entry["what"]
        for entry in web.get(path)["entries"]
        if entry["what"].startswith("started")
    ]
    assert start == "started after 15 min"
    whole = service.get(path)["entries"]
    assert any("without approval from db" in entry["what"] for entry in whole)


def test_missing_approvals_of_others_are_shown_without_names(
    service: RunningService, web: RunningService
) -> None:
    maintenance = service.announce(host="host-a")
    explained = web.get(f"/v1/maintenances/{maintenance['id']}/explain")
    waits = [wait["text"] for wait in explained["waits"] if wait["kind"] == "approval"]
    assert waits == [
        "Waiting for approval from group web.",
        "Waiting for approval from other groups.",
    ]
    assert "db" not in str(explained)


def test_blocker_of_others_is_shown_without_names(
    service: RunningService, web: RunningService
) -> None:
    body = {"group": "db", "update_domain": 1}
    assert service.request("PUT", "/v1/vms/db-1", body).status == 200
    service.announce(vms=["db-1"], emergency=True, reason="fire", duration_seconds=7200)
    maintenance = service.announce(host="host-a")
    service.advance(901)
    explained = web.get(f"/v1/maintenances/{maintenance['id']}/explain")
    blockers = [
        wait["text"] for wait in explained["waits"] if wait["kind"] == "blocker"
    ]
    assert blockers == ["Waiting for other groups' maintenance to finish."]
    assert "db" not in str(explained)
