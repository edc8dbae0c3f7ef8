"""Settings of the service, and where their values come from."""
