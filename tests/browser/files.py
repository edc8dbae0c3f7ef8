"""The portal files that the service serves."""

from collections.abc import Sequence
from pathlib import Path

import forewarn.server

PORTAL = Path(forewarn.server.__file__).parent / "portal"

#: Suffixes of files that are served; all other files are for development.
_SERVED = frozenset({".html", ".css", ".js", ".svg"})


def served() -> Sequence[Path]:
    """Return all portal files that a browser can load."""
    return [path for path in sorted(PORTAL.rglob("*")) if path.suffix in _SERVED]
