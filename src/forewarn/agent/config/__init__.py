"""The agent's configuration file: keys, values and machine checks."""
