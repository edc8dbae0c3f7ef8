"""The alerts on agents ask for nothing that an agent does not tell."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.test_monitoring import labels, names

from forewarn.agent.health import ALARMS
from forewarn.agent.measures import MEASURES, PREFIX

ROOT = Path(__file__).parents[2]
FILE = ROOT / "examples" / "monitoring" / "agent-alerts.yml"
(GROUP,) = yaml.safe_load(FILE.read_text())["groups"]
ALERTS: list[Any] = GROUP["rules"]

#: What others tell, and their labels.
OTHERS = {"up": set[str](), "node_textfile_mtime_seconds": {"file"}}
TOLD = {PREFIX + each.name: {*each.labels} for each in MEASURES} | OTHERS


@pytest.mark.parametrize("alert", ALERTS, ids=lambda each: each["alert"])
def test_every_alert_asks_for_what_is_told(alert: Any) -> None:
    (name,) = names(alert["expr"])
    assert name in TOLD
    assert labels(alert["expr"]) <= TOLD[name] | {"job", "instance"}


@pytest.mark.parametrize("alert", ALERTS, ids=lambda each: each["alert"])
def test_every_alert_is_written_for_people(alert: Any) -> None:
    assert alert.keys() <= {"alert", "expr", "for", "labels", "annotations"}
    assert re.fullmatch(r"[0-9]+[smh]", alert.get("for", "1m"))
    assert alert["labels"]["severity"] in ("page", "ticket")
    assert alert["annotations"].keys() == {"summary", "description"}
    assert alert["annotations"]["description"].endswith(".")
    (name,) = names(alert["expr"])
    known = TOLD[name] | {"instance"}
    for said in re.findall(r"{{(.*?)}}", " ".join(alert["annotations"].values())):
        assert re.fullmatch(r" \$(value|labels\.\w+)( \| humanize\w+)? ", said)
        assert {*re.findall(r"labels\.(\w+)", said)} <= known


def test_the_page_tells_of_every_alert_and_no_other() -> None:
    page = (ROOT / "docs" / "how-to" / "monitor-the-agent.md").read_text()
    assert set(re.findall(r"`(ForewarnAgent\w+)`", page)) == {
        each["alert"] for each in ALERTS
    }


def test_the_page_tells_of_every_reason_not_to_be_well() -> None:
    page = (ROOT / "docs" / "how-to" / "monitor-the-agent.md").read_text()
    for alarm in ALARMS:
        assert f"| `{alarm}` |" in page
