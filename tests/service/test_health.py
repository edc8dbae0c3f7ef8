"""Health of the service: warnings of its driver."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from tests.server.support.service import a_service

from forewarn.ports import Report, Work


class WarningDriver:
    """A driver with an attribute called `warning`."""

    def __init__(self, warning: object) -> None:
        self.warning = warning

    def carry_out(self, work: Work) -> Iterable[Report]:
        return ()


@pytest.mark.parametrize(
    ("warning", "shown"),
    [("disk is old", ["disk is old"]), ("", None), (print, None)],
    ids=["text", "empty", "method of a plug-in"],
)
def test_warning_of_the_driver_is_shown(
    warning: str | Callable[[], None],
    shown: list[str] | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = WarningDriver(warning)
    monkeypatch.setattr("forewarn.service.service.make_driver", lambda choice: driver)
    with a_service(tmp_path) as service:
        response = service.request("GET", "/readyz")
    assert response.status == 200
    assert response.json.get("warnings") == shown
