"""PostgreSQL store: opening, refusals, and secrets in messages."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.postgres import PASSWORD, PostgresServer
from tests.stores.builders import (
    a_seen,
    opened,
    postgres_store,
    put,
)

from forewarn.errors import CannotStart
from forewarn.stores.postgres import PostgresLimits

SENTENCE = re.compile(r"[^\n]+")


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.url(schema=postgres.new_schema())


def refusal(url: str, limits: PostgresLimits | None = None) -> str:
    """Return the message with which `url` is refused: one line without secrets."""
    with pytest.raises(CannotStart) as refused:
        postgres_store(url, limits).open()
    message = str(refused.value)
    assert SENTENCE.fullmatch(message)
    assert "hush" not in message
    return message


@contextmanager
def altered_role(postgres: PostgresServer, what: str) -> Iterator[None]:
    """Alter the role of the store until the block ends."""
    postgres.run(f"ALTER ROLE forewarn SET {what}")
    try:
        yield
    finally:
        postgres.run("ALTER ROLE forewarn RESET ALL")


# --- opening -----------------------------------------------------------------


def test_a_second_store_on_the_same_database_is_refused(
    url: str, postgres: PostgresServer
) -> None:
    with opened(postgres_store(url)):
        message = refusal(url)
    assert (
        f"127.0.0.1:{postgres.port}/forewarn is in use by another forewarn process"
        in message
    )
    assert "choose another database with --store" in message


def test_url_may_use_the_postgres_scheme(url: str) -> None:
    with opened(postgres_store(url.replace("postgresql://", "postgres://"))) as store:
        assert put(store, a_seen(1)) == 1


def test_password_may_come_from_a_file_or_the_environment(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, _, rest = url.partition("@")[2].partition("/")
    file = tmp_path / "passwords"
    file.write_text(f"*:*:*:forewarn:{PASSWORD.replace(':', chr(92) + ':')}\n")
    file.chmod(0o600)
    for name, value in (("PGPASSFILE", str(file)), ("PGPASSWORD", PASSWORD)):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            with opened(
                postgres_store(f"postgresql://forewarn@{host}/{rest}")
            ) as store:
                store.facts(0, 1)


def test_names_are_not_ordered_by_the_locale_of_the_database(
    url: str, postgres: PostgresServer
) -> None:
    with opened(postgres_store(url)):
        assert postgres.run(
            "SELECT DISTINCT collation_name FROM information_schema.columns WHERE"
            " table_name = 'vms' AND data_type = 'character varying'"
        ) == ["C"]


# --- refusals ----------------------------------------------------------------


def test_a_wrong_password_is_refused(postgres: PostgresServer) -> None:
    message = refusal(postgres.url(password="wrong"))
    assert 'authentication failed for user "forewarn"' in message
    assert "--store" in message


def test_missing_database_is_refused(postgres: PostgresServer) -> None:
    assert '"nowhere" does not exist' in refusal(postgres.url("nowhere"))


def test_unreachable_server_is_refused(postgres: PostgresServer) -> None:
    assert "Connection refused" in refusal(postgres.url(port=1))


def test_outdated_server_is_refused(url: str) -> None:
    assert "99 or newer is required" in refusal(url, PostgresLimits(oldest=99))


def test_database_with_another_encoding_is_refused(postgres: PostgresServer) -> None:
    postgres.run(
        "CREATE DATABASE latin OWNER forewarn ENCODING 'LATIN1' TEMPLATE template0"
        " LC_COLLATE 'C' LC_CTYPE 'C'"
    )
    assert "encoding LATIN1" in refusal(postgres.url("latin"))


def test_database_of_another_program_is_refused_and_left_alone(
    postgres: PostgresServer,
) -> None:
    schema = postgres.new_schema()
    postgres.run(f"CREATE TABLE {schema}.recipes (name TEXT)")
    assert "another program" in refusal(postgres.url(schema=schema))
    query = f"SELECT tablename FROM pg_tables WHERE schemaname = '{schema}'"
    assert postgres.run(query) == ["recipes"]


def test_a_database_of_a_newer_forewarn_is_refused(postgres: PostgresServer) -> None:
    schema = postgres.new_schema()
    url = postgres.url(schema=schema)
    with opened(postgres_store(url)):
        pass
    postgres.run(f"UPDATE {schema}.alembic_version SET version_num = '9999'")
    assert "newer version of forewarn (revision 9999" in refusal(url)


def test_read_only_database_is_refused(postgres: PostgresServer, url: str) -> None:
    with altered_role(postgres, "default_transaction_read_only = on"):
        assert "is read-only" in refusal(url)


def test_role_that_cannot_create_tables_is_refused(postgres: PostgresServer) -> None:
    schema = postgres.new_schema()
    postgres.run(
        f"ALTER SCHEMA {schema} OWNER TO postgres",
        f"GRANT USAGE ON SCHEMA {schema} TO forewarn",
    )
    assert "does not allow this role" in refusal(postgres.url(schema=schema))


def test_missing_schema_is_refused(postgres: PostgresServer) -> None:
    assert "no schema" in refusal(postgres.url(schema="nowhere"))


def test_refused_database_is_not_locked(postgres: PostgresServer, url: str) -> None:
    with altered_role(postgres, "default_transaction_read_only = on"):
        refusal(url)
    with opened(postgres_store(url)) as store:
        assert put(store, a_seen(1)) == 1


# --- settings of the role that are overridden --------------------------------


@pytest.mark.parametrize(
    ("setting", "value"),
    [("synchronous_commit", "on"), ("statement_timeout", "0")],
)
def test_settings_that_could_lose_a_commit_are_overridden(
    postgres: PostgresServer, url: str, setting: str, value: str
) -> None:
    other = {"synchronous_commit": "off", "statement_timeout": "5"}[setting]
    postgres.run(
        "CREATE OR REPLACE FUNCTION public.settings() RETURNS trigger AS $$ BEGIN"
        f" NEW.value := current_setting('{setting}'); RETURN NEW;"
        " END $$ LANGUAGE plpgsql"
    )
    with (
        altered_role(postgres, f"{setting} = {other}"),
        opened(postgres_store(url)) as store,
    ):
        schema = url.rpartition("%3D")[2]
        postgres.run(
            f"CREATE TRIGGER kept BEFORE INSERT ON {schema}.settings"
            " FOR EACH ROW EXECUTE FUNCTION public.settings()"
        )
        with store.transaction() as transaction:
            transaction.keep("told", "")
            assert transaction.setting("told") == value


# --- secrets -----------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://forewarn:hush/hush@127.0.0.1:5432/forewarn",
        "postgresql://forewarn:hush@hush@127.0.0.1:5432/forewarn",
        "postgresql://forewarn:hush%hush@127.0.0.1:5432/forewarn",
        "postgresql://forewarn:hush%00@127.0.0.1:5432/forewarn",
        "postgresql://forewarn:hush\0@127.0.0.1:5432/forewarn",
        "postgresql://forewarn:\udc80hush@127.0.0.1:5432/forewarn",
        "postgresql://forewarn:hush@[::1:5432/forewarn",
        "postgresql://127.0.0.1/forewarn?passwort=hush",
    ],
)
def test_invalid_url_is_refused_without_being_quoted(url: str) -> None:
    with pytest.raises(CannotStart) as refused:
        postgres_store(url).open()
    assert "postgresql://USER:PASSWORD@HOST" in str(refused.value)
    error: BaseException | None = refused.value
    while error is not None:
        assert "hush" not in f"{error}"
        error = None if error.__suppress_context__ else error.__context__


def test_password_is_never_logged(
    url: str, postgres: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "psycopg")
    with opened(postgres_store(url)) as store:
        put(store, a_seen(1))
    refusal(postgres.url(password=f"not {PASSWORD}"))
    assert caplog.records
    assert "hush" not in caplog.text
