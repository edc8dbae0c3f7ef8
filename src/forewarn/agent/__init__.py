"""In-VM agent: rules, hooks and approvals, using only the standard library."""
