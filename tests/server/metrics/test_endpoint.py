"""Metrics endpoint: /metrics of a complete service after typical operations."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from tests.server.conftest import Serve
from tests.server.support.pollers import Poller
from tests.server.support.scrapes import parse, scrape
from tests.server.support.service import RunningService, send_request

from forewarn.protocol.types import EventType
from forewarn.server.metrics.catalog import ServiceMetrics

OPEN = "application/openmetrics-text"
REBOOT = {"type": "Reboot", "cause": "platform"}
VERSION = "2020-07-01"


# --- scrape format -----------------------------------------------------------


def test_scrape_is_in_prometheus_text_format(shared: RunningService) -> None:
    answer = shared.request("GET", "/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert parse(answer.body.decode()).value("forewarn_store_up") == 1


@pytest.mark.parametrize("version", ["", ";version=1.0.0", "; version=nonsense"])
def test_scrape_is_in_openmetrics_format_on_request(
    shared: RunningService, version: str
) -> None:
    answer = shared.request(
        "GET", "/metrics", Accept=f"{OPEN}{version},text/plain;q=0.5"
    )
    assert answer.headers["Content-Type"].startswith(f"{OPEN}; version=1.0.0")
    text = answer.body.decode()
    families = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
    assert "forewarn_metadata_requests" in {family.name for family in families}


def test_every_metric_of_the_table_is_scraped(shared: RunningService) -> None:
    types = scrape(shared).types
    assert [metric.name for metric in ServiceMetrics().table] == [
        name for name in types if name.startswith("forewarn_")
    ]
    assert types["process_cpu_seconds"] == "counter"


def test_every_metric_has_a_help_sentence_and_a_valid_name() -> None:
    for metric in ServiceMetrics().table:
        assert re.fullmatch(r"forewarn(_[a-z]+)+", metric.name)
        assert metric.help.endswith(".")
        assert not metric.name.endswith("_total")


def test_expected_series_are_zero_from_the_start(shared: RunningService) -> None:
    suffixes = {"counter": "_total", "histogram": "_count"}
    by_type = [
        metric for metric in ServiceMetrics().table if metric.labels == ("type",)
    ]
    metrics = scrape(shared)
    for metric in by_type:
        values = metrics.all(metric.name + suffixes[metric.kind])
        assert values == {frozenset({("type", kind)}): 0 for kind in EventType}


def test_two_services_in_one_process_count_separately(serve: Serve) -> None:
    first, second = serve(), serve()
    first.announce(vms=["web-0"])
    name = "forewarn_maintenances_announced_total"
    assert scrape(first).value(name, **REBOOT) == 1
    assert scrape(second).value(name, **REBOOT) == 0


def test_no_label_contains_a_vm_event_or_address(service: RunningService) -> None:
    maintenance = service.announce(host="host-a")
    for vm in ("web-0", "lone", "nobody"):
        service.as_vm(vm)
    service.request("GET", f"/v1/maintenances/{maintenance['id']}")
    service.request("GET", "/v1/vms/web-0")
    service.request("GET", "/nowhere/lone")
    service.request("LOCK", "/v1/vms")
    label_values = {
        value for _, labels in scrape(service).samples for _, value in labels
    }
    assert not label_values & {
        "web-0",
        "lone",
        "nobody",
        maintenance["id"],
        "127.0.0.1",
        "LOCK",
    }
    assert not [
        label for label in label_values if "lone" in label or maintenance["id"] in label
    ]


# --- values after typical operations -----------------------------------------


def test_maintenance_approved_early_is_counted(service: RunningService) -> None:
    event = service.announce(vms=["web-0"])["events"][0]["id"]
    service.advance(30)
    service.as_vm("web-0")
    service.advance(30)
    live = scrape(service)
    assert live.value("forewarn_events", type="Reboot", phase="SCHEDULED") == 1
    service.approve_as("web-0", event)
    live = scrape(service)
    assert live.value("forewarn_events", type="Reboot", phase="SCHEDULED") == 0
    assert live.value("forewarn_events", type="Reboot", phase="STARTED") == 1
    service.advance(60)
    over = scrape(service)
    assert sum(over.all("forewarn_events").values()) == 0
    for step in ("announced", "started", "completed"):
        assert over.value(f"forewarn_maintenances_{step}_total", **REBOOT) == 1
    assert over.value("forewarn_first_seen_seconds_sum", type="Reboot") == 30
    assert over.value("forewarn_approval_latency_seconds_sum", via="metadata") == 60
    assert over.value("forewarn_notice_given_seconds_sum", type="Reboot") == 900
    assert over.value("forewarn_notice_used_seconds_sum", type="Reboot") == 60
    assert over.value("forewarn_notice_saved_seconds_total", type="Reboot") == 840
    assert sum(over.all("forewarn_promises_broken_total").values()) == 0


def test_histogram_bucket_includes_its_upper_bound(service: RunningService) -> None:
    event = service.announce(vms=["web-0"])["events"][0]["id"]
    service.advance(60)
    service.request("POST", f"/v1/events/{event}/approve")
    metrics = scrape(service)
    name, via = "forewarn_approval_latency_seconds_bucket", "control"
    assert metrics.value(name, via=via, le="30.0") == 0
    assert metrics.value(name, via=via, le="60.0") == 1
    assert metrics.value(name, via=via, le="+Inf") == 1


def test_stuck_maintenance_is_counted_with_its_age(serve: Serve) -> None:
    service = serve(driver="script", driver_command="false", lead=0)
    maintenance = service.announce(vms=["web-0"], emergency=True, reason="smoke")
    service.advance(0)
    service.advance(90)
    stuck = scrape(service)
    assert stuck.value("forewarn_maintenances_stuck") == 1
    assert stuck.value("forewarn_stuck_oldest_seconds") == 90
    assert stuck.value("forewarn_driver_calls_total", type="Reboot") == 1
    failed = {"type": "Reboot", "result": "failed"}
    assert stuck.value("forewarn_driver_reports_total", **failed) == 1
    name = "forewarn_driver_call_duration_seconds_count"
    assert stuck.value(name, type="Reboot") == 1
    service.request("POST", f"/v1/maintenances/{maintenance['id']}/close", {})
    closed = scrape(service)
    assert closed.value("forewarn_maintenances_stuck") == 0
    assert closed.value("forewarn_stuck_oldest_seconds") == 0
    assert closed.value("forewarn_maintenances_failed_total", **REBOOT) == 1


def test_enabled_and_disabled_groups_are_counted(service: RunningService) -> None:
    assert groups(service) == (2, 2)
    service.as_vm("lone")
    assert groups(service) == (3, 1)
    service.advance(24 * 60 * 60)
    assert groups(service) == (2, 2)


def groups(service: RunningService) -> tuple[float, float]:
    metrics = scrape(service)
    enabled = metrics.value("forewarn_groups_enabled")
    return enabled, metrics.value("forewarn_groups_disabled")


def test_vms_that_stopped_polling_are_counted(service: RunningService) -> None:
    service.as_vm("web-0")
    service.as_vm("db-0")
    service.advance(301)
    service.as_vm("db-0")
    metrics = scrape(service)
    assert metrics.value("forewarn_vms") == 5
    assert metrics.value("forewarn_vms_never_seen") == 3
    assert metrics.value("forewarn_vms_unseen", seconds="300") == 1
    assert metrics.value("forewarn_vms_unseen", seconds="900") == 0


# --- requests ----------------------------------------------------------------


def test_metadata_requests_are_counted_by_version_and_status(serve: Serve) -> None:
    service = serve(requests_per_second=0.01)  # one request per VM
    tag = service.as_vm("web-0").headers["ETag"]
    service.as_vm("web-1", If_None_Match=tag)
    service.as_vm("db-0", version="2017-03-01")
    service.as_vm("lone", version="2099-01-01")
    service.as_vm("web-0")
    counts = {
        (labels["api_version"], labels["status"]): n
        for labels, n in requests(service)
        if n
    }
    assert counts == {
        (VERSION, "200"): 1,
        (VERSION, "304"): 1,
        (VERSION, "429"): 1,
        ("2017-03-01", "200"): 1,
        ("other", "400"): 1,
    }


def requests(service: RunningService) -> list[tuple[Mapping[str, str], float]]:
    counts = scrape(service).all("forewarn_metadata_requests_total")
    return [(dict(labels), n) for labels, n in counts.items()]


def test_held_requests_are_counted_while_they_wait(service: RunningService) -> None:
    with Poller(service.metadata) as poller:
        poller.hold()
        waiting = scrape(service)
        assert waiting.value("forewarn_metadata_requests_held") == 1
        assert waiting.value("forewarn_metadata_connections") == 1
        service.announce(vms=["web-0"])
        poller.answer()
        assert scrape(service).value("forewarn_metadata_requests_held") == 0


@pytest.mark.parametrize(
    ("method", "path", "route", "status"),
    [
        ("GET", "/v1/vms/web-0", "/v1/vms/{name}", "200"),
        ("GET", "/v1/vms/nobody", "/v1/vms/{name}", "404"),
        ("PUT", "/v1/journal", "/v1/journal", "405"),
        ("GET", "/subscriptions/mine/web-0", "/subscriptions", "400"),
        ("GET", "/nowhere", "other", "404"),
    ],
)
def test_control_requests_are_counted_by_route_template(
    service: RunningService, method: str, path: str, route: str, status: str
) -> None:
    service.request(method, path)
    metrics, labels = scrape(service), {"method": method, "route": route}
    assert (
        metrics.value("forewarn_control_requests_total", status=status, **labels) == 1
    )
    duration = "forewarn_control_request_duration_seconds_count"
    assert metrics.value(duration, **labels) == 1
    assert (
        metrics.value("forewarn_control_requests_in_flight") == 1
    )  # the scrape itself


def test_request_without_a_token_is_counted(service: RunningService) -> None:
    assert send_request("GET", f"{service.control}/metrics").status == 401
    name = "forewarn_control_requests_total"
    refused = {"method": "GET", "route": "other", "status": "401"}
    assert scrape(service).value(name, **refused) == 1


# --- service state -----------------------------------------------------------


def test_journal_position_and_reader_lag_are_exported(service: RunningService) -> None:
    service.announce(vms=["web-0"])
    service.advance(60)
    metrics = scrape(service)
    assert metrics.value("forewarn_journal_position") == len(service.facts())
    for reader in ("documents", "works"):
        assert metrics.value("forewarn_reader_behind_facts", reader=reader) == 0
        assert metrics.value("forewarn_reader_lag_seconds", reader=reader) == 0


def test_notifier_metrics_are_labeled_by_target(serve: Serve) -> None:
    targets = [{"name": "ops", "kind": "log"}]
    metrics = scrape(serve(notify_targets=targets))
    assert metrics.value("forewarn_notifier_failures", target="ops") == 0
    assert metrics.value("forewarn_notifier_behind_facts", target="ops") >= 0
    assert metrics.value("forewarn_notifier_lag_seconds", target="ops") >= 0


def test_clock_and_heartbeat_are_exported(serve: Serve) -> None:
    assert scrape(serve(clock="manual")).value("forewarn_clock_rate") == 0
    fast = scrape(serve(clock="x60"))
    assert fast.value("forewarn_clock_rate") == 60
    assert 0 <= fast.value("forewarn_heartbeat_age_seconds") < 10
    assert fast.value("forewarn_clock_timestamp_seconds") > 1.7e9


def test_store_size_is_exported_only_for_a_file(serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "store"
    metrics = scrape(serve(store=f"sqlite:///{path}"))
    assert metrics.value("forewarn_store_size_bytes") >= path.stat().st_size > 0
    assert scrape(serve()).all("forewarn_store_size_bytes") == {}
