"""Answers computed from state and journal: explanations, stories, reports."""
