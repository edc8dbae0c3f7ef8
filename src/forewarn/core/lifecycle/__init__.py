"""Maintenance operations from announcement to end: state, facts and commands."""
