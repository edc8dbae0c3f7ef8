"""What is in examples/monitoring asks for nothing that the service does not tell."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.server.scrape import scrape
from tests.server.service import a_service

FOLDER = Path(__file__).parents[1] / "examples" / "monitoring"
DASHBOARD: Any = json.loads((FOLDER / "grafana-dashboard.json").read_text())
RULES: list[Any] = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
ALERTS = [each for group in RULES for each in group["rules"] if "alert" in each]
RECORDED = [each for group in RULES for each in group["rules"] if "record" in each]
PAGES = Path(__file__).parents[1] / "docs"

#: What Prometheus itself adds to every target.
OWN = {"up"}

QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
RANGE = re.compile(r"\[[^\]]*\]")
GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_\w+)\s*\([^)]*\)")
LABELS = re.compile(r"\{([^}]*)\}")
NAME = re.compile(r"(?<![\w$])[a-zA-Z_:][\w:]*(?!\s*\()(?![\w:])")
WORDS = {"and", "or", "unless", "bool"}


def names(query: str) -> set[str]:
    """The metrics that a query in PromQL asks for."""
    bare = LABELS.sub("", GROUPING.sub("", RANGE.sub("", QUOTED.sub("", query))))
    return set(NAME.findall(bare)) - WORDS


def labels(query: str) -> set[str]:
    """The labels by which a query chooses or groups."""
    bare = QUOTED.sub("", query)
    chosen = re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", " ".join(LABELS.findall(bare)))
    grouped = [each[each.index("(") + 1 : -1] for each in GROUPING.findall(bare)]
    return {*chosen, *(one.strip() for each in grouped for one in each.split(","))}


def test_names_are_found_in_a_query() -> None:
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
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Every name that a query may use, with its labels as far as there are any."""
    folder = tmp_path_factory.mktemp("watched")
    with a_service(folder, store=f"sqlite:///{folder}/store") as service:
        service.announce(vms=["web-0"])
        found = scrape(service)
    known: dict[str, set[str]] = {name: set() for name in found.names()}
    for name, pairs in found.samples:
        known[name] |= {label for label, _ in pairs}
    return known


@pytest.mark.parametrize("query", QUERIES)
def test_every_metric_that_is_asked_for_is_told(
    told: dict[str, set[str]], query: str
) -> None:
    known = told.keys() | OWN | {each["record"] for each in RECORDED}
    assert names(query)
    assert names(query) <= known


@pytest.mark.parametrize("query", QUERIES)
def test_every_label_that_is_asked_for_is_told(
    told: dict[str, set[str]], query: str
) -> None:
    known = {label for name in names(query) & told.keys() for label in told[name]}
    assert labels(query) <= known | {"job", "instance"}


def test_every_metric_of_a_life_is_on_the_dashboard(told: dict[str, set[str]]) -> None:
    asked = {name for query in QUERIES for name in names(query)}
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in asked}
    missing = {
        name
        for name in told
        if name.startswith("forewarn_")
        and re.sub(r"_(bucket|sum|count)$", "", name) not in families
    }
    assert missing == {
        "forewarn_build_info",  # its labels choose the instance
        "forewarn_clock_rate",
        "forewarn_clock_timestamp_seconds",
        "forewarn_faults_total",  # of rehearsals
    }


# --- alerts ------------------------------------------------------------------


def test_rules_have_the_shape_that_prometheus_takes() -> None:
    for group in RULES:
        assert group.keys() == {"name", "rules"}
        for rule in group["rules"]:
            kind = "alert" if "alert" in rule else "record"
            optional = {"for", "labels", "annotations"} if kind == "alert" else set()
            assert {kind, "expr"} <= rule.keys() <= {kind, "expr", *optional}
            assert re.fullmatch(r"[0-9]+[smh]", rule.get("for", "1m"))


def test_every_rule_has_a_name_of_its_own() -> None:
    given = [each.get("alert") or each["record"] for each in (*ALERTS, *RECORDED)]
    assert len(given) == len(set(given))


@pytest.mark.parametrize("alert", ALERTS, ids=lambda each: each["alert"])
def test_every_alert_is_written_for_people(alert: Any) -> None:
    assert alert["labels"]["severity"] in ("page", "ticket")
    assert alert["annotations"].keys() == {"summary", "description"}
    assert alert["annotations"]["description"].endswith(".")
    for said in re.findall(r"{{(.*?)}}", " ".join(alert["annotations"].values())):
        assert re.fullmatch(r" \$(value|labels\.\w+)( \| humanize\w+)? ", said)


def test_the_page_tells_of_every_alert_and_no_other() -> None:
    page = (PAGES / "how-to" / "monitor.md").read_text()
    assert set(re.findall(r"`(Forewarn\w+)`", page)) == {
        each["alert"] for each in ALERTS
    }


# --- the dashboard -----------------------------------------------------------


def test_every_panel_has_an_id_of_its_own() -> None:
    ids = [panel["id"] for panel in panels()]
    assert len(ids) == len(set(ids))


def test_no_panel_covers_another() -> None:
    covered = [
        (x, y)
        for panel in panels()
        for place in [panel["gridPos"]]
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(covered) == len(set(covered))
    assert max(x for x, _ in covered) < 24


def test_every_query_of_a_panel_chooses_the_service() -> None:
    for panel in panels():
        for target in panel.get("targets", []):
            selectors = LABELS.findall(target["expr"])
            assert selectors, target["expr"]
            for each in selectors:
                assert each.startswith('job="$job",instance=~"$instance"')


# --- Prometheus' own settings ------------------------------------------------


def test_prometheus_is_told_to_read_the_rules_and_to_show_a_token() -> None:
    settings = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
    assert settings["rule_files"] == ["alerts.yml"]
    (job,) = settings["scrape_configs"]
    assert job["job_name"] == "forewarn"
    assert "credentials_file" in job["authorization"]
