"""Makes it happen: commands, timers, and the readers of the journal."""
