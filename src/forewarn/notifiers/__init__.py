"""What tells others of facts."""
