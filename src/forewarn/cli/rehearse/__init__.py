"""Commands that rehearse and lint programs, and replay recordings."""
