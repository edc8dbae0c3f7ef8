"""Event loops: browser tests leave no running loop in their thread."""

import asyncio

from tests.browser.chromium import Chromium
from tests.browser.portal_user import ProfilePool


async def _answer() -> int:
    await asyncio.sleep(0)
    return 42


def test_another_loop_can_run_after_the_browser_was_in_use(chromium: Chromium) -> None:
    with chromium.in_use() as browser:
        assert browser.is_connected()
        browser.new_context().close()
    assert asyncio.run(_answer()) == 42


def test_the_browser_can_be_used_again_after_another_loop(
    profiles: ProfilePool,
) -> None:
    profiles.lend("UTC").new_page().close()
