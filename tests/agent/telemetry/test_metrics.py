"""Agent metrics in the Prometheus format."""

import threading
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from forewarn.agent.telemetry.metrics import AGENT_METRICS, AgentMetrics


def parsed(
    metrics: AgentMetrics,
) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Return every sample, as Prometheus's own parser reads it."""
    families: Any = text_string_to_metric_families(metrics.render())
    return {
        (
            sample.name.removeprefix("forewarn_agent_"),
            (*sorted(sample.labels.items()),),
        ): (sample.value)
        for family in families
        for sample in family.samples
    }


def test_a_gauge_has_the_last_value_set() -> None:
    metrics = AgentMetrics()
    metrics.set("document_incarnation", 4)
    metrics.set("document_incarnation", 5)
    assert parsed(metrics)["document_incarnation", ()] == 5


def test_a_counter_grows() -> None:
    metrics = AgentMetrics()
    metrics.add("readings_total", result="document")
    metrics.add("readings_total", 2, result="document")
    assert parsed(metrics)["readings_total", (("result", "document"),)] == 3


def test_a_counter_is_zero_before_it_counts() -> None:
    samples = parsed(AgentMetrics())
    assert samples["boots_total", ()] == 0
    assert samples["hooks_total", (("outcome", "cut"), ("step", "undo"))] == 0


def test_a_gauge_that_was_never_set_is_omitted() -> None:
    assert ("blind", ()) not in parsed(AgentMetrics())


def test_a_computed_value_is_evaluated_on_every_scrape() -> None:
    metrics = AgentMetrics()
    seconds = iter((1.5, 2.5))
    metrics.set("blind_seconds", lambda: next(seconds))
    assert parsed(metrics)["blind_seconds", ()] == 1.5
    assert parsed(metrics)["blind_seconds", ()] == 2.5


def test_a_computed_value_may_use_the_metrics_itself() -> None:
    metrics = AgentMetrics()
    metrics.set("hook_running", 3)
    metrics.set("blind_seconds", lambda: metrics.value("hook_running") or 0.0)
    assert parsed(metrics)["blind_seconds", ()] == 3


def test_a_value_on_a_bound_is_counted_in_its_bucket() -> None:
    metrics = AgentMetrics()
    for seconds in (1.0, 1.1, 10_000.0):
        metrics.observe("hook_seconds", seconds, step="prepare")
    samples = parsed(metrics)
    buckets = {
        dict(labels)["le"]: value
        for (name, labels), value in samples.items()
        if name == "hook_seconds_bucket" and dict(labels)["step"] == "prepare"
    }
    assert buckets["0.5"] == 0
    assert buckets["1"] == 1
    assert buckets["5"] == 2
    assert buckets["900"] == 2
    assert buckets["+Inf"] == 3
    assert samples["hook_seconds_count", (("step", "prepare"),)] == 3
    assert samples["hook_seconds_sum", (("step", "prepare"),)] == 10_002.1


AWKWARD = 'C:\\new "web"\nläuft \ud800'


def test_labels_may_contain_anything() -> None:
    metrics = AgentMetrics()
    metrics.set("info", 1, version="1", name=AWKWARD, endpoint="http://[::1]:80")
    (labels,) = [labels for name, labels in parsed(metrics) if name == "info"]
    assert dict(labels)["name"] == AWKWARD.replace("\ud800", "?")
    metrics.render().encode()


@pytest.mark.parametrize(
    ("value", "told"),
    [(0.1, "0.1"), (2.0, "2"), (float("inf"), "+Inf"), (1e300, str(int(1e300)))],
)
def test_numbers_are_formatted_for_prometheus(value: float, told: str) -> None:
    metrics = AgentMetrics()
    metrics.set("blind_seconds", value)
    assert f"\nforewarn_agent_blind_seconds {told}\n" in metrics.render()
    assert parsed(metrics)["blind_seconds", ()] == value


def test_replaced_series_are_forgotten() -> None:
    metrics = AgentMetrics()
    metrics.replace("not_before_timestamp_seconds", {("A", "Reboot"): 1.0})
    metrics.replace("not_before_timestamp_seconds", {("B", "Freeze"): 2.0})
    samples = {
        labels: value
        for (name, labels), value in parsed(metrics).items()
        if name == "not_before_timestamp_seconds"
    }
    assert samples == {(("event", "B"), ("type", "Freeze")): 2.0}


def test_the_number_of_series_is_limited() -> None:
    metrics = AgentMetrics()
    many: dict[tuple[str, ...], float] = {
        (str(number), "Reboot"): 1.0 for number in range(1_000)
    }
    metrics.replace("not_before_timestamp_seconds", many)
    samples = parsed(metrics)
    kept = [name for name, _ in samples if name == "not_before_timestamp_seconds"]
    assert len(kept) == 256
    assert samples["series_dropped_total", ()] == 744


def test_existing_series_continue_beyond_the_limit() -> None:
    metrics = AgentMetrics()
    for number in range(300):
        metrics.observe("impact_seconds", 1.0, type=str(number))
        metrics.add("decisions_total", rule=str(number))
    metrics.observe("impact_seconds", 1.0, type="0")
    metrics.add("decisions_total", rule="0")
    samples = parsed(metrics)
    assert samples["impact_seconds_count", (("type", "0"),)] == 2
    assert samples["decisions_total", (("rule", "0"),)] == 2
    assert ("decisions_total", (("rule", "299"),)) not in samples


def test_concurrent_counts_are_not_lost() -> None:
    metrics = AgentMetrics()

    def count() -> None:
        for _ in range(2_000):
            metrics.add("boots_total")
            metrics.observe("hook_seconds", 1.0, step="undo")

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    samples = parsed(metrics)
    assert samples["boots_total", ()] == 8_000
    assert samples["hook_seconds_count", (("step", "undo"),)] == 8_000


@pytest.mark.parametrize("spec", AGENT_METRICS, ids=lambda each: each.name)
def test_every_metric_has_its_type_and_help(spec: Any) -> None:
    text = AgentMetrics().render()
    assert f"# TYPE forewarn_agent_{spec.name} {spec.kind}\n" in text
    assert f"# HELP forewarn_agent_{spec.name} {spec.help}\n" in text
    assert spec.help.endswith(".")


def test_wrong_labels_or_the_wrong_kind_are_an_error() -> None:
    metrics = AgentMetrics()
    with pytest.raises(ValueError, match="labels"):
        metrics.add("readings_total", outcome="document")
    with pytest.raises(ValueError, match="labels"):
        metrics.replace("events", {("Reboot",): 1.0})
    with pytest.raises(ValueError, match="is a counter, not a gauge"):
        metrics.set("boots_total", 1)


def test_long_label_values_are_shortened() -> None:
    metrics, long = AgentMetrics(), "x" * 256_000
    metrics.observe("notice_given_seconds", 1.0, type=long)
    metrics.replace("not_before_timestamp_seconds", {(long, long): 1.0})
    assert len(metrics.render()) < 100_000
    assert f'event="{"x" * 200}",type="{"x" * 200}"' in metrics.render()
