"""Engine: runs commands, timers, drivers and journal readers."""
