"""Domain rules, all pure: no clock, no ID generation, no logging, no I/O."""
