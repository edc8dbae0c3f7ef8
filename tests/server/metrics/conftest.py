"""Fixtures: the engine whose facts are counted."""

from tests.engine.conftest import open_store, system

__all__ = ["open_store", "system"]
