"""Drivers: what acts on real VMs."""
