"""The agent's audit log: entries, summaries and sentences."""
