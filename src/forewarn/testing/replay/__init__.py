"""Replay of recordings over the metadata API."""

from forewarn.testing.replay.server import Replay

__all__ = ["Replay"]
