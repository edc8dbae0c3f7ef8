"""Commands that run, check and configure the service."""
