"""Commands that run inside a VM."""
