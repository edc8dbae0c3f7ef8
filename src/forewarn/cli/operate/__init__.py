"""Operator commands: announce, change and inspect."""
