"""Notification settings."""

from pathlib import Path

import pytest

from forewarn.config.load import SettingSources, load
from forewarn.config.settings import Config
from forewarn.core.queries.search import KINDS
from forewarn.errors import InvalidInput
from forewarn.notifiers.targets import USUAL, Target

HOME = {"HOME": "/root"}
URL = "https://ops.example/hook"
HOOK: dict[str, object] = {"name": "ops", "kind": "webhook", "url": URL}


def from_file(*targets: object, environment: dict[str, str] | None = None) -> Config:
    return load(
        SettingSources(
            environment={**HOME, **(environment or {})},
            file={"notify": {"targets": [*targets]}},
            file_name="forewarn.toml",
        )
    )


def a_target(**keys: object) -> Target:
    (target,) = from_file({**HOOK, **keys}).notify_targets
    return target


def refusal(**keys: object) -> str:
    with pytest.raises(InvalidInput) as refused:
        a_target(**keys)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_there_are_no_notification_targets_by_default() -> None:
    config = load(SettingSources(environment=HOME))
    assert config.notify_targets == ()
    assert config.notify_source == "/forewarn"
    assert config.notify_longest_backoff == 300


def test_defaults_are_as_documented() -> None:
    target = a_target()
    assert (target.name, target.kind, target.url) == ("ops", "webhook", URL)
    assert (target.groups, target.facts, target.timeout) == (None, USUAL, 10.0)
    assert (target.secrets, dict(target.headers)) == ((), {})


def test_every_key_can_be_set() -> None:
    target = a_target(
        groups=["Web", "db"],
        facts=["started", "Completed"],
        timeout=3,
        headers={"X-Team": "ops"},
    )
    assert target.groups == frozenset({"web", "db"})
    assert target.facts == {"Started", "Completed"}
    assert (target.timeout, target.headers) == (3.0, {"X-Team": "ops"})
    single = a_target(groups="web", facts="Started")
    assert single.groups == frozenset({"web"})
    assert single.facts == {"Started"}


def test_a_star_stands_for_all_facts() -> None:
    assert a_target(facts=["*"]).facts == {*KINDS}


# --- secrets -----------------------------------------------------------------


def test_secrets_come_from_values_files_and_the_environment(tmp_path: Path) -> None:
    kept = tmp_path / "secret"
    kept.write_text("in the file\n")
    (target,) = from_file(
        {**HOOK, "secret": ["one", "two"], "secret_file": str(kept), "secret_env": "S"},
        environment={"S": "in the environment"},
    ).notify_targets
    assert target.secrets == ("one", "two", "in the file", "in the environment")


def test_a_secret_may_have_spaces() -> None:
    assert a_target(secret="one two").secrets == ("one two",)


def test_missing_secret_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_text("\n")
    odd = tmp_path / "odd"
    odd.write_bytes(b"\xff\xfe")
    assert "cannot read the secret" in refusal(secret_file=str(tmp_path / "none"))
    assert "is empty" in refusal(secret_file=str(empty))
    assert "is not valid text" in refusal(secret_file=str(odd))
    assert "set $NO_SUCH" in refusal(secret_env="NO_SUCH")


def test_no_secret_is_shown() -> None:
    config = from_file(
        {
            **HOOK,
            "url": "https://me:hush@ops.example/hook?token=hush",
            "secret": "hush",
            "headers": {"Authorization": "Bearer hush"},
        },
        environment={
            "FOREWARN_WEBHOOK": "https://me:hush@other.example/hook",
            "FOREWARN_WEBHOOK_SECRET": "hush",
        },
    )
    assert "hush" not in repr(config)
    _, target = config.notify_targets
    assert target.shown_url == "https://ops.example"


@pytest.mark.parametrize(
    "keys",
    [
        {"secret": ""},
        {"secret": ["hush", 1]},
        {"url": "ftp://me:hush@x"},
        {"url": "https://me:hush@x:port"},
        {"headers": {"Host": "hush"}},
        {"headers": {"X-Team": "hush\n"}},
        {"headers": ["hush"]},
        {"options": {"password": "hush"}},
    ],
)
def test_refusal_shows_no_secrets(keys: dict[str, object]) -> None:
    assert "hush" not in refusal(**keys)


# --- webhooks without a name -------------------------------------------------


def test_webhook_may_be_given_as_a_flag() -> None:
    config = load(
        SettingSources(
            flags={"webhook": [URL, "http://10.0.0.1:9/x"]},
            environment={**HOME, "FOREWARN_WEBHOOK_SECRET": "new old"},
        )
    )
    assert [target.url for target in config.notify_targets] == [
        URL,
        "http://10.0.0.1:9/x",
    ]
    assert {target.secrets for target in config.notify_targets} == {("new", "old")}


def test_webhooks_in_the_environment_are_separated_by_spaces() -> None:
    config = load(
        SettingSources(environment={**HOME, "FOREWARN_WEBHOOK": f"{URL} {URL}/2"})
    )
    assert [target.url for target in config.notify_targets] == [URL, f"{URL}/2"]


def test_name_of_a_webhook_has_its_host_and_is_stable() -> None:
    long = f"https://{'x' * 200}.example/hook"
    urls = [URL, f"{URL}?a=1", "http://[::1]:9/", long]
    config = load(SettingSources(flags={"webhook": urls}, environment=HOME))
    names = [item.name for item in config.notify_targets]
    assert names[0] == "ops.example-bf313edbebc2"
    assert len({*names}) == 4
    assert all(len(item) <= 50 for item in names)


def test_webhook_given_twice_is_one_target() -> None:
    config = load(SettingSources(flags={"webhook": [URL, URL]}, environment=HOME))
    assert len(config.notify_targets) == 1


@pytest.mark.parametrize("url", ["ops.example", 7])
def test_invalid_url_is_refused(url: object) -> None:
    with pytest.raises(InvalidInput, match=r"--webhook: expected a URL such as"):
        load(SettingSources(flags={"webhook": [url]}, environment=HOME))


# --- refusals ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"name": ""}, "name: expected 1 to 50 characters from"),
        ({"name": "x" * 51}, "name: expected 1 to 50 characters from"),
        ({"name": "a b"}, "name: expected 1 to 50 characters from"),
        ({"name": None}, "name: expected 1 to 50 characters from"),
        ({"kind": "pigeon"}, 'ops: kind: expected one of "webhook", "log"'),
        ({"kind": None}, 'ops: kind: expected one of "webhook", "log"'),
        ({"kind": "log"}, "ops: log targets do not support url"),
        ({"hue": "red"}, "ops: hue: unknown key; expected one of: name"),
        ({"facts": ["Begun"]}, "ops: facts: unknown fact 'Begun'; expected one of: "),
        ({"facts": []}, "ops: facts: expected a string, or a list of strings"),
        ({"facts": 7}, "ops: facts: expected a string, or a list of strings"),
        ({"groups": []}, "ops: groups: expected a string, or a list of strings"),
        ({"timeout": 0}, "expected a number of seconds from 0.001 to 300, not 0"),
        ({"timeout": "9"}, "ops: timeout: expected a number of seconds"),
        (
            {"headers": {"a b": "x"}},
            "ops: headers: header 'a b' is invalid or set by forewarn",
        ),
        (
            {"headers": {"Content-Type": "x"}},
            "header 'Content-Type' is invalid or set by forewarn",
        ),
        ({"headers": {"X-Team": 1}}, "X-Team must be plain ASCII text"),
        ({"options": {}}, "ops: webhook targets do not support options"),
    ],
)
def test_invalid_key_is_refused_with_a_message(
    keys: dict[str, object], words: str
) -> None:
    message = refusal(**keys)
    assert words in message
    assert message.startswith("forewarn.toml: notify.targets: ")


@pytest.mark.parametrize("missing", ["url", "kind"])
def test_missing_key_is_named(missing: str) -> None:
    table = {name: value for name, value in HOOK.items() if name != missing}
    with pytest.raises(InvalidInput, match=missing):
        from_file(table)


@pytest.mark.parametrize("value", ["x", "[1]", "{}", 7, {}, ["x"]])
def test_targets_are_tables(value: object) -> None:
    with pytest.raises(InvalidInput, match=r"notify\.targets: expected tables"):
        load(SettingSources(environment=HOME, file={"notify": {"targets": value}}))


def test_duplicate_target_names_are_refused() -> None:
    with pytest.raises(InvalidInput, match="duplicate target OPS"):
        from_file({**HOOK, "name": "OPS"}, HOOK)


@pytest.mark.parametrize("source", ["", "a b", "é", 7])
def test_invalid_source_is_refused(source: object) -> None:
    with pytest.raises(InvalidInput, match=r"notify\.source: expected a URI"):
        load(SettingSources(environment=HOME, file={"notify": {"source": source}}))
