"""The running service; only this package names and connects concrete classes."""
