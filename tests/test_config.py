"""Settings: sources, precedence, and refusals."""

import re
from pathlib import Path

import pytest

from forewarn.config.load import SettingSources, load
from forewarn.config.settings import SETTINGS, Config
from forewarn.configfile.values import Address
from forewarn.errors import InvalidInput
from forewarn.protocol.types import EventType
from forewarn.protocol.versions import DateForm

HOME = {"HOME": "/home/ops"}


def from_flags(**flags: object) -> Config:
    return load(SettingSources(flags=flags, environment=HOME))


def from_environment(**variables: str) -> Config:
    return load(SettingSources(environment={**HOME, **variables}))


def from_file(file: dict[str, object]) -> Config:
    return load(SettingSources(environment=HOME, file=file, file_name="forewarn.toml"))


# --- defaults ----------------------------------------------------------------


def test_planes_listen_on_loopback_by_default() -> None:
    config = from_flags()
    assert config.metadata == (Address("127.0.0.1", 8254),)
    assert config.control == Address("127.0.0.1", 8255)


def test_defaults_are_as_designed() -> None:
    config = from_flags()
    assert (config.clock, config.driver) == ("system", "nothing")
    assert (config.fleet, config.default_vm, config.lead) == (None, None, None)
    assert set(config.shown.values()) == {5}
    assert config.not_before_2017_03_01 is DateForm.ISO8601
    assert (config.latest, config.first_call_delay) == (False, 0)


@pytest.mark.parametrize(
    ("environment", "directory"),
    [
        ({"FOREWARN_STATE_DIR": "/own", "XDG_STATE_HOME": "/xdg"}, "/own"),
        ({"XDG_STATE_HOME": "/xdg"}, "/xdg/forewarn"),
        ({"XDG_STATE_HOME": ""}, "/home/ops/.local/state/forewarn"),
        ({}, "/home/ops/.local/state/forewarn"),
    ],
)
def test_the_state_directory_is_found(
    environment: dict[str, str], directory: str
) -> None:
    config = from_environment(**environment)
    assert config.state_directory == Path(directory)
    assert config.store == f"sqlite:///{directory}/forewarn.db"


# --- precedence --------------------------------------------------------------


def test_flags_override_the_environment_which_overrides_the_file() -> None:
    sources = SettingSources(
        flags={"clock": "manual"},
        environment={**HOME, "FOREWARN_CLOCK": "x60", "FOREWARN_DRIVER": "operator"},
        file={
            "clock": {"mode": "system"},
            "driver": {"name": "nothing"},
            "log": {"level": "error"},
        },
    )
    config = load(sources)
    assert (config.clock, config.driver) == ("manual", "operator")
    assert config.log_level == "error"


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_empty_variable_counts_as_unset(setting: object) -> None:
    variable = getattr(setting, "variable", "")
    assert from_environment(**{variable: ""}) == from_flags()


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_flag_with_value_none_counts_as_unset(setting: object) -> None:
    name = getattr(setting, "name", "")
    assert from_flags(**{name: None}) == from_flags()


@pytest.mark.parametrize("kind", EventType)
def test_duration_of_started_can_be_set_for_each_type(kind: EventType) -> None:
    config = from_environment(**{f"FOREWARN_SHOWN_{kind.upper()}": "0.2"})
    assert config.shown[kind] == 0.2
    assert config == from_file({"shown": {kind.lower(): 0.2}})


def test_date_format_of_the_oldest_version_can_be_set_in_the_file() -> None:
    config = from_file({"protocol": {"not_before_2017_03_01": "rfc1123"}})
    assert config.not_before_2017_03_01 is DateForm.RFC1123


def test_the_lead_can_be_set_in_the_file() -> None:
    assert from_file({"driver": {"lead": 3}}).lead == 3


def test_latest_can_be_set_in_the_file_and_by_variable() -> None:
    assert from_file({"protocol": {"latest": True}}).latest
    assert from_environment(FOREWARN_LATEST="on").latest


def test_first_call_delay_can_be_set_in_the_file_and_by_variable() -> None:
    assert from_file({"enabling": {"first_call_delay": 0.5}}).first_call_delay == 0.5
    assert from_environment(FOREWARN_FIRST_CALL_DELAY="120").first_call_delay == 120


# --- addresses ---------------------------------------------------------------


def test_the_metadata_plane_may_listen_on_several_addresses() -> None:
    expected = (Address("127.0.0.1", 0), Address("::1", 80))
    assert from_flags(metadata=["127.0.0.1:0", "[::1]:80"]).metadata == expected
    text = "127.0.0.1:0, [::1]:80"
    assert from_environment(FOREWARN_METADATA=text).metadata == expected
    listed: dict[str, object] = {"metadata": {"listen": ["127.0.0.1:0", "[::1]:80"]}}
    assert from_file(listed).metadata == expected


def test_invalid_address_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"--control: expected an address such as"):
        from_flags(control="127.0.0.1")


def test_metadata_plane_is_open_on_loopback() -> None:
    assert from_flags(metadata=["127.0.0.1:1", "[::1]:1"]).is_open


def test_one_reachable_address_closes_the_metadata_plane() -> None:
    assert not from_flags(metadata=["127.0.0.1:1", "10.0.0.1:1"]).is_open


def test_metadata_plane_can_be_opened_on_purpose() -> None:
    assert from_flags(metadata=["10.0.0.1:1"], open=True).is_open


@pytest.mark.parametrize(("text", "is_open"), [("Yes", True), ("off", False)])
def test_a_switch_is_read_from_the_environment(text: str, is_open: bool) -> None:
    config = from_environment(FOREWARN_METADATA="10.0.0.1:1", FOREWARN_OPEN=text)
    assert config.is_open is is_open


# --- store -------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "memory",
        "sqlite:///forewarn.db",
        "postgresql://forewarn:hush@db:5432/forewarn?sslmode=require",
        "postgres://db/forewarn",
        "postgresql://",  # libpq takes the rest from the environment
    ],
)
def test_a_store_is_a_file_memory_or_postgresql(url: str) -> None:
    assert from_flags(store=url).store == url


@pytest.mark.parametrize(
    "url",
    [
        "mysql://forewarn:hush@db/forewarn",
        "postgresql:/forewarn:hush@db/forewarn",
        "forewarn:hush@db/forewarn",
        "host=db password=hush",
    ],
)
def test_refused_store_does_not_show_its_password(url: str) -> None:
    with pytest.raises(InvalidInput, match=r"--store: expected .*postgresql://") as no:
        from_flags(store=url)
    assert "hush" not in str(no.value)


@pytest.mark.parametrize("url", ["sqlite:///", "sqlite://x", "oracle", "forewarn.db"])
def test_refused_store_without_a_secret_is_quoted(url: str) -> None:
    with pytest.raises(InvalidInput, match=f'"{url}"'):
        from_flags(store=url)


def test_settings_are_shown_without_the_password() -> None:
    assert "hush" not in repr(from_flags(store="postgresql://forewarn:hush@db/x"))


# --- refusals ----------------------------------------------------------------

WRONG = {
    "clock": "sundial",
    "driver": "magic",
    "log_format": "xml",
    "log_level": "loud",
    "open": "perhaps",
    "lead": "-1",
    "shown_reboot": "soon",
    "not_before_2017_03_01": "roman",
    "latest": "newest",
    "first_call_delay": "120.1",
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_value_is_refused_with_its_variable(name: str) -> None:
    variable = f"FOREWARN_{name.upper()}"
    with pytest.raises(InvalidInput, match=variable):
        from_environment(**{variable: WRONG[name]})


def test_first_call_delay_is_at_most_two_minutes() -> None:
    with pytest.raises(InvalidInput, match=r"a number of seconds from 0 to 120, not"):
        from_file({"enabling": {"first_call_delay": 121}})


def test_renamed_table_is_refused_with_its_new_name() -> None:
    with pytest.raises(InvalidInput, match=r'listening: .*it is now called "enabling"'):
        from_file({"listening": {"first_call_delay": 1}})


def test_wrong_value_is_refused_with_its_key_in_the_file() -> None:
    with pytest.raises(InvalidInput, match=r"^forewarn.toml: fleet.file: expected t"):
        from_file({"fleet": {"file": 1}})


@pytest.mark.parametrize("value", [1, [], {}, [1], ["nowhere"]])
def test_invalid_addresses_are_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match=r"metadata\.listen: expected"):
        from_file({"metadata": {"listen": value}})


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ({"metdata": {}}, 'metdata: unknown key; did you mean "metadata"?'),
        ({"metadata": {"port": 1}}, "metadata.port: unknown key; expected one of: lis"),
        ({"clock": "manual"}, 'clock: expected a table, not "manual"'),
    ],
)
def test_unknown_key_of_the_file_is_refused_with_the_valid_ones(
    file: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidInput, match=re.escape(f"forewarn.toml: {message}")):
        from_file(file)


def test_variables_of_other_commands_are_ignored() -> None:
    assert from_environment(FOREWARN_URL="x", FOREWARN_TOKEN="t") == from_flags()


# --- control plane on a network ----------------------------------------------


@pytest.mark.parametrize("control", ["0.0.0.0:1", "[::]:1", "192.0.2.1:1", "box:1"])
def test_control_plane_on_a_network_needs_tls(control: str) -> None:
    with pytest.raises(InvalidInput, match=r"--tls-cert and --tls-key, or --insecure"):
        from_flags(control=control)
    from_flags(control=control, tls_cert="c.pem", tls_key="k.pem")
    from_flags(control=control, insecure_control=True)


@pytest.mark.parametrize("control", ["127.0.0.1:1", "[::1]:1", "localhost:1"])
def test_control_plane_on_loopback_needs_no_tls(control: str) -> None:
    assert from_flags(control=control).tls_cert is None


@pytest.mark.parametrize("flag", ["tls_cert", "tls_key"])
def test_certificate_and_key_are_required_together(flag: str) -> None:
    with pytest.raises(InvalidInput, match="must be set together"):
        from_flags(**{flag: "file.pem"})


def test_loopback_is_a_trusted_proxy_if_a_host_is_configured() -> None:
    assert from_flags().trusted_proxies == ()
    assert from_flags(control_host=["a"]).trusted_proxies == ("127.0.0.1", "::1")


def test_trusted_proxies_can_be_named() -> None:
    named = ("10.0.0.2/32", "fd00::/8")
    assert from_flags(control_proxy=["10.0.0.2", "fd00::/8"]).trusted_proxies == named
    text = "10.0.0.2, fd00::/8"
    assert from_environment(FOREWARN_CONTROL_PROXY=text).trusted_proxies == named
    none = from_file({"control": {"hosts": ["a"], "proxies": []}})
    assert none.trusted_proxies == ()
    none = from_flags(control_host=["a"], control_proxy=["none"])
    assert none.trusted_proxies == ()
    with pytest.raises(InvalidInput, match="--control-proxy: expected an address"):
        from_flags(control_proxy=["proxy.example"])


def test_control_hosts_are_read_in_any_case() -> None:
    names = ("a.example", "b")
    assert from_flags(control_host=["A.Example.", "b"]).control_host == names
    assert from_environment(FOREWARN_CONTROL_HOST="a.example, B").control_host == names
    assert from_file({"control": {"hosts": ["*"]}}).control_host == ("*",)
    assert from_flags().control_host == ()


@pytest.mark.parametrize("name", ["a:1", "http://a", "", "a b", "*.example", 1])
def test_invalid_control_host_is_refused(name: object) -> None:
    with pytest.raises(InvalidInput, match="--control-host: expected a name such as"):
        from_flags(control_host=[name])


# --- rehearsals --------------------------------------------------------------


def test_seed_requires_a_store_in_memory() -> None:
    assert from_flags().seed is None
    assert from_flags(seed="7", store="memory").seed == 7
    with pytest.raises(InvalidInput, match="requires --store memory"):
        from_flags(seed="7")


def test_a_seed_is_a_whole_number() -> None:
    with pytest.raises(InvalidInput, match="--seed: expected a whole number"):
        from_flags(seed="1.5", store="memory")
