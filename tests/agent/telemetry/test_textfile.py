"""Metrics text file for node_exporter's textfile collector."""

import logging
import os
import threading
from pathlib import Path

import pytest

from forewarn.agent.telemetry.exporters import TextfileExporter
from forewarn.agent.telemetry.logs import Conditions
from forewarn.agent.telemetry.metrics import AgentMetrics


def a_textfile(path: Path, metrics: AgentMetrics | None = None) -> TextfileExporter:
    log = logging.getLogger("forewarn.agent")
    return TextfileExporter(path, metrics or AgentMetrics(), Conditions(log))


def test_the_file_holds_the_metrics_and_others_can_read_it(tmp_path: Path) -> None:
    metrics = AgentMetrics()
    metrics.set("blind", 1)
    before = os.umask(0o077)
    try:
        assert a_textfile(tmp_path / "forewarn.prom", metrics).write(0.0)
    finally:
        os.umask(before)
    file = tmp_path / "forewarn.prom"
    assert file.read_text() == metrics.render()
    assert file.stat().st_mode & 0o777 == 0o644
    assert [*tmp_path.iterdir()] == [file]


def test_the_file_is_written_every_fifteen_seconds(tmp_path: Path) -> None:
    metrics = AgentMetrics()
    file = tmp_path / "forewarn.prom"
    textfile = a_textfile(file, metrics)
    written = []
    for moment in (100.0, 101.0, 114.9, 115.0, 129.0, 130.0):
        metrics.set("document_incarnation", moment)
        textfile.write(moment)
        written.append(f"incarnation {moment:.0f}\n" in file.read_text())
    assert written == [True, False, False, True, False, True]
    assert textfile.due(140.0) == 5.0
    assert textfile.due(150.0) == 0.0


def test_a_change_is_written_immediately(tmp_path: Path) -> None:
    metrics = AgentMetrics()
    textfile = a_textfile(tmp_path / "forewarn.prom", metrics)
    textfile.write(100.0)
    metrics.set("blind", 1)
    textfile.write(100.1, has_changed=True)
    assert "agent_blind 1\n" in (tmp_path / "forewarn.prom").read_text()


def test_an_alarm_is_written_immediately_and_once(tmp_path: Path) -> None:
    metrics, file = AgentMetrics(), tmp_path / "forewarn.prom"
    conditions = Conditions(logging.getLogger("forewarn.agent"))
    textfile = TextfileExporter(file, metrics, conditions)
    textfile.write(100.0)
    conditions.report("blind", True, "sees nothing")
    metrics.set("blind", 1)
    textfile.write(101.0)
    assert "agent_blind 1\n" in file.read_text()
    metrics.set("blind", 2)
    textfile.write(102.0)
    assert "agent_blind 1\n" in file.read_text()


def test_a_failure_and_its_end_are_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    folder = tmp_path / "node_exporter"
    textfile = a_textfile(folder / "forewarn.prom")
    assert not textfile.write(0.0)
    assert not textfile.write(20.0)
    folder.mkdir()
    assert textfile.write(40.0)
    assert textfile.write(60.0)
    messages = [record.message for record in caplog.records]
    assert messages == [
        f"cannot write {folder}/forewarn.prom: No such file or directory",
        f"can write {folder}/forewarn.prom again",
    ]


def test_the_previous_file_is_kept_when_the_disk_is_full(tmp_path: Path) -> None:
    file = tmp_path / "forewarn.prom"
    file.write_text("old\n")
    (tmp_path / ".forewarn.prom.new").symlink_to("/dev/full")
    assert not a_textfile(file).write(0.0)
    assert file.read_text() == "old\n"


def test_a_reader_never_sees_a_partial_file(tmp_path: Path) -> None:
    file = tmp_path / "forewarn.prom"
    textfile = a_textfile(file)
    textfile.write(0.0)
    whole = file.read_text()
    seen: set[str] = set()
    is_over = threading.Event()

    def read() -> None:
        while not is_over.is_set():
            seen.add(file.read_text())

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(100):
        textfile.write(float(number), has_changed=True)
    is_over.set()
    reader.join()
    assert seen == {whole}
