"""Command line: one module per command, in packages by who uses it."""
