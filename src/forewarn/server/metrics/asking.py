"""Queries with a timeout: each runs in its own thread, because it may take long."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock, Thread
from typing import Generic, TypeVar

from forewarn.errors import ForewarnError

_T = TypeVar("_T")


class Asking(Generic[_T]):
    """Runs one query at a time; callers that arrive meanwhile share its result."""

    def __init__(self, question: Callable[[], _T]) -> None:
        """Run `question`, which may hang."""
        self._question = question
        self._lock = Lock()
        self._answer: Future[_T] | None = None

    def ask(self, seconds: float) -> _T | None:
        """Wait up to `seconds` for the result; None if it is late or failed."""
        with self._lock:
            if self._answer is None or self._answer.done():
                self._answer = Future()
                Thread(target=self._find, args=(self._answer,), daemon=True).start()
            answer = self._answer
        try:
            return answer.result(seconds)
        except (TimeoutError, ForewarnError):
            return None

    def _find(self, answer: Future[_T]) -> None:
        try:
            answer.set_result(self._question())
        except BaseException as problem:
            answer.set_exception(problem)
