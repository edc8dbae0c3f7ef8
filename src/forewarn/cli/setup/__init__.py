"""Set-up commands: contexts, checks and completion."""
