"""Parsed scrapes of /metrics."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families
from tests.server.support.service import RunningService

Labels = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Scrape:
    """Samples of one scrape and the types of all metrics."""

    samples: Mapping[tuple[str, Labels], float]
    types: Mapping[str, str]

    def value(self, name: str, **labels: str) -> float:
        """Return the value of a sample, which must exist."""
        return self.samples[name, frozenset(labels.items())]

    def all(self, name: str) -> Mapping[Labels, float]:
        """Return all samples called `name`."""
        return {
            labels: v for (sample, labels), v in self.samples.items() if sample == name
        }

    def names(self) -> Iterator[str]:
        """Yield all names that a query may use, even without a sample."""
        for family, kind in self.types.items():
            if kind == "histogram":
                yield from (f"{family}_{part}" for part in ("bucket", "sum", "count"))
            else:
                yield f"{family}_total" if kind == "counter" else family


def parse(text: str) -> Scrape:
    """Parse a scrape in Prometheus text format; samples must be unique."""
    families = [*text_string_to_metric_families(text)]
    samples = [sample for family in families for sample in family.samples]
    keyed = {
        (sample.name, frozenset(sample.labels.items())): sample for sample in samples
    }
    assert len(keyed) == len(samples)
    return Scrape(
        {key: sample.value for key, sample in keyed.items()},
        {family.name: family.type for family in families},
    )


def scrape(service: RunningService) -> Scrape:
    """Scrape `service` and parse the result."""
    answer = service.request("GET", "/metrics")
    assert answer.status == 200, answer.body
    return parse(answer.body.decode())
