"""Scenarios from TOML files: parser, player, expectations and results."""
