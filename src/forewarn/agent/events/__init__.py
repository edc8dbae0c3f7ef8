"""State of each event that the agent knows, and what to do next about it."""
