"""Rehearsals inside a test: a private service with a manual clock."""
