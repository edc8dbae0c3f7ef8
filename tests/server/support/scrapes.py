"""What a scrape of /metrics says."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families
from tests.server.support.service import RunningService

Labels = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Scrape:
    """The samples of one scrape, and the types of all metrics."""

    samples: Mapping[tuple[str, Labels], float]
    types: Mapping[str, str]

    def value(self, name: str, **labels: str) -> float:
        """The value of one sample, which must be there."""
        return self.samples[name, frozenset(labels.items())]

    def all(self, name: str) -> Mapping[Labels, float]:
        """All samples called `name`."""
        return {labels: v for (each, labels), v in self.samples.items() if each == name}

    def names(self) -> Iterator[str]:
        """All names that a query may use, also where there is no sample yet."""
        for family, kind in self.types.items():
            if kind == "histogram":
                yield from (f"{family}_{part}" for part in ("bucket", "sum", "count"))
            else:
                yield f"{family}_total" if kind == "counter" else family


def parse(text: str) -> Scrape:
    """Read a scrape in Prometheus' own format; no sample may be there twice."""
    families = [*text_string_to_metric_families(text)]
    samples = [each for family in families for each in family.samples]
    keyed = {(each.name, frozenset(each.labels.items())): each for each in samples}
    assert len(keyed) == len(samples)
    return Scrape(
        {key: each.value for key, each in keyed.items()},
        {family.name: family.type for family in families},
    )


def scrape(service: RunningService) -> Scrape:
    """Scrape `service`."""
    answer = service.ask("GET", "/metrics")
    assert answer.status == 200, answer.body
    return parse(answer.body.decode())
