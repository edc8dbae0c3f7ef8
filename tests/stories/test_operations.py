"""Every cause from the command to the end, as each VM sees it in each API version."""

import pytest
from tests.stories.support import rows_of_announcements, rows_of_hosts, rows_of_vms
from tests.stories.support.harness import ServiceHarness
from tests.stories.support.rows import Row
from tests.stories.support.runner import run

ROWS = (*rows_of_hosts.ROWS, *rows_of_vms.ROWS, *rows_of_announcements.ROWS)


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_an_operation_is_shown_to_exactly_the_affected_groups(
    harness: ServiceHarness, row: Row
) -> None:
    run(harness, row)
