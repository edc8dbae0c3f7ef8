"""Domain rules, all pure: no clock, no id generation, no logging, no I/O."""
