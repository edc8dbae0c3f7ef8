"""Agent alerts: they use only metrics that an agent exports."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.test_monitoring import labels, names

from forewarn.agent.telemetry.exporters import ALARMS
from forewarn.agent.telemetry.metrics import AGENT_METRICS, PREFIX

ROOT = Path(__file__).parents[3]
FILE = ROOT / "examples" / "monitoring" / "agent-alerts.yml"
(GROUP,) = yaml.safe_load(FILE.read_text())["groups"]
ALERTS: list[Any] = GROUP["rules"]

#: Metrics of other exporters, with their labels.
OTHERS = {"up": set[str](), "node_textfile_mtime_seconds": {"file"}}
TOLD = {PREFIX + each.name: {*each.labels} for each in AGENT_METRICS} | OTHERS


@pytest.mark.parametrize("alert", ALERTS, ids=lambda each: each["alert"])
def test_every_alert_uses_exported_metrics(alert: Any) -> None:
    (name,) = names(alert["expr"])
    assert name in TOLD
    assert labels(alert["expr"]) <= TOLD[name] | {"job", "instance"}


@pytest.mark.parametrize("alert", ALERTS, ids=lambda each: each["alert"])
def test_every_alert_is_complete_and_readable(alert: Any) -> None:
    assert alert.keys() <= {"alert", "expr", "for", "labels", "annotations"}
    assert re.fullmatch(r"[0-9]+[smh]", alert.get("for", "1m"))
    assert alert["labels"]["severity"] in ("page", "ticket")
    assert alert["annotations"].keys() == {"summary", "description"}
    assert alert["annotations"]["description"].endswith(".")
    (name,) = names(alert["expr"])
    allowed = TOLD[name] | {"instance"}
    for placeholder in re.findall(
        r"{{(.*?)}}", " ".join(alert["annotations"].values())
    ):
        assert re.fullmatch(r" \$(value|labels\.\w+)( \| humanize\w+)? ", placeholder)
        assert {*re.findall(r"labels\.(\w+)", placeholder)} <= allowed


def test_the_page_lists_exactly_the_alerts() -> None:
    page = (ROOT / "docs" / "how-to" / "monitor-the-agent.md").read_text()
    assert set(re.findall(r"`(ForewarnAgent\w+)`", page)) == {
        rule["alert"] for rule in ALERTS
    }


def test_the_page_explains_every_reason_for_bad_health() -> None:
    page = (ROOT / "docs" / "how-to" / "monitor-the-agent.md").read_text()
    for alarm in ALARMS:
        assert f"| `{alarm}` |" in page
