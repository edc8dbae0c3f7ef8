"""Commands that rehearse and lint programs or replay recordings."""
