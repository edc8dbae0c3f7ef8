"""Asks what may take long in a thread of its own, so that nobody waits too long."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock, Thread
from typing import Generic, TypeVar

from forewarn.errors import ForewarnError

_T = TypeVar("_T")


class Asking(Generic[_T]):
    """One question at a time; whoever comes meanwhile waits for the same answer."""

    def __init__(self, question: Callable[[], _T]) -> None:
        """Ask `question`, which may hang."""
        self._question = question
        self._lock = Lock()
        self._answer: Future[_T] | None = None

    def ask(self, seconds: float) -> _T | None:
        """Wait so many `seconds` for an answer; None: there is none yet, or never."""
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
