"""The recipes of examples/agent, and the pages that show them."""
