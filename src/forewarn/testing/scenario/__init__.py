"""Scenarios in TOML files: parser, player, expectations and results."""
