"""The files in examples/monitoring use only metrics and labels of the service."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.server.support.scrapes import scrape
from tests.server.support.service import a_service

FOLDER = Path(__file__).parents[1] / "examples" / "monitoring"
DASHBOARD: Any = json.loads((FOLDER / "grafana-dashboard.json").read_text())
RULES: list[Any] = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
ALERTS = [each for group in RULES for each in group["rules"] if "alert" in each]
RECORDED = [each for group in RULES for each in group["rules"] if "record" in each]
PAGES = Path(__file__).parents[1] / "docs"

#: Metrics that Prometheus itself adds to every target.
OWN = {"up"}

QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
RANGE = re.compile(r"\[[^\]]*\]")
GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_\w+)\s*\([^)]*\)")
LABELS = re.compile(r"\{([^}]*)\}")
NAME = re.compile(r"(?<![\w$])[a-zA-Z_:][\w:]*(?!\s*\()(?![\w:])")
WORDS = {"and", "or", "unless", "bool"}


def names(query: str) -> set[str]:
    """Return the metrics that a PromQL query uses."""
    bare = LABELS.sub("", GROUPING.sub("", RANGE.sub("", QUOTED.sub("", query))))
    return set(NAME.findall(bare)) - WORDS


def labels(query: str) -> set[str]:
    """Return the labels by which a query selects or groups."""
    bare = QUOTED.sub("", query)
    chosen = re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", " ".join(LABELS.findall(bare)))
    grouped = [group.partition("(")[2] for group in GROUPING.findall(bare)]
    return {*chosen, *re.findall(r"\w+", " ".join(grouped))}


def test_metrics_and_labels_are_found_in_a_query() -> None:
    query = (
        'sum by (le, x) (rate(a_bucket{b="c",d=~"e f"}[5m])) / (g > 0.5)'
        " and on (i) time() - h:j:ratio > 1e3"
    )
    assert names(query) == {"a_bucket", "g", "h:j:ratio"}
    assert labels(query) == {"le", "x", "b", "d", "i"}


def panels() -> Iterator[Any]:
    for panel in DASHBOARD["panels"]:
        yield panel
        yield from panel.get("panels", [])


QUERIES = sorted(
    {each["expr"] for each in (*ALERTS, *RECORDED)}
    | {each["expr"] for panel in panels() for each in panel.get("targets", [])}
)


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Return every metric of the service with its labels, if it has any."""
    folder = tmp_path_factory.mktemp("watched")
    with a_service(folder, store=f"sqlite:///{folder}/store") as service:
        service.announce(vms=["web-0"])
        scraped = scrape(service)
    labels_by_name: dict[str, set[str]] = {name: set() for name in scraped.names()}
    for name, pairs in scraped.samples:
        labels_by_name[name] |= {label for label, _ in pairs}
    return labels_by_name


@pytest.mark.parametrize("query", QUERIES)
def test_every_metric_in_a_query_exists(
    metrics: dict[str, set[str]], query: str
) -> None:
    existing = metrics.keys() | OWN | {rule["record"] for rule in RECORDED}
    assert names(query)
    assert names(query) <= existing


@pytest.mark.parametrize("query", QUERIES)
def test_every_label_in_a_query_exists(
    metrics: dict[str, set[str]], query: str
) -> None:
    existing = {
        label for name in names(query) & metrics.keys() for label in metrics[name]
    }
    assert labels(query) <= existing | {"job", "instance"}


def test_every_metric_is_on_the_dashboard(metrics: dict[str, set[str]]) -> None:
    queried = {name for query in QUERIES for name in names(query)}
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in queried}
    missing = {
        name
        for name in metrics
        if name.startswith("forewarn_")
        and re.sub(r"_(bucket|sum|count)$", "", name) not in families
    }
    assert missing == {
        "forewarn_build_info",  # its labels select the instance
        "forewarn_clock_rate",
        "forewarn_clock_timestamp_seconds",
        "forewarn_faults_total",  # only in rehearsals
    }


# --- alerts ------------------------------------------------------------------


def test_rules_have_the_format_of_prometheus() -> None:
    for group in RULES:
        assert group.keys() == {"name", "rules"}
        for rule in group["rules"]:
            kind = "alert" if "alert" in rule else "record"
            optional = {"for", "labels", "annotations"} if kind == "alert" else set()
            assert {kind, "expr"} <= rule.keys() <= {kind, "expr", *optional}
            assert re.fullmatch(r"[0-9]+[smh]", rule.get("for", "1m"))


def test_every_rule_has_a_unique_name() -> None:
    rule_names = [rule.get("alert") or rule["record"] for rule in (*ALERTS, *RECORDED)]
    assert len(rule_names) == len(set(rule_names))


@pytest.mark.parametrize("alert", ALERTS, ids=lambda each: each["alert"])
def test_every_alert_is_readable(alert: Any) -> None:
    assert alert["labels"]["severity"] in ("page", "ticket")
    assert alert["annotations"].keys() == {"summary", "description"}
    assert alert["annotations"]["description"].endswith(".")
    for placeholder in re.findall(
        r"{{(.*?)}}", " ".join(alert["annotations"].values())
    ):
        assert re.fullmatch(r" \$(value|labels\.\w+)( \| humanize\w+)? ", placeholder)


def test_monitoring_page_lists_exactly_the_alerts() -> None:
    page = (PAGES / "how-to" / "monitor.md").read_text()
    assert set(re.findall(r"`(Forewarn\w+)`", page)) == {
        alert["alert"] for alert in ALERTS
    }


# --- dashboard ---------------------------------------------------------------


def test_every_panel_has_a_unique_id() -> None:
    ids = [panel["id"] for panel in panels()]
    assert len(ids) == len(set(ids))


def test_panels_do_not_overlap() -> None:
    covered = [
        (x, y)
        for panel in panels()
        for place in [panel["gridPos"]]
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(covered) == len(set(covered))
    assert max(x for x, _ in covered) < 24


def test_every_query_of_a_panel_selects_the_service() -> None:
    for panel in panels():
        for target in panel.get("targets", []):
            selectors = LABELS.findall(target["expr"])
            assert selectors, target["expr"]
            for selector in selectors:
                assert selector.startswith('job="$job",instance=~"$instance"')


# --- Prometheus configuration ------------------------------------------------


def test_prometheus_reads_the_rules_and_sends_a_token() -> None:
    settings = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
    assert settings["rule_files"] == ["alerts.yml"]
    (job,) = settings["scrape_configs"]
    assert job["job_name"] == "forewarn"
    assert "credentials_file" in job["authorization"]
