"""The service on loopback, and on 169.254.169.254 in a network of its own."""

from collections.abc import Iterator

import pytest
from tests.end_to_end.program import Program, serving
from tests.programs.site import Site, a_site


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Serve the demo fleet on loopback; the clock is moved by hand."""
    with serving(tmp_path_factory.mktemp("loopback"), "--clock", "manual") as made:
        yield made


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve real machines at the real address; the clock is moved by hand."""
    with a_site(tmp_path_factory.mktemp("site"), "--clock", "manual") as made:
        yield made
