"""Storage of state and journal: one SQL store for every supported database."""
