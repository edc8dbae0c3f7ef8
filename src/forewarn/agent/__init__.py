"""In the VM: rules, hooks and approvals; sees the client and the protocol alone."""
