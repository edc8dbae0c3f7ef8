"""Audit log of the agent: entries, summaries, and entries as sentences."""
