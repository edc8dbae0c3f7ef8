"""Read models computed from state and journal: explanations, stories, reports."""
