"""Table of api-versions, with the fields, event types and formats of each."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from forewarn.protocol.types import EventType


class DateForm(StrEnum):
    """The format of NotBefore."""

    #: ``Mon, 19 Sep 2016 18:29:47 GMT``
    RFC1123 = "rfc1123"
    #: ``2016-09-19T18:29:47Z``
    ISO8601 = "iso8601"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersion:
    """The features of one version of /metadata/scheduledevents."""

    name: str
    types: frozenset[EventType]
    underscore: bool = False  # IaaS names have a leading underscore
    date_form: DateForm = DateForm.RFC1123
    header_on_post: bool = True  # POST also requires the Metadata header
    description: bool = False
    source: bool = False
    duration: bool = False


_FIRST = frozenset({EventType.FREEZE, EventType.REBOOT, EventType.REDEPLOY})
_SPOT = _FIRST | {EventType.PREEMPT}
_ALL = _SPOT | {EventType.TERMINATE}

_TABLE = (
    ApiVersion(
        name="2017-03-01",
        types=_FIRST,
        underscore=True,
        date_form=DateForm.ISO8601,
        header_on_post=False,
    ),
    ApiVersion(name="2017-08-01", types=_FIRST),
    ApiVersion(name="2017-11-01", types=_SPOT),
    ApiVersion(name="2019-01-01", types=_ALL),
    ApiVersion(name="2019-04-01", types=_ALL, description=True),
    ApiVersion(name="2019-08-01", types=_ALL, description=True, source=True),
    ApiVersion(
        name="2020-07-01", types=_ALL, description=True, source=True, duration=True
    ),
)

#: Every version of /metadata/scheduledevents, oldest first.
VERSIONS: Mapping[str, ApiVersion] = {version.name: version for version in _TABLE}

NEWEST = _TABLE[-1]

#: Every version of /metadata/instance, oldest first; these are separate from the above.
INSTANCE_VERSIONS: tuple[str, ...] = (
    "2017-03-01",
    "2017-04-02",
    "2017-08-01",
    "2017-10-01",
    "2017-12-01",
    "2018-02-01",
    "2018-04-02",
    "2018-10-01",
    "2019-02-01",
    "2019-03-11",
    "2019-04-30",
    "2019-06-01",
    "2019-06-04",
    "2019-08-01",
    "2019-08-15",
    "2019-11-01",
    "2020-06-01",
    "2020-07-15",
    "2020-09-01",
    "2020-10-01",
    "2020-12-01",
    "2021-01-01",
    "2021-02-01",
    "2021-03-01",
    "2021-05-01",
    "2021-08-01",
    "2021-10-01",
    "2021-11-01",
    "2021-11-15",
    "2021-12-13",
    "2023-07-01",
    "2023-11-15",
    "2024-03-15",
    "2024-07-17",
    "2025-04-07",
)
