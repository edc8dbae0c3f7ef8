"""Replay of recordings over the metadata API."""
