"""What happens; pure: no clock, no ids, no logging, no I/O."""
