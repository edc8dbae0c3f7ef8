"""Replay of recordings through the metadata API."""

from forewarn.testing.replay.server import Replay

__all__ = ["Replay"]
