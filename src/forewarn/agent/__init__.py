"""In-VM agent: rules, hooks and approvals; imports only the client and the protocol."""
