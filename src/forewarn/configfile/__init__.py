"""TOML files with line numbers, diagnostics and typed value readers."""
