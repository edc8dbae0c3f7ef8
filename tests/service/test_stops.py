"""Stops of a service while its receivers, scripts or database hang."""

import time
from functools import partial
from pathlib import Path

import pytest
from tests.drivers.scripts import is_alive, write_script
from tests.end_to_end.program import SOON, until
from tests.notifiers.receiver import a_receiver
from tests.patience import PATIENCE
from tests.postgres import PostgresServer
from tests.server.support.service import a_service
from tests.stores.relay import relayed

from forewarn.stores.postgres import PostgresLimits

#: Runs until it is ended; its second attempt succeeds.
ENDLESS = """\
test $FOREWARN_ATTEMPT = 1 || exit 0
echo $$ >{folder}/draft; mv {folder}/draft {folder}/pid
while :; do sleep 0.05; done
"""


def a_store(folder: Path) -> str:
    return f"sqlite:///{folder / 'forewarn.db'}"


def test_after_a_stop_nothing_is_delivered_twice(tmp_path: Path) -> None:
    with a_receiver() as receiver:
        flags = {"store": a_store(tmp_path), "webhook": [receiver.url]}
        with a_service(tmp_path, **flags) as service:
            service.announce(vms=["lone"])
            receiver.wait_for(lambda: len(receiver.got) == 1)
        with a_service(tmp_path, **flags) as service:
            service.announce(vms=["lone"])
            receiver.wait_for(lambda: len(receiver.got) >= 2)
        first, second = receiver.positions
        assert first < second


def test_a_hanging_receiver_does_not_delay_a_stop(tmp_path: Path) -> None:
    with a_receiver() as receiver:
        receiver.reply = receiver.hang
        with a_service(tmp_path, webhook=[receiver.url]) as service:
            service.announce(vms=["lone"])
            receiver.wait_for(lambda: len(receiver.got) == 1)
            began = time.monotonic()
        assert time.monotonic() - began < SOON


def test_a_stop_ends_the_script_whose_work_is_repeated(tmp_path: Path) -> None:
    script = write_script(tmp_path / "script", ENDLESS.format(folder=tmp_path))
    flags = {
        "store": a_store(tmp_path),
        "clock": "system",
        "driver": "script",
        "driver_command": str(script),
        "lead": "0",
        "shown_reboot": "0",
    }
    with a_service(tmp_path, **flags) as service:
        maintenance = service.announce(vms=["lone"], emergency=True, reason="x")
        until((tmp_path / "pid").exists, PATIENCE)
    assert not is_alive(int((tmp_path / "pid").read_text()))
    with a_service(tmp_path, **flags) as service:
        path = f"/v1/maintenances/{maintenance['id']}"
        until(lambda: service.get(path)["phase"] == "COMPLETED", PATIENCE)
        kinds = [fact["fact"] for fact in service.facts()]
    assert kinds.count("WorkBegan") == 2
    assert "WorkFailed" not in kinds


def test_a_hanging_database_does_not_delay_a_stop(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = partial(PostgresLimits, leaving=0.1)
    monkeypatch.setattr("forewarn.stores.postgres.PostgresLimits", limits)
    with relayed(postgres.port) as relay:
        store = postgres.url(port=relay.port, schema=postgres.new_schema())
        with a_service(tmp_path, store=store) as service:
            service.document("lone")  # observed, and still to be written
            relay.hang()
            began = time.monotonic()
        assert time.monotonic() - began < SOON
