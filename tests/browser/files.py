"""The portal's files, as they are served."""

from collections.abc import Sequence
from pathlib import Path

import forewarn.server

PORTAL = Path(forewarn.server.__file__).parent / "portal"

#: Of these the page is made; all else beside them is for those who work on it.
_SERVED = frozenset({".html", ".css", ".js", ".svg"})


def served() -> Sequence[Path]:
    """Find every file of ours that a browser gets."""
    return [each for each in sorted(PORTAL.rglob("*")) if each.suffix in _SERVED]
