"""Configuration file of the agent: keys, values, and checks of the machine."""
