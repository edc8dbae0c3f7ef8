"""Engine: runs commands, timers, drivers and the readers of the journal."""
