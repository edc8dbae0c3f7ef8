"""The agent's durable state: one file per event."""
