"""The agent's hooks: commands, environments, processes, deadlines and orphans."""
