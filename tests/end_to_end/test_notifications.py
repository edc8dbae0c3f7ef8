"""Notifications of the real program by webhook and log, even across kills."""

import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event

import pytest
from tests.end_to_end.program import Program, run, serving, until
from tests.end_to_end.test_refusals import PORTS, check_sentence
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


def some_lives(program: Program, count: int) -> None:
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
            some_lives(program, 10)
            receiver.wait_for(lambda: len(receiver.got) == 15)
            assert len(program.service.facts()) > begin + 20
            program.kill()
            killed.set()
        told_before = receiver.positions
        with serving(tmp_path, *options, OPS_SECRET="hush") as program:
            some_lives(program, 5)
            end = wait_for_delivery(program, receiver)
        told_after = receiver.positions[len(told_before) :]
    assert told_before == [*range(begin + 1, begin + 16)]
    assert told_after == [*range(told_after[0], end + 1)]
    assert told_after[0] <= told_before[-1]


@pytest.mark.full
def test_after_an_orderly_stop_nothing_is_delivered_twice(tmp_path: Path) -> None:
    ends = []
    with a_receiver() as receiver:
        options = (*MANUAL, *a_file(tmp_path, notify_settings(receiver)))
        for _ in range(2):
            with serving(tmp_path, *options, OPS_SECRET="hush") as program:
                some_lives(program, 3)
                ends.append(wait_for_delivery(program, receiver))
                assert program.stop()[0] == 0
        assert receiver.positions == [*range(receiver.positions[0], ends[-1] + 1)]


@pytest.mark.full
def test_a_hanging_receiver_delays_neither_others_nor_a_stop(tmp_path: Path) -> None:
    with a_receiver() as hanging, a_receiver() as prompt:
        hanging.reply = hanging.hang
        urls = ("--webhook", hanging.url, "--webhook", prompt.url)
        with serving(tmp_path, *MANUAL, *urls) as program:
            maintenance = program.service.announce(vms=["web-0"])
            hanging.wait_for(lambda: len(hanging.got) == 1)
            event = maintenance["events"][0]["id"]
            assert program.service.approve_as("web-1", event).status == 200
            program.service.advance(3600)
            prompt.wait_for(lambda: "dev.forewarn.Completed" in types(prompt))
            code, took = program.stop()
        assert code == 0
        assert took < 3
        assert len(hanging.got) == 1


def types(receiver: Receiver) -> list[str]:
    return [delivery.event["type"] for delivery in receiver.got]


@pytest.mark.full
def test_a_receiver_that_was_down_misses_nothing(tmp_path: Path) -> None:
    with a_receiver() as receiver:
        answers = iter([503, 500, 204])

        def reply(handler: BaseHTTPRequestHandler) -> None:
            a_reply(next(answers, 204))(handler)

        receiver.reply = reply
        options = (*MANUAL, *a_file(tmp_path, notify_settings(receiver)))
        with serving(tmp_path, *options, OPS_SECRET="hush") as program:
            program.service.announce(vms=["web-0"])
            end = wait_for_delivery(program, receiver)
            log = program.log
    first = receiver.positions[0]
    assert receiver.positions == [first, first, *range(first, end + 1)]
    attempts = [
        delivery.headers["Forewarn-Delivery-Attempt"] for delivery in receiver.got
    ]
    assert attempts[:4] == ["1", "2", "3", "1"]
    assert log.count("all was not told") == 1
    assert "hush" not in log


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


def test_invalid_settings_are_a_one_line_error(tmp_path: Path) -> None:
    ended = run(tmp_path, "serve", *PORTS, "--webhook", "ops.example")
    check_sentence(ended, 2, "--webhook", "https://ops.example/hook")
    text = '[[notify.targets]]\nname = "ops"\nkind = "pigeon"\n'
    ended = run(tmp_path, "serve", *PORTS, *a_file(tmp_path, text))
    check_sentence(ended, 2, "forewarn.toml", '"webhook", "log"', "pigeon")
