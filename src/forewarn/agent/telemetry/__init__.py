"""The agent's metrics, health, logs and impact measurements."""
