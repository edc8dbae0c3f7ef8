"""Query parameters of journal searches."""

from dataclasses import replace
from typing import Annotated

from fastapi import Depends, Query
from pydantic import Field

from forewarn.core.searching import Search, folded, kind_named
from forewarn.server.control.bodies import moment

_Name = Annotated[str, Field(min_length=1, max_length=255)]
_MOST = 100  # values of one parameter


def _any(what: str) -> object:
    return Query(max_length=_MOST, description=f"{what}; may be repeated: any of them")


_Names = list[_Name] | None
_Group = Annotated[_Names, _any("what concerns this group")]
_Vm = Annotated[_Names, _any("what concerns this VM")]
_By = Annotated[_Names, _any("what this token or VM did")]
_Fact = Annotated[_Names, _any("facts of this name")]
_Maintenance = Annotated[_Names, _any("facts of this maintenance, or of this event's")]
_Since = Annotated[
    str | None, Query(description="not before this time, RFC 3339 with a zone")
]
_Until = Annotated[
    str | None, Query(description="only before this time, RFC 3339 with a zone")
]


def searched(
    group: _Group = None,
    vm: _Vm = None,
    by: _By = None,
    fact: _Fact = None,
    maintenance: _Maintenance = None,
) -> Search:
    """Return the search without its times; ids are of maintenances or events."""
    return Search(
        groups=folded(group or ()),
        vms=folded(vm or ()),
        by=folded(by or ()),
        kinds=frozenset(map(kind_named, fact or ())),
        maintenances=frozenset(any_id.upper() for any_id in maintenance or ()),
    )


Searched = Annotated[Search, Depends(searched)]


def within(search: Searched, since: _Since = None, until: _Until = None) -> Search:
    """Return the search with its times."""
    return replace(
        search,
        since=None if since is None else moment(since, "since"),
        until=None if until is None else moment(until, "until"),
    )


Within = Annotated[Search, Depends(within)]
