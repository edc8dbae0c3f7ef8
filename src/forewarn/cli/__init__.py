"""The command line: one module per command, in packages grouped by purpose."""
