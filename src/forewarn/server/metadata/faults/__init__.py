"""Fault injection into the metadata plane, and observers of its requests."""
