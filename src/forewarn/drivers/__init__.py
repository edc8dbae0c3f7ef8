"""Drivers: components that act on real VMs."""
