"""In-VM agent: rules, hooks and approvals, with the standard library only."""
