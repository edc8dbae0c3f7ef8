"""Takes screenshots of the portal with a busy service.

Run by `scripts/screenshots`. With the same fonts and the same Chromium, the screenshots
are always the same: the service has its own clock, and the browser has a fixed time
zone and language.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.browser.busy_service import a_busy_service
from tests.browser.chromium import MISSING, a_chromium, executable
from tests.browser.portal_user import SCHEMES, PortalUser, ProfilePool, a_user, navigate
from tests.server.support.service import RunningService

FOLDER = Path(__file__).parent / "portal"

#: The pages, and their heights in px.
PAGES: Mapping[str, int] = {"now": 940, "timeline": 720, "fleet": 980}

_FIRST = "timeline"  # loads the past, which other pages do not load
_WIDTH = 1280
_POINTED_AT = "host-1"
_LARGEST = 250_000  # maximum bytes of a screenshot


def main() -> None:
    """Take all screenshots."""
    parser = argparse.ArgumentParser(prog="scripts/screenshots", description=__doc__)
    parser.add_argument("--into", type=Path, default=FOLDER, help="target folder")
    parser.add_argument("--width", type=int, default=_WIDTH, help="width in px")
    arguments = parser.parse_args()
    program = executable()
    if program is None:
        sys.exit(MISSING)
    arguments.into.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        a_busy_service(Path(folder)) as service,
        a_chromium(program) as chromium,
        a_user(ProfilePool(chromium.browser)) as user,
    ):
        for path in take(user, service, arguments.into, arguments.width):
            sys.stdout.write(f"{path}  {path.stat().st_size // 1000} kB\n")
    if user.watch.complaints:
        sys.exit("\n".join(user.watch.complaints))


def take(
    user: PortalUser, service: RunningService, into: Path, width: int
) -> Iterator[Path]:
    """Take a screenshot of each page in the light and in the dark color scheme."""
    for scheme in SCHEMES:
        page = user.open_page(service, _FIRST, width=width, scheme=scheme, zone="UTC")
        for name, height in PAGES.items():
            page.set_viewport_size({"width": width, "height": height})
            navigate(page, name)
            if name == "fleet":
                page.get_by_text(_POINTED_AT, exact=True).first.hover()
            path = into / f"{name}-{scheme}.png"
            page.screenshot(path=path, animations="disabled", caret="hide")
            if path.stat().st_size > _LARGEST:
                raise RuntimeError(f"{path} is too large: {path.stat().st_size} bytes")
            yield path


if __name__ == "__main__":
    main()
