"""Services with the fleet of the ARM tests: one per test, or shared by a module."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.conftest import Serve
from tests.server.support.arm_client import a_fleet
from tests.server.support.service import RunningService, a_service


@pytest.fixture
def service(serve: Serve, tmp_path: Path) -> RunningService:
    return serve(fleet=a_fleet(tmp_path))


@pytest.fixture(scope="module")
def arm_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("kept")
    with a_service(folder, fleet=a_fleet(folder)) as service:
        yield service
