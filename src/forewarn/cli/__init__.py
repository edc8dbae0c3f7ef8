"""Command line: one module per command, in packages by purpose."""
