"""Metrics of the real program while its database is unavailable."""

from pathlib import Path

import pytest
from tests.end_to_end.program import serving, until
from tests.postgres import PostgresServer
from tests.server.support.scrapes import scrape


@pytest.mark.full
def test_other_metrics_are_served_while_the_database_is_unavailable(
    tmp_path: Path, durable_postgres: PostgresServer
) -> None:
    url = durable_postgres.url(schema=durable_postgres.new_schema())
    with serving(tmp_path, "--store", url) as program:
        service = program.service
        service.announce(vms=["web-0"])
        assert scrape(service).value("forewarn_store_up") == 1
        with durable_postgres.stopped():
            away = scrape(service)
        until(lambda: scrape(service).value("forewarn_store_up") == 1)
        back = scrape(service)
    assert away.value("forewarn_store_up") == 0
    assert away.value("forewarn_events", type="Reboot", phase="SCHEDULED") == 1
    assert away.all("forewarn_journal_position") == {}
    assert back.value("forewarn_journal_position") > 0
