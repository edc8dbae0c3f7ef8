"""A group's token: its own group's things, and nothing of others, by any route."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.request import Request, urlopen

import pytest
from tests.patience import PATIENCE
from tests.server.arm.test_tokens import LOCATION
from tests.server.control.test_control import PATHS
from tests.server.control.test_tokens import holding
from tests.server.support.arm_client import VERSION
from tests.server.support.service import Answer, RunningService, a_service

#: The routes that a group's token may use at all.
FOR_GROUPS = {
    ("GET", "/v1/vms"),
    ("GET", "/v1/vms/{name}"),
    ("POST", "/v1/vms/{name}/restart"),
    ("POST", "/v1/vms/{name}/redeploy"),
    ("POST", "/v1/vms/{name}/reimage"),
    ("POST", "/v1/vms/{name}/evict"),
    ("POST", "/v1/vms/{name}/delete"),
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
    ("GET", "/v1/overview"),
    ("GET", "/v1/journal"),
    ("GET", "/v1/stream"),
    ("GET", "/v1/clock"),
    ("GET", "/v1/session"),
    ("POST", "/v1/session"),
    ("DELETE", "/v1/session"),
}
ALL = [
    (method.upper(), path)
    for path, methods in PATHS.items()
    for method in sorted(methods)
    if path not in ("/healthz", "/readyz")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A service in which much happens to others, and the token of group web."""

    service: RunningService
    web: RunningService
    shared: Mapping[str, Any]  # on host-a: web-0 and db-0
    theirs: Mapping[str, Any]  # of db-0 alone
    secrets: tuple[str, ...]  # what web must never read

    def event_of(self, made: Mapping[str, Any], group: str) -> str:
        (found,) = [each["id"] for each in made["events"] if each["group"] == group]
        return str(found)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with a_service(tmp_path_factory.mktemp("scene")) as service:
        web = holding(service, "web-team", "group", group="WEB")
        holding(service, "db-team", "group", group="db")
        theirs = service.announce(vms=["db-0"], reason="secret-reason")
        shared = service.announce(
            host="host-a", notice_seconds=7200, reason="secret-reason"
        )
        service.document("db-0")
        service.document("web-0")
        service.approve_as("db-0", *[each["id"] for each in theirs["events"]])
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
        yield Scene(
            service=service, web=web, shared=shared, theirs=theirs, secrets=secrets
        )


def leaks(scene: Scene, answer: Answer, *said: str) -> list[str]:
    """What `answer` tells of others, beyond what was `said` in the request."""
    text = answer.body.decode()
    for each in said:
        text = text.replace(each, "")
    return [each for each in scene.secrets if each in text]


# --- what is not for a group -------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path"), [each for each in ALL if each not in FOR_GROUPS]
)
def test_what_is_not_for_groups_is_forbidden_whatever_is_said(
    scene: Scene, method: str, path: str
) -> None:
    answer = scene.web.ask(method, path, raw=b"nonsense")
    assert answer.status == 403
    assert "group web" in answer.detail
    assert leaks(scene, answer) == []


# --- what is others' ---------------------------------------------------------


def others(scene: Scene, path: str) -> Iterator[tuple[str, str]]:
    """Name things of others where `path` has a place for a name."""
    if "{id}" in path:
        db_event = scene.event_of(scene.shared, "db")
        for each in (scene.theirs["id"], scene.theirs["events"][0]["id"], db_event):
            yield path.replace("{id}", each), each
            yield path.replace("{id}", each.lower()), each.lower()
    elif "{name}" in path:
        names = {"/v1/groups": "db", "/v1/hosts": "host-a"}
        name = names.get(path.partition("/{")[0], "db-0")
        for each in (name, name.upper(), "lone"):
            yield path.replace("{name}", each), each


@pytest.mark.parametrize(
    ("method", "path"), sorted(each for each in FOR_GROUPS if "{" in each[1])
)
def test_what_is_of_others_does_not_exist(scene: Scene, method: str, path: str) -> None:
    before = scene.service.get("/v1/journal?limit=1000")["items"]
    for target, name in others(scene, path):
        answer = scene.web.ask(method, target)
        assert answer.status == 404, target
        assert leaks(scene, answer, name, name.upper()) == [], target
    assert scene.service.get("/v1/journal?limit=1000")["items"] == before


def test_the_sentence_is_that_of_a_thing_that_never_was(scene: Scene) -> None:
    def said(path: str, name: str) -> str:
        return scene.web.ask("GET", path + name).detail.replace(name, "NAME")

    assert said("/v1/vms/", "db-0") == said("/v1/vms/", "nobody")
    assert said("/v1/groups/", "db") == said("/v1/groups/", "nobody")
    assert said("/v1/events/", scene.theirs["id"]) == said("/v1/events/", "nobody")


# --- lists, and what is shared -----------------------------------------------


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
def test_lists_tell_nothing_of_others(scene: Scene, path: str) -> None:
    answer = scene.web.ask("GET", path)
    assert answer.status == 200
    assert leaks(scene, answer) == []


def test_lists_tell_what_is_ones_own(scene: Scene) -> None:
    web = scene.web
    names = [each["name"] for each in web.get("/v1/vms")["items"]]
    assert names == ["web-0", "web-1", "web-2"]
    assert [each["name"] for each in web.get("/v1/groups")["items"]] == ["web"]
    (shared,) = web.get("/v1/maintenances")["items"]
    assert (shared["id"], shared["vms"]) == (scene.shared["id"], ["web-0"])
    (event,) = web.get("/v1/events")["items"]
    assert event["id"] == scene.event_of(scene.shared, "web")
    facts = {each["fact"] for each in web.get("/v1/journal?limit=1000")["items"]}
    assert {"Announced", "Published", "Seen"} <= facts


@pytest.mark.parametrize("what", ["", "/explain", "/story"])
def test_what_is_shared_is_cut_to_ones_share(scene: Scene, what: str) -> None:
    answer = scene.web.ask("GET", f"/v1/maintenances/{scene.shared['id']}{what}")
    assert answer.status == 200
    assert leaks(scene, answer) == []


def test_pages_of_a_vms_list_go_on_where_they_ended(scene: Scene) -> None:
    page = scene.web.get("/v1/vms?limit=2")
    rest = scene.web.get(f"/v1/vms?limit=2&after={page['next']}")
    assert [each["name"] for each in rest["items"]] == ["web-2"]


def test_a_stream_tells_nothing_of_others(scene: Scene) -> None:
    headers = {
        "Authorization": f"Bearer {scene.web.token}",
        "Last-Event-ID": "0",
    }
    url = f"{scene.web.control}/v1/stream"
    last = scene.web.get("/v1/journal?limit=1000")["items"][-1]["position"]
    text = ""
    with urlopen(Request(url, headers=headers), timeout=PATIENCE) as stream:
        for line in stream:
            text += line.decode()
            if f"id: {last}\n" in text and text.endswith("\n\n"):
                break
    assert "event: Announced" in text
    assert [each for each in scene.secrets if each in text] == []


# --- what it may do ----------------------------------------------------------


@pytest.fixture
def web(service: RunningService) -> RunningService:
    return holding(service, "web-team", "group", group="web")


def test_its_own_event_is_approved_by_name(
    service: RunningService, web: RunningService
) -> None:
    made = service.announce(host="host-a")
    own = next(each for each in made["events"] if each["group"] == "web")
    answer = web.ask("POST", f"/v1/events/{own['id'].lower()}/approve")
    assert answer.status == 200
    assert answer.json["approved_by"] == "web-team"
    assert answer.json["approved_via"] == "control"


@pytest.mark.parametrize("verb", ["restart", "redeploy", "reimage", "delete"])
def test_user_operations_are_for_its_own_vms(web: RunningService, verb: str) -> None:
    answer = web.ask("POST", f"/v1/vms/web-1/{verb}")
    assert answer.status == 201
    assert "host-b" not in json.dumps(answer.json)
    assert web.ask("POST", f"/v1/vms/db-0/{verb}").status == 404


def test_it_does_not_speak_for_the_platform(web: RunningService) -> None:
    answer = web.ask("POST", "/v1/vms/web-1/reimage", {"source": "Platform"})
    assert answer.status == 403
    assert web.get("/v1/maintenances")["items"] == []


def test_an_answer_that_is_repeated_is_cut_as_the_first(web: RunningService) -> None:
    answers = [
        web.ask("POST", "/v1/vms/web-1/restart", {}, Idempotency_Key="k")
        for _ in range(2)
    ]
    assert answers[0].body == answers[1].body
    assert b"host-b" not in answers[0].body


def test_the_token_ends_with_its_group(
    service: RunningService, web: RunningService
) -> None:
    lone = holding(service, "lone-team", "group", group="lone")
    assert lone.ask("GET", "/v1/vms").status == 200
    assert service.ask("DELETE", "/v1/vms/lone").status == 204
    assert lone.ask("GET", "/v1/vms").status == 401
    assert service.ask("PUT", "/v1/vms/lone", {}).status == 200
    assert lone.ask("GET", "/v1/vms").status == 401
    (fact,) = service.facts("TokenRevoked")
    assert (fact["by"], fact["name"]) == (None, "lone-team")
    assert web.ask("GET", "/v1/vms").status == 200


@pytest.mark.parametrize(
    ("before", "after"), [("maintain", "failed"), ("degraded", "recovered")]
)
def test_the_end_of_what_was_planned_for_a_host_does_not_name_it(
    service: RunningService, web: RunningService, before: str, after: str
) -> None:
    planned = service.ask("POST", f"/v1/hosts/host-b/{before}", {}).json
    (made,) = planned["maintenances"]
    assert service.ask("POST", f"/v1/hosts/host-b/{after}", {}).status in (200, 201)
    own = f"/v1/maintenances/{made['id']}"
    assert web.get(own)["phase"] == "CANCELED"
    operation = f"{LOCATION}/operations/{made['id']}?{VERSION}"
    for path in ("/v1/journal", f"{own}/story", operation):
        answer = web.ask("GET", path)
        assert answer.status == 200
        assert b"its host" in answer.body
        assert b"host-b" not in answer.body


def test_a_gate_is_explained_without_those_behind_it(
    service: RunningService, web: RunningService
) -> None:
    first = service.announce(
        host="host-a", emergency=True, reason="fire", duration_seconds=7200
    )
    assert first["phase"] == "STARTED"
    second = service.announce(vms=["web-1"])
    service.advance(901)
    answer = web.ask("GET", f"/v1/maintenances/{second['id']}/explain")
    assert answer.status == 200
    text = answer.body.decode()
    assert first["id"] in text  # in a gate of one's own group
    assert "db-0" not in text
    assert "group db" not in text
    assert "host-a" not in text


def test_a_story_does_not_say_that_others_have_approved(
    service: RunningService, web: RunningService
) -> None:
    made = service.announce(host="host-a")
    own = next(each["id"] for each in made["events"] if each["group"] == "web")
    service.approve_as("web-0", own)
    service.advance(901)
    path = f"/v1/maintenances/{made['id']}/story"
    (told,) = [
        each["what"]
        for each in web.get(path)["entries"]
        if each["what"].startswith("started")
    ]
    assert told == "started after 15 min"
    whole = service.get(path)["entries"]
    assert any("without the approval of db" in each["what"] for each in whole)


def test_that_others_have_not_approved_is_told_without_their_names(
    service: RunningService, web: RunningService
) -> None:
    made = service.announce(host="host-a")
    explained = web.get(f"/v1/maintenances/{made['id']}/explain")
    waits = [each["what"] for each in explained["waits"] if each["kind"] == "approval"]
    assert len(waits) == 2
    assert "web-0" in waits[0]
    assert waits[1] == "others whom it touches have not approved"
    assert "db" not in " ".join(explained["sentences"])


def test_a_gate_of_others_is_told_without_their_names(
    service: RunningService, web: RunningService
) -> None:
    body = {"group": "db", "update_domain": 1}
    assert service.ask("PUT", "/v1/vms/db-1", body).status == 200
    service.announce(vms=["db-1"], emergency=True, reason="fire", duration_seconds=7200)
    made = service.announce(host="host-a")
    service.advance(901)
    explained = web.get(f"/v1/maintenances/{made['id']}/explain")
    gates = [each["what"] for each in explained["waits"] if each["kind"] == "gate"]
    assert gates == ["others whom it touches are not ready"]
    assert "db" not in " ".join(explained["sentences"])
