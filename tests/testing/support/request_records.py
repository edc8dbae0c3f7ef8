"""Builder for an observed request."""

from forewarn.server.metadata.faults.observer import RequestRecord


def a_request_record(
    at: float = 1.0,
    *,
    vm: str | None = "web-0",
    method: str = "GET",
    path: str = "/metadata/scheduledevents",
    version: str = "2020-07-01",
    is_marked: bool = True,
    status: int = 200,
    events: tuple[str, ...] = (),
    fault: str | None = None,
    since: float | None = None,
) -> RequestRecord:
    """Make a request that is answered at `at`, when it also arrives by default."""
    return RequestRecord(
        at=at,
        vm=vm,
        method=method,
        path=path,
        version=version,
        is_marked=is_marked,
        status=status,
        events=events,
        fault=fault,
        since=at if since is None else since,
    )
