"""Settings of the service and the sources of their values."""
