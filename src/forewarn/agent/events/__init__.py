"""The state of each event that the agent knows and the next actions for the event."""
