"""Notifications of the real program by webhook and log, even across kills."""

import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event

from tests.end_to_end.program import (
    Program,
    serving,
    until,
)
from tests.notifiers.receiver import Receiver, a_receiver, a_reply
from tests.patience import PATIENCE

MANUAL = ("--clock", "manual")


def a_file(folder: Path, text: str) -> tuple[str, str]:
    path = folder / "forewarn.toml"
    path.write_text(text)
    return ("--config", str(path))


def notify_settings(receiver: Receiver) -> str:
    return (
        "[notify]\nlongest_backoff = 1\n"
        '[[notify.targets]]\nname = "all"\nkind = "webhook"\nfacts = ["*"]\n'
        f'url = "{receiver.url}/hook"\nsecret_env = "OPS_SECRET"\n'
    )


def announce_and_cancel(program: Program, count: int) -> None:
    for _ in range(count):
        maintenance = program.service.announce(vms=["web-0"])
        program.service.request("POST", f"/v1/maintenances/{maintenance['id']}/cancel")


def wait_for_delivery(program: Program, receiver: Receiver) -> int:
    """Wait until the receiver has the last fact, and return its position."""
    end = len(program.service.facts())
    receiver.wait_for(lambda: end in receiver.positions)
    return end


def test_after_a_kill_every_fact_is_delivered_at_least_once_and_in_order(
    tmp_path: Path,
) -> None:
    killed = Event()

    def reply(handler: BaseHTTPRequestHandler) -> None:
        if len(receiver.got) == 15:
            killed.wait(PATIENCE)
        a_reply(204)(handler)

    with a_receiver() as receiver:
        receiver.reply = reply
        options = (*MANUAL, *a_file(tmp_path, notify_settings(receiver)))
        with serving(tmp_path, *options, OPS_SECRET="hush") as program:
            begin = len(program.service.facts())
            announce_and_cancel(program, 10)
            receiver.wait_for(lambda: len(receiver.got) == 15)
            assert len(program.service.facts()) > begin + 20
            program.kill()
            killed.set()
        told_before = receiver.positions
        with serving(tmp_path, *options, OPS_SECRET="hush") as program:
            announce_and_cancel(program, 5)
            end = wait_for_delivery(program, receiver)
        told_after = receiver.positions[len(told_before) :]
    assert told_before == [*range(begin + 1, begin + 16)]
    assert told_after == [*range(told_after[0], end + 1)]
    assert told_after[0] <= told_before[-1]


def test_log_notifications_are_json_at_any_log_level(tmp_path: Path) -> None:
    text = '[[notify.targets]]\nname = "log"\nkind = "log"\n'
    options = ("--log-format", "json", "--log-level", "error", *MANUAL)
    with serving(tmp_path, *options, *a_file(tmp_path, text)) as program:
        maintenance = program.service.announce(vms=["web-0"])
        until(lambda: "Announced" in program.log)
        (line,) = map(json.loads, program.log.splitlines())
    assert line["logger"] == "forewarn.notifications"
    assert line["event"]["subject"] == maintenance["id"]
    assert maintenance["id"] in line["message"]


def test_log_lines_hold_no_control_characters(tmp_path: Path) -> None:
    text = '[[notify.targets]]\nname = "log"\nkind = "log"\n'
    with serving(tmp_path, *MANUAL, *a_file(tmp_path, text)) as program:
        maintenance = program.service.announce(vms=["web-0"])
        path = f"/v1/maintenances/{maintenance['id']}/cancel"
        reason = {"reason": "so\x1b[2Jno\x9b5m\u202eend"}
        assert program.service.request("POST", path, reason).status == 200
        until(lambda: " Canceled " in program.log)
    (line,) = [line for line in program.log.split("\n") if " Canceled " in line]
    assert "so [2Jno 5m end" in line
