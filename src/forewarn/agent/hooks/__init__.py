"""Hooks of the agent: command, environment, process, deadline, and orphans."""
