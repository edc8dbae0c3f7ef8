"""Metrics, health, logs and impact measurements of the agent."""
