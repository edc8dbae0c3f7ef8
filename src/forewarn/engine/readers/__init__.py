"""Readers of the journal: documents, driver calls, metrics, notifications."""
