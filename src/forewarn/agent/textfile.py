"""Writes the agent's metrics to a file, for a collector that reads files.

A reader sees the whole of one moment: the file is written beside its place, and then
takes it.
"""

import os
from pathlib import Path

from forewarn.agent.logs import Conditions
from forewarn.agent.metrics import Metrics

#: Seconds between two writings, if nothing happens.
EVERY = 15.0

_CONDITION = "textfile-unwritable"


class Textfile:
    """One file that is kept current."""

    def __init__(self, path: Path, metrics: Metrics, conditions: Conditions) -> None:
        """Keep `metrics` in `path`; say in `conditions` if that fails."""
        self._path = path
        # Collectors read only what ends with `.prom`.
        self._beside = path.with_name(f".{path.name}.new")
        self._metrics = metrics
        self._conditions = conditions
        self._due = 0.0  # on the monotonic clock
        self._told = 0  # how much of the news

    def due(self, monotonic: float) -> float:
        """Count the seconds until the file is to be written again."""
        return max(self._due - monotonic, 0.0)

    def write(self, monotonic: float, *, is_news: bool = False) -> bool:
        """Write the file if it is due, or if there is news; answer whether it is good.

        A condition that begins or ends is news in any case. A failure is said once, and
        tried again when the file is next due.
        """
        is_news = is_news or self._conditions.news != self._told
        if not is_news and monotonic < self._due:
            return True
        self._due = monotonic + EVERY
        is_good = self._try()
        self._told = self._conditions.news
        return is_good

    def _try(self) -> bool:
        try:
            self._replace(self._metrics.render().encode())
        except OSError as error:
            sentence = f"{self._path} cannot be written: {error.strerror or error}"
            self._conditions.say(_CONDITION, True, sentence, kind=str(error.errno))
            return False
        self._conditions.say(_CONDITION, False, f"{self._path} is written again")
        return True

    def _replace(self, text: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        number = os.open(self._beside, flags, 0o644)
        with open(number, "wb") as file:
            os.fchmod(number, 0o644)  # whatever the umask; a collector is another user
            file.write(text)
        self._beside.replace(self._path)
